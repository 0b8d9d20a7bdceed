"""What Temporal does not have any more, or not as we do: ended there by hand, lost with its database, or ours older."""

import pytest
from temporalio.client import Client, WorkflowExecutionStatus

from penstock.engine.temporal import gone
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_LISTEN = "do: [{first: {set: {x: 1}}}, {ask: {listen: {to: {one: {with: {type: go}}}}}}, {last: {set: {done: true}}}]"
_PARENT = "do: [{work: {run: {workflow: {namespace: shop, name: child}}}}]"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits half a minute here before they look."""
    monkeypatch.setattr(gone, "_QUIET", 0)


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
