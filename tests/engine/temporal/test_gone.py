"""What Temporal does not have any more, or not as we do: ended there by hand, lost with its database, or ours older."""

import sqlite3
from collections import Counter
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import DeleteWorkflowExecutionRequest
from temporalio.client import Client, WorkflowExecutionStatus
from temporalio.service import RPCError

from penstock.engine.temporal import gone
from tests import temporal
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, reopened
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_LISTEN = "do: [{first: {set: {x: 1}}}, {ask: {listen: {to: {one: {with: {type: go}}}}}}, {last: {set: {done: true}}}]"
_CALLING = """
do:
  - first: CALL
  - ask: {listen: {to: {one: {with: {type: NAME}}}}}
  - second: CALL
  - nap: {wait: '${ .nap }'}
  - third: CALL
"""
_PARENT = "do: [{work: {run: {workflow: {namespace: shop, name: child}}}}]"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits half a minute here before they look, nor for what may be about to be deleted."""
    monkeypatch.setattr(gone, "_QUIET", 0)
    monkeypatch.setattr(gone, "_DELETED_WITHIN", timedelta(0))


async def test_what_is_terminated_in_temporal_ends_as_failed_once_with_all_that_follows_from_it(
    serve: Serve, database_url: str, on_temporal: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with serve(**on_temporal) as client, working(database=database_url, **on_temporal) as cluster:
        here = Shop(await set_up(client))
        child = await here.workflow("child", _LISTEN)
        one = await here.workflow("one", _LISTEN, metadata="{concurrency: 1}")
        follower = await here.workflow("follower", "do: [{note: {set: {said: '${ .detail }'}}}]")
        await here.owner.made(f"/workflows/{one}/links", {"target_workflow_id": follower, "link_type": "failed"})
        terminated = await here.trigger(one)
        await here.at(terminated, "ask")
        waiting = await here.trigger(one)
        parents = [await here.trigger(await here.workflow(name, _PARENT)) for name in ("first", "second")]
        await came(lambda: _runs(here, child, 2))
        children = {each["metadata"]["parent"]["execution_id"]: each["id"] for each in await here.executions(child)}

        await cluster.get_workflow_handle(terminated).terminate("by hand")
        ended = await here.ended(terminated)
        assert (ended["status"], ended["error"]["title"]) == ("failed", "Ended in Temporal")
        assert "terminated in Temporal" in ended["error_message"]
        assert [each["status"] for each in await here.steps(terminated)] == ["completed", "cancelled"]
        await here.at(waiting, "ask")  # its place is free
        assert (await here.started(follower))[0]["output_data"] == {"said": ended["error"]["detail"]}

        await cluster.get_workflow_handle(parents[0]).terminate("by hand")
        assert (await here.ended(parents[0]))["status"] == "failed"
        assert (await here.ended(children[parents[0]]))["status"] == "cancelled"
        await cluster.get_workflow_handle(children[parents[1]]).terminate("by hand")
        assert (await here.ended(parents[1]))["error"]["title"] == "Ended in Temporal"

        await here.send("go")
        assert (await here.ended(waiting))["status"] == "completed"
        events = (await here.owner.get(f"/workflows/{one}/events", params={"page_size": 100})).json()["items"]
        told = [each["type"] for each in reversed(events) if each["execution_id"] == terminated]
        assert told[-2:] == ["task.cancelled", "workflow.faulted"]
        assert told.count("workflow.faulted") == 1
        assert len(await here.executions(follower)) == 1
        await came(lambda: _has_ended(cluster, terminated))
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


async def _runs(here: Shop, workflow: str, many: int) -> bool:
    return len(await here.executions(workflow, status="running")) == many


async def _has_ended(cluster: Client, execution: str) -> bool:
    described = await cluster.get_workflow_handle(execution).describe()
    return described.status is WorkflowExecutionStatus.COMPLETED


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_child_whose_workflow_was_deleted_in_temporal_goes_on_and_still_ends_with_its_parent(
    serve: Serve, database_url: str, on_temporal: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gone, "_DELETED_WITHIN", timedelta(hours=1))
    async with serve(**on_temporal) as client, working(database=database_url, **on_temporal) as cluster:
        here = Shop(await set_up(client))
        child = await here.workflow("child", _LISTEN)
        parents = [await here.trigger(await here.workflow(name, _PARENT)) for name in ("first", "second")]
        await came(lambda: _listens(here, child, 2))
        children = {each["metadata"]["parent"]["execution_id"]: each["id"] for each in await here.executions(child)}
        for id_ in children.values():
            before = await cluster.get_workflow_handle(id_).describe()
            await cluster.workflow_service.delete_workflow_execution(
                DeleteWorkflowExecutionRequest(
                    namespace=cluster.namespace, workflow_execution=WorkflowExecution(workflow_id=id_)
                )
            )
            await came(partial(_runs_anew, cluster, id_, before.run_id))
        assert (await here.post(f"/executions/{parents[0]}/cancel")).json()["status"] == "cancelled"
        assert (await here.ended(children[parents[0]]))["status"] == "cancelled"
        await here.send("go")
        assert (await here.ended(parents[1]))["output_data"] == {"done": True}


async def _runs_anew(cluster: Client, execution: str, before: str) -> bool:
    try:
        described = await cluster.get_workflow_handle(execution).describe()
    except RPCError:
        return False
    return described.run_id != before and described.status is WorkflowExecutionStatus.RUNNING


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_when_temporal_has_lost_everything_all_that_was_under_way_goes_on_from_its_steps(
    serve: Serve, database_url: str, task_queue: str, tmp_path: Path
) -> None:
    port = temporal.free_port()
    settings = {"engine": "temporal", "temporal_address": f"127.0.0.1:{port}", "temporal_task_queue": task_queue}
    with temporal.running(tmp_path, port=port):
        async with serve(**settings) as client, working(database=database_url, **settings):
            here = Shop(await set_up(client))
            child = await here.workflow("child", _LISTEN)
            one = await here.workflow("one", _LISTEN, metadata="{concurrency: 1}")
            parent = await here.trigger(await here.workflow("parent", _PARENT))
            running = await here.trigger(one)
            pending = await here.trigger(one)
            await came(lambda: _listens(here, child, 1))
            await here.listens(running, (await here.executions(child))[0]["id"])
            known = [each["id"] for each in await here.steps(running)]
    with temporal.running(tmp_path, port=port):
        async with reopened(serve, here, **settings) as there, working(database=database_url, **settings):
            await there.send("go")
            assert (await there.ended(running))["output_data"] == {"done": True}
            assert (await there.ended(parent))["output_data"] == {"done": True}
            assert [each["status"] for each in await there.executions(child)] == ["completed"]
            steps = await there.steps(running)
            assert [each["id"] for each in steps][:2] == known
            assert [each["status"] for each in steps] == ["completed"] * 3
            await there.at(pending, "ask")
            await there.send("go", id="again")
            assert (await there.ended(pending))["status"] == "completed"
            events = (await there.owner.get(f"/workflows/{one}/events", params={"page_size": 100})).json()["items"]
            told = Counter((each["type"], each["execution_id"], each["step_name"]) for each in events)
            assert set(told.values()) == {1}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_when_our_database_is_older_than_temporal_what_it_knows_goes_on_from_there_and_all_else_does_nothing_more(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    asked: Counter[str] = Counter()
    is_restored = False

    async def answer(request: Request) -> Any:
        asked[request.url.path] += 1
        return JSONResponse({"nap": "PT0S" if is_restored or request.url.path == "/ended" else "PT1H"})

    def calling(name: str) -> str:
        call = f"{{call: http, with: {{method: get, endpoint: '{url}/{name}'}}}}"
        return _CALLING.replace("NAME", name).replace("CALL", call)

    file = database_url.removeprefix("sqlite:///")
    with served(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        async with serve(**on_temporal) as client, working(database=database_url, **on_temporal):
            here = Shop(await set_up(client))
            ended = await here.trigger(await here.workflow("ended", calling("ended")))
            ahead = await here.trigger(await here.workflow("ahead", calling("ahead")))
            await here.listens(ended, ahead)
            _copy(file, f"{file}.backup")
            later = await here.trigger(await here.workflow("later", calling("later")))
            await here.listens(later)
            for name in ("ended", "ahead"):
                await here.send(name)
            assert (await here.ended(ended))["status"] == "completed"
            await here.at(ahead, "nap")
        assert asked == {"/ended": 3, "/ahead": 2, "/later": 1}
        for each in Path(file).parent.glob("penstock.db-*"):
            each.unlink()
        Path(f"{file}.backup").replace(file)
        is_restored = True
        async with (
            reopened(serve, here, **on_temporal) as there,
            working(database=database_url, **on_temporal) as cluster,
        ):
            for name in ("ended", "ahead", "later"):
                await there.send(name)
            # Each has something to write, and finds out.
            for asks in ("pause", "resume"):
                assert (await there.post(f"/executions/{ahead}/{asks}")).status_code == 200
            await cluster.get_workflow_handle(later).signal("events_came")
            for execution in (ended, ahead):
                assert (await there.ended(execution))["status"] == "completed"
                names = [each["step_name"] for each in await there.steps(execution)]
                assert names == ["first", "ask", "second", "nap", "third"]
            await came(lambda: _has_ended(cluster, later))
            assert (await there.owner.get(f"/executions/{later}")).status_code == 404
        # What had come after the moment of the backup is done again; nothing else is.
        assert asked == {"/ended": 5, "/ahead": 4, "/later": 1}


def _copy(file: str, to: str) -> None:
    """As `penstock backup` does, beside the server."""
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


async def _listens(here: Shop, workflow: str, many: int) -> bool:
    running = await here.executions(workflow, status="running")
    steps = [each["step_name"] for execution in running for each in await here.steps(execution["id"])]
    return steps.count("ask") == many
