"""What is lost, and what is not: a worker that is killed, a cluster that is away, a history that is too long."""

import asyncio
import base64
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests import temporal
from tests.acceptance.server import until
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, reopened, shop
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import worker_process, working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_KEY = "idempotency-key"


_LONG = """
do:
  - both:
      fork:
        branches:
          - nap: {wait: {seconds: 3}}
          - go:
              for: {in: "${ [range(15)] }"}
              do: [{ask: {call: http, with: {method: get, endpoint: 'http://peer'}}}]
"""
_HIDING = """
use: {secrets: [TOKEN]}
do:
  - make:
      set:
        large: '${ [range(5000)] | map(tostring) | join("-") }'
        plain: not-for-everybody
        secret: '${ $secrets.TOKEN }'
  - print: {run: {shell: {command: echo done}}}
"""


async def test_what_a_killed_worker_was_performing_is_performed_again_with_its_key_and_all_else_once(
    serve: Serve, database_url: str, on_temporal: dict[str, str], tmp_path: Path
) -> None:
    asked: list[tuple[str, str]] = []
    gone = asyncio.Event()

    async def answer(request: Request) -> Any:
        asked.append((request.url.path, request.headers[_KEY]))
        if request.url.path == "/second" and len(asked) == 2:
            while not gone.is_set():
                await asyncio.sleep(0.01)
        return JSONResponse({"calls": len(asked)})

    with served(Starlette(routes=[Route("/{path:path}", answer)])) as url:

        def step(name: str) -> str:
            return f"{{{name}: {{call: http, with: {{method: get, endpoint: '{url}/{name}'}}}}}}"

        async with serve(**on_temporal) as client:
            shop = Shop(await set_up(client))
            tasks = f"do: [{step('first')}, {{note: {{set: {{a: 1}}}}}}, {step('second')}, {step('third')}]"
            workflow = await shop.workflow("calling", tasks)
            async with worker_process(tmp_path, database_url, on_temporal) as process:
                id_ = await shop.trigger(workflow)
                await until(lambda: len(asked) == 2)
                process.send_signal(signal.SIGKILL)
            gone.set()
            assert [each["status"] for each in await shop.steps(id_)] == ["completed", "completed", "running"]
            async with working(database=database_url, **on_temporal):
                assert (await shop.ended(id_))["status"] == "completed"
            assert [path for path, _ in asked] == ["/first", "/second", "/second", "/third"]
            assert asked[1] == asked[2]
            assert len({key for _, key in asked}) == 3
            events = (await shop.owner.get(f"/workflows/{workflow}/events", params={"page_size": 100})).json()["items"]
            assert set(Counter((each["type"], each["step_name"]) for each in events).values()) == {1}
            assert [each["sequence_num"] for each in await shop.steps(id_)] == [1, 2, 3, 4]


async def test_while_temporal_is_away_executions_are_taken_and_wait_and_go_on_by_themselves(
    serve: Serve, database_url: str, task_queue: str, tmp_path: Path
) -> None:
    with temporal.running(tmp_path, durable=True) as address:
        settings = {"engine": "temporal", "temporal_address": address, "temporal_task_queue": task_queue}
        port = int(address.rpartition(":")[2])
    async with serve(**settings) as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("plain", "do: [{say: {set: {x: 1}}}]")
        id_ = await shop.trigger(workflow)
        await came(lambda: _not_ready(client))
        assert (await shop.execution(id_))["status"] == "pending"
        with temporal.running(tmp_path, port=port, durable=True):
            async with working(database=database_url, **settings):
                assert (await shop.ended(id_))["output_data"] == {"x": 1}
                await came(lambda: _ready(client))


async def _not_ready(client: Any) -> bool:
    answer = await client.get("/readyz")
    return bool(answer.status_code == 503 and answer.json()["detail"] == "Temporal does not answer; executions wait")


async def _ready(client: Any) -> bool:
    return bool((await client.get("/readyz")).status_code == 200)


