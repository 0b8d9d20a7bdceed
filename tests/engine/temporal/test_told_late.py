"""What servers and workers tell a workflow may come late, or twice: what counts is what is stored."""

from functools import partial
from typing import Any

import pytest
from sqlalchemy import bindparam, update
from temporalio.client import Client
from temporalio.service import RPCError

from penstock.engine.temporal import passed
from penstock.engine.temporal.attending import Attending
from penstock.storage import Statement
from penstock.storage.platform_tables import executions
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop
from tests.engine.temporal.workers import working
from tests.platform.records import database_of
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_PAUSED = Statement(update(executions).where(executions.c.id == bindparam("id")).values(paused_at=1))
_LISTEN = "do: [{ask: {listen: {to: {one: {with: {type: %s}}}}}}, {last: {set: {done: true}}}]"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_pause_that_is_told_again_after_the_execution_was_resumed_does_not_pause_it(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with serve(**on_temporal) as client:
        here = Shop(await set_up(client))
        one = await here.workflow("one", _LISTEN % "one", metadata="{concurrency: 1}")
        async with working(database=database_url, **on_temporal) as cluster:
            running = await here.trigger(one)
            await here.at(running, "ask")
            waiting = await here.trigger(one)
            for what in ("pause", "resume"):
                assert (await here.post(f"/executions/{running}/{what}")).status_code == 200
            for id_ in (running, waiting):
                await came(partial(_told, cluster, id_))
            await here.send("one")
            assert (await here.ended(running))["status"] == "completed"
            await here.send("one", id="again")
            assert (await here.ended(waiting))["status"] == "completed"
        unbegun = await here.trigger(await here.workflow("unbegun", "do: [{only: {set: {done: true}}}]"))
        await came(lambda: _told(cluster, unbegun))
        async with working(database=database_url, **on_temporal):
            assert (await here.ended(unbegun))["status"] == "completed"


async def _told(cluster: Client, execution: str) -> bool:
    """What nobody asks any more."""
    try:
        await cluster.get_workflow_handle(execution).signal("asked", "pause")
    except RPCError:
        return False
    return True


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_walk_that_is_lost_after_it_has_paused_is_told_the_same_when_it_is_walked_again(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    """What it was asked is answered by then: what counts is how it is stored."""
    nobody: Any = None
    async with serve(**on_temporal) as client, working(database=database_url, **on_temporal):
        here = Shop(await set_up(client))
        workflow = await here.workflow("one", _LISTEN % "one")
        running = await here.trigger(workflow)
        await here.at(running, "ask")
        worker = Attending(database_of(client), nobody, nobody, nobody)
        for what, other in (("pause", "resume"), ("resume", "pause")):
            assert (await here.post(f"/executions/{running}/{what}")).status_code == 200
            assert await worker.is_asked(passed.Hold(execution_id=running, what=what))
            assert not await worker.is_asked(passed.Hold(execution_id=running, what=other))
            assert await worker.is_held(passed.Load(execution_id=running)) == (what == "pause")
        # A walk that was lost had paused it; the one that goes on does not know.
        async with database_of(client).transaction() as tx:
            await tx.run(_PAUSED, id=running)
        assert (await here.post(f"/executions/{running}/resume")).status_code == 200
        assert not await worker.is_held(passed.Load(execution_id=running))
        told = (await here.owner.get(f"/workflows/{workflow}/events", params={"type": "workflow.resumed"})).json()
        assert told["total"] == 2
