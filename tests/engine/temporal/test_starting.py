"""What starts by itself on a cluster, and what bounds it: with several servers and workers, and when one dies."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from temporalio.client import Client
from temporalio.service import RPCError

from penstock.engine.embedded import inbox, statements
from penstock.engine.embedded.execution import encoded
from penstock.engine.temporal import schedules
from penstock.engine.temporal.activities import Near
from penstock.engine.temporal.errand import SCHEDULE, errand_id
from penstock.storage import Database, Statement
from penstock.storage.engine_tables import inbox as events_in
from tests import temporal
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, reopened
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import worker_process, working
from tests.platform.people import Person
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_EVERY_SECOND = "schedule: {every: {seconds: 1}}\ndo: [{say: {set: {x: 1}}}]"
_ON = "schedule: {on: {one: {with: {type: %s}}}}\ndo: [{keep: {set: '${ $workflow.input[0].data }'}}]"
_HANDLED = Statement(select(events_in.c.id).where(events_in.c.handled.is_(False)))


async def _rings(cluster: Client, workflow: str) -> bool:
    try:
        await cluster.get_schedule_handle(errand_id(SCHEDULE, workflow)).describe()
    except RPCError:
        return False
    return True


async def test_temporal_rings_when_a_schedule_is_due_whichever_servers_and_workers_are_there(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with serve(**on_temporal) as client, working(database=database_url, **on_temporal) as cluster:
        here = Shop(await set_up(client))
        workflow = await here.workflow("often", _EVERY_SECOND, deploy=True)
        assert await _rings(cluster, workflow)
        await here.started(workflow, 2)
    async with (
        reopened(serve, here, **on_temporal) as there,
        working(database=database_url, **on_temporal),
        working(database=database_url, **on_temporal) as cluster,
    ):
        before = len(await there.executions(workflow))
        for each in await there.executions(workflow):
            await there.ended(each["id"])  # what the first worker had in memory comes later than what began since
        runs = await _more(there, workflow, 2)
        planned = [each["metadata"]["planned_for"] for each in runs]
        assert planned == sorted(set(planned))
        assert {(each["trigger_type"], each["status"]) for each in runs[:before]} == {("schedule", "completed")}
        assert (await there.post(f"/workflows/{workflow}/stop")).status_code == 200
        assert not await _rings(cluster, workflow)
        stopped = len(await there.executions(workflow))
        other = await there.workflow("other", _EVERY_SECOND, deploy=True)
        await there.started(other, 2)
        assert len(await there.executions(workflow)) == stopped


async def test_each_event_starts_once_whichever_server_took_it_and_whoever_died_before_it_was_told(
    serve: Serve, database: Database, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(serve(**on_temporal))
        second = await stack.enter_async_context(serve(**on_temporal))
        for _ in range(2):
            await stack.enter_async_context(working(database=database_url, **on_temporal))
        here = Shop(await set_up(first))
        workflow = await here.workflow("each", _ON % "order", deploy=True)
        there = Shop(here.scene)
        there.owner = Person(second, here.owner.tokens, here.owner.email)
        # A server that dies between its commit and what it would tell then.
        lost = {"specversion": "1.0", "id": "lost", "source": "x", "type": "order", "data": "lost"}
        async with database.transaction() as tx:
            await statements.lock_events_in(tx)
            row = inbox.row_of(here.project, encoded(lost), 3600, emitted=False)
            await tx.run_many(inbox.ADD, [row])
        await asyncio.gather(
            *((here if number % 2 else there).send("order", number, id=str(number)) for number in range(12))
        )
        await here.started(workflow, 13)
        runs = await here.executions(workflow)
        assert sorted(map(str, (each["output_data"] for each in runs))) == sorted([*map(str, range(12)), "lost"])
        assert await database.all(_HANDLED) == []


async def test_no_more_run_than_may_with_several_workers_and_the_next_begins_also_when_nobody_tells_it(
    serve: Serve, database_url: str, on_temporal: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_work, most, both = 0, 0, asyncio.Event()

    async def answer(_: Request) -> Any:
        """The first waits for the second, so that two meet here however slow the machine is; the others may be more."""
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        if at_work == 2:
            both.set()
        await both.wait()
        await asyncio.sleep(0.05)
        at_work -= 1
        return JSONResponse({})

    async def died(*_: Any, **__: Any) -> None:
        """The worker that wrote the end, before it let the next one begin."""

    with served(Starlette(routes=[Route("/", answer)])) as url:
        async with AsyncExitStack() as stack:
            here = Shop(await set_up(await stack.enter_async_context(serve(**on_temporal))))
            for _ in range(2):
                await stack.enter_async_context(working(database=database_url, **on_temporal))
            tasks = f"do: [{{ask: {{call: http, with: {{method: get, endpoint: '{url}'}}}}}}]"
            workflow = await here.workflow("two", tasks, metadata="{concurrency: 2}")
            ids = await asyncio.gather(*(here.trigger(workflow) for _ in range(10)))
            for id_ in ids:
                assert (await here.ended(id_))["status"] == "completed"
            assert most == 2
            monkeypatch.setattr(Near, "_after_end", died)
            for id_ in [await here.trigger(workflow) for _ in range(4)]:
                assert (await here.ended(id_))["status"] == "completed"


_BOTH = """
do:
  - both:
      fork:
        branches:
          - one: {run: {workflow: {namespace: shop, name: child}}}
          - two: {run: {workflow: {namespace: shop, name: child}}}