async def test_a_long_walk_goes_on_in_new_histories_and_does_nothing_twice(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    keys: list[str] = []

    async def answer(request: Request) -> Any:
        keys.append(request.headers[_KEY])
        return JSONResponse({"n": len(keys)})

    with served(Starlette(routes=[Route("/", answer)])) as url:
        async with (
            serve(**on_temporal) as client,
            working(database=database_url, worker_history="60", **on_temporal) as cluster,
        ):
            shop = Shop(await set_up(client))
            id_ = await shop.trigger(await shop.workflow("long", _LONG.replace("http://peer", url)))
            ended = await shop.ended(id_)
            assert ended["status"] == "completed", ended
            assert ended["output_data"][1] == {"n": 15}
            assert len(keys) == len(set(keys)) == 15
            steps = await shop.steps(id_)
            assert [each["sequence_num"] for each in steps] == list(range(1, 19))

            async def several_are_listed() -> bool:
                return (await cluster.count_workflows(f"WorkflowId = '{id_}'")).count > 1

            await came(several_are_listed)


async def test_a_history_tells_nobody_what_the_data_is_and_holds_nothing_large(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with (
        serve(processes=["shell"], **on_temporal) as client,
        working(database=database_url, **on_temporal) as cluster,
    ):
        shop = Shop(await set_up(client))
        await shop.secret("TOKEN", "very-secret-value")
        workflow = await shop.workflow("hiding", _HIDING)
        id_ = await shop.trigger(workflow, {"given": "not-for-everybody"})
        assert (await shop.ended(id_))["status"] == "completed"
        history = (await cluster.get_workflow_handle(id_).fetch_history()).to_json_dict()
        said = b" ".join(_said(history))
        for word in (b"not-for-everybody", b"very-secret", b"echo done", b"hiding", b"TOKEN"):
            assert word not in said
        assert len(said) < 32 * 1024


def _said(data: Any) -> Iterator[bytes]:
    """Every text in it, and what those that are base64 stand for."""
    match data:
        case dict():
            for name, value in data.items():
                yield name.encode()
                yield from _said(value)
        case list():
            for item in data:
                yield from _said(item)
        case str():
            yield data.encode()
            with suppress(ValueError):
                yield base64.b64decode(data, validate=True)


async def test_a_worker_that_is_told_to_stop_lets_a_call_finish_and_leaves_what_waits_to_others(
    serve: Serve, database_url: str, on_temporal: dict[str, str], tmp_path: Path
) -> None:
    asked: list[str] = []
    stopped = asyncio.Event()

    async def answer(request: Request) -> Any:
        asked.append(request.url.path)
        while not stopped.is_set():
            await asyncio.sleep(0.01)
        return JSONResponse({"n": len(asked)})

    with served(Starlette(routes=[Route("/", answer)])) as url:
        call = f"{{call: http, with: {{method: get, endpoint: '{url}'}}}}"
        rest = "{fork: {branches: [{a: {wait: {hours: 1}}}, {b: {listen: {to: {one: {with: {type: never}}}}}}]}}"
        async with serve(**on_temporal) as client:
            shop = Shop(await set_up(client))
            calling = await shop.workflow("calling", f"do: [{{ask: {call}}}]")
            waiting = await shop.trigger(await shop.workflow("waiting", f"do: [{{rest: {rest}}}]"))
            async with worker_process(tmp_path, database_url, on_temporal | {"worker_drain": "300s"}) as process:
                await shop.at(waiting, "b")
                id_ = await shop.trigger(calling)
                await until(lambda: asked)
                process.send_signal(signal.SIGTERM)
                log = tmp_path / "worker.log"
                await until(lambda: '"draining"' in log.read_text())
                stopped.set()
                assert await asyncio.to_thread(process.wait, 240) == 0
                assert '"level":"error"' not in log.read_text(), log.read_text()
            async with working(database=database_url, **on_temporal):
                assert (await shop.ended(id_))["output_data"] == {"n": 1}
                assert (await shop.execution(waiting))["status"] == "running"
                assert len(asked) == 1


async def test_what_the_embedded_engine_left_unended_goes_on_from_its_steps(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    tasks = (
        "do: [{first: {set: {x: 1}}}, {ask: {listen: {to: {one: {with: {type: go}}}}}}, {last: {set: {done: true}}}]"
    )
    async with shop(serve) as before:
        id_ = await before.trigger(await before.workflow("moving", tasks))
        await before.at(id_, "ask")
        known = [each["id"] for each in await before.steps(id_)]
    async with reopened(serve, before, **on_temporal) as after, working(database=database_url, **on_temporal):
        await after.send("go")
        assert (await after.ended(id_))["output_data"] == {"done": True}
        steps = await after.steps(id_)
        assert [each["id"] for each in steps][:2] == known
        assert [each["status"] for each in steps] == ["completed"] * 3
