"""Inside one process, HTTP left out: executions are born through the writer, as a schedule or a link starts them.

Run in a process of its own, so that what it uses can be read off: `python -m bench.engine.inside '{…}'`.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any

import httpx
import structlog
import uvloop

from bench.accounts.servers import BenchError
from bench.engine.work import (
    ASLEEP,
    CALLS,
    SETS,
    THREE_CALLS,
    THREE_SETS,
    Figures,
    cpu_seconds,
    figures,
    megabytes,
    memory,
)
from penstock.app import create_app
from penstock.cli.serve import prepare_process
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.subflows import born
from penstock.engine.embedded.tenure import Tenure
from penstock.ids import uuid7
from penstock.settings import load
from penstock.storage import now


def measured(what: str, **plan: Any) -> Any:
    """Do it in another process; what that says."""
    ran = subprocess.run(
        [sys.executable, "-m", "bench.engine.inside", json.dumps({"what": what, **plan})],
        capture_output=True,
        text=True,
        check=False,
    )
    if ran.returncode != 0:
        raise BenchError(f"the engine inside failed at {what}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}")
    return json.loads(ran.stdout.strip().splitlines()[-1])


class Inside:
    def __init__(self, tenure: Tenure, client: httpx.AsyncClient, project_id: str) -> None:
        self.tenure = tenure
        self._parts = tenure._parts
        self._client = client
        self.project_id = project_id

    async def workflow(self, definition: str) -> str:
        made = await self._client.post(
            f"/projects/{self.project_id}/workflows", json={"name": uuid7(), "config_yaml": definition}
        )
        id_ = str(made.raise_for_status().json()["id"])
        (await self._client.post(f"/workflows/{id_}/deploy")).raise_for_status()
        return id_

    def begin(self, workflow_id: str) -> "asyncio.Future[Any]":
        """Done when it has ended, durably."""
        id_ = uuid7()
        ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        waiting = self._parts.subflows._waiting
        waiting[id_] = ended
        ended.add_done_callback(lambda _: waiting.pop(id_, None))
        born(self._parts, Execution(id_, workflow_id, self.project_id, 1, "manual", "{}", "pending", now()))
        return ended

    async def burst(self, work: str, workflow_id: str, count: int, at_once: int) -> Figures:
        times: list[float] = []

        async def one_after_the_other(share: int) -> None:
            for _ in range(share):
                began = time.perf_counter()
                await self.begin(workflow_id)
                times.append(time.perf_counter() - began)

        await asyncio.gather(*(one_after_the_other(max(1, 200 // at_once)) for _ in range(at_once)))
        times.clear()
        gc.collect()
        gc.freeze()
        began, cpu = time.perf_counter(), cpu_seconds(os.getpid())
        await asyncio.gather(*(one_after_the_other(max(1, count // at_once)) for _ in range(at_once)))
        took, used = time.perf_counter() - began, cpu_seconds(os.getpid()) - cpu
        return figures("Penstock inside", work, at_once, took, used, times, resident=megabytes(os.getpid()))


@asynccontextmanager
async def running(database: str) -> AsyncIterator[Inside]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(40))
    prepare_process()
    app: Any = create_app(load(environ={}, overrides={"database": database}).settings)
    async with (
        app.app.lifespan(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1/api/v1", timeout=60) as client,
    ):
        who = {"email": f"{uuid7()}@example.com", "password": "correct horse battery"}
        token = (await client.post("/auth/register", json=who)).raise_for_status().json()["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        company = (await client.post("/companies", json={"name": "Bench"})).json()["id"]
        project = (await client.post(f"/organizations/{company}/projects", json={"name": "Bench"})).json()["id"]
        engine = app.app.state.platform.engine
        while not engine.runs:
            await asyncio.sleep(0.05)
        yield Inside(engine._tenure, client, project)


async def rates(plan: dict[str, Any]) -> list[dict[str, Any]]:
    async with running(plan["database"]) as inside:
        sets = await inside.workflow(THREE_SETS)
        found = [await inside.burst(SETS, sets, plan["count"], at_once) for at_once in plan["at_once"]]
        if plan.get("url"):
            calls = await inside.workflow(THREE_CALLS % {"url": plan["url"]})
            found.append(await inside.burst(CALLS, calls, plan["count"] // 4, 64))
        return [asdict(each) for each in found]


async def prepare(plan: dict[str, Any]) -> dict[str, str]:
    async with running(plan["database"]) as inside:
        return {"workflow": await inside.workflow(THREE_SETS), "project": inside.project_id}


async def again(plan: dict[str, Any]) -> dict[str, Any]:
    """More executions of a workflow that is there."""
    async with running(plan["database"]) as inside:
        inside.project_id = plan["project"]
        return asdict(await inside.burst(SETS, plan["workflow"], plan["count"], 64))


async def asleep(plan: dict[str, Any]) -> dict[str, float]:
    async with running(plan["database"]) as inside:
        workflow = await inside.workflow(ASLEEP)
        gc.collect()
        before, sleepers = memory(os.getpid()), []
        for _ in range(plan["count"] // 500):
            sleepers += [inside.begin(workflow) for _ in range(500)]
            while inside.tenure.running < len(sleepers):
                await asyncio.sleep(0.01)
        await inside.tenure._parts.writer.flush()
        gc.collect()
        grown = memory(os.getpid()) - before
        cpu, began = time.process_time(), time.perf_counter()
        await asyncio.sleep(5)
        idle = (time.process_time() - cpu) / (time.perf_counter() - began)
        sets = await inside.workflow(THREE_SETS)
        beside = await inside.burst(SETS, sets, 500, 16)
        return {
            "sleepers": len(sleepers),
            "bytes_each": grown / len(sleepers),
            "idle_cpu": idle,
            "cpu_beside": beside.cpu,
            "p50_beside": beside.p50,
        }


WORK: dict[str, Callable[[dict[str, Any]], Coroutine[Any, Any, Any]]] = {
    "rates": rates,
    "prepare": prepare,
    "again": again,
    "asleep": asleep,
}


def main() -> None:
    plan = json.loads(sys.argv[1])
    print(json.dumps(uvloop.run(WORK[plan["what"]](plan))))


if __name__ == "__main__":
    main()