"""
_IMPATIENT = """
do:
  - run: {run: {workflow: {namespace: shop, name: child}}, timeout: {after: {milliseconds: 1}}}
"""


async def test_a_child_waits_for_its_place_too_and_ends_with_who_waits_for_it(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with serve(**on_temporal) as client, working(database=database_url, **on_temporal):
        here = Shop(await set_up(client))
        listens = "do: [{ask: {listen: {to: {one: {with: {type: go}}}}}}]"
        child = await here.workflow("child", listens, metadata="{concurrency: 1}")
        parent = await here.trigger(await here.workflow("parent", _BOTH))

        async def one_runs() -> bool:
            return sorted(each["status"] for each in await here.executions(child)) == ["pending", "running"]

        await came(one_runs)
        impatient = await here.run(await here.workflow("impatient", _IMPATIENT))
        assert impatient["error"]["status"] == 408, impatient
        for number in range(2):
            running = [each["id"] for each in await here.executions(child, status="running")]
            await here.at(running[0], "ask")
            await here.send("go", id=str(number))
            await here.ended(running[0])
            if number == 0:
                await came(lambda: _runs(here, child))
        assert (await here.ended(parent))["status"] == "completed"
        ends = sorted(each["status"] for each in await here.executions(child))
        assert ends == ["cancelled", "completed", "completed"]


async def _runs(here: Shop, workflow: str) -> bool:
    return len(await here.executions(workflow, status="running")) == 1


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_when_a_worker_is_killed_the_others_start_what_it_would_have_started_once(
    serve: Serve, database_url: str, on_temporal: dict[str, str], tmp_path: Path
) -> None:
    folders = [tmp_path / name for name in ("doomed", "other")]
    for folder in folders:
        folder.mkdir()
    async with (
        serve(**on_temporal) as client,
        worker_process(folders[0], database_url, on_temporal) as doomed,
        worker_process(folders[1], database_url, on_temporal),
    ):
        here = Shop(await set_up(client))
        often = await here.workflow("often", _EVERY_SECOND, deploy=True)
        each = await here.workflow("each", _ON % "order", deploy=True)
        single = await here.workflow("single", "do: [{nap: {wait: {milliseconds: 20}}}]", metadata="{concurrency: 1}")

        async def ask_for(numbers: range) -> list[str]:
            await asyncio.gather(*(here.send("order", number, id=str(number)) for number in numbers))
            return await asyncio.gather(*(here.trigger(single) for _ in range(4)))

        ids = await ask_for(range(8))
        await here.started(often, 2)
        doomed.kill()
        ids += await ask_for(range(8, 16))
        for id_ in ids:
            assert (await here.ended(id_))["status"] == "completed"
        assert sorted(run["output_data"] for run in await here.started(each, 16)) == list(range(16))
        planned = [run["metadata"]["planned_for"] for run in await _more(here, often, 2)]
        assert len(planned) == len(set(planned))
        # In the order of commits: a workflow's own time is that of the task that it computes in, which may have waited.
        told = (await here.owner.get(f"/workflows/{single}/events", params={"page_size": 100})).json()["items"]
        lives = [each["type"] for each in reversed(told) if each["type"] in {"workflow.started", "workflow.completed"}]
        assert lives == ["workflow.started", "workflow.completed"] * len(ids)


async def _more(here: Shop, workflow: str, many: int) -> list[Any]:
    """Its newest executions, when so many of those have ended that are not there yet. A list has a hundred of them, and
    a slow machine may have begun more."""
    known = {each["id"] for each in await here.executions(workflow)}

    async def came_since() -> bool:
        found = [each for each in await here.executions(workflow) if each["completed_at"] is not None]
        return len([each for each in found if each["id"] not in known]) >= many

    await came(came_since)
    return await here.executions(workflow)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_schedule_outlives_all_that_keeps_it_and_one_that_temporal_never_heard_of_is_kept(
    serve: Serve, database_url: str, task_queue: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who deploys while Temporal is away need not try for long to tell it.
    monkeypatch.setattr(schedules, "RPC", timedelta(seconds=1))
    port = temporal.free_port()
    settings = {
        "engine": "temporal",
        "temporal_address": f"127.0.0.1:{port}",
        "temporal_task_queue": task_queue,
    }
    with temporal.running(tmp_path, port=port, durable=True):
        async with serve(**settings) as client, working(database=database_url, **settings):
            here = Shop(await set_up(client))
            often = await here.workflow("often", _EVERY_SECOND, deploy=True)
            await here.started(often)
    async with reopened(serve, here, **settings) as there:
        unheard = await there.workflow("unheard", _EVERY_SECOND, deploy=True)
        with temporal.running(tmp_path, port=port, durable=True):
            async with working(database=database_url, **settings):
                await there.started(unheard, 2)
                runs = await _more(there, often, 2)
                planned = [run["metadata"]["planned_for"] for run in runs]
                assert planned == sorted(set(planned))
