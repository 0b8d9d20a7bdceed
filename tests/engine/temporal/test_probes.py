"""What a worker says of itself: is it up, can it work, and how it does."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests import temporal
from tests.acceptance.server import until
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import listens, worker_process
from tests.platform.scene import set_up

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)]
_CALLS = """
do:
  - ask: {call: http, with: {method: get, endpoint: '%s/answers'}}
  - retry:
      try: [{fail: {call: http, with: {method: get, endpoint: '%s/refuses'}}}]
      catch: {}
  - wait: {call: http, with: {method: get, endpoint: '%s/waits'}}
"""


async def _sample(client: httpx.AsyncClient, name: str, **labels: str) -> float:
    """The sum of those that have these labels."""
    text = (await client.get("/metrics")).raise_for_status().text
    samples = [each for family in text_string_to_metric_families(text) for each in family.samples if each.name == name]
    return sum(each.value for each in samples if labels.items() <= each.labels.items())


async def test_a_worker_counts_what_it_does_and_is_not_ready_while_it_drains(
    serve: Serve, database_url: str, on_temporal: dict[str, str], tmp_path: Path
) -> None:
    may_answer = False

    async def answer(request: Request) -> Any:
        while request.url.path == "/waits" and not may_answer:
            await asyncio.sleep(0.01)
        return JSONResponse({}, status_code=400 if request.url.path == "/refuses" else 200)

    settings = on_temporal | {"worker_listen": "127.0.0.1:0", "worker_drain": "300s"}
    with served(Starlette(routes=[Route("/{path}", answer)])) as url:
        async with serve(**on_temporal) as client, worker_process(tmp_path, database_url, settings) as process:
            here = Shop(await set_up(client))
            async with httpx.AsyncClient(base_url=listens(tmp_path), timeout=60) as worker:

                async def is_ready() -> bool:
                    return (await worker.get("/readyz")).status_code == 200

                await came(is_ready)
                id_ = await here.trigger(await here.workflow("calls", _CALLS % (url, url, url)))
                await here.at(id_, "wait")

                async def is_at_it() -> bool:
                    return await _sample(worker, "temporal_worker_task_slots_used", worker_type="ActivityWorker") == 1

                await came(is_at_it)
                assert await _sample(worker, "penstock_worker_activities_total", outcome="performed") == 1
                assert await _sample(worker, "penstock_worker_activities_total", outcome="failed") == 1

                process.send_signal(signal.SIGTERM)
                await until(lambda: "draining" in (tmp_path / "worker.log").read_text())
                refused = await worker.get("/readyz")
                assert (refused.status_code, "drains" in refused.json()["detail"]) == (503, True)
                assert (await worker.get("/healthz")).status_code == 200
                assert await _sample(worker, "penstock_worker_draining") == 1
            may_answer = True
            await until(lambda: process.poll() is not None)
            assert process.returncode == 0, (tmp_path / "worker.log").read_text()


async def test_a_worker_without_its_cluster_is_up_and_not_ready_and_says_why(
    database_url: str, tmp_path: Path, task_queue: str
) -> None:
    port, place = temporal.free_port(), f"127.0.0.1:{temporal.free_port()}"
    settings = {"temporal_address": f"127.0.0.1:{port}", "temporal_task_queue": task_queue, "worker_listen": place}
    async with (
        worker_process(tmp_path, database_url, settings, says="does not answer"),
        httpx.AsyncClient(base_url=f"http://{place}", timeout=60) as worker,
    ):
        assert (await worker.get("/healthz")).status_code == 200
        assert (await worker.get("/readyz")).json()["detail"] == "Temporal does not answer"
        assert await _sample(worker, "penstock_temporal_up") == 0

        async def is_ready() -> bool:
            return (await worker.get("/readyz")).status_code == 200

        async def is_up() -> bool:
            return await _sample(worker, "penstock_temporal_up") == 1

        with temporal.running(tmp_path, port=port):
            await came(is_ready)
            await came(is_up)
