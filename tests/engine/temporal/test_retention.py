"""What goes with an execution whose time is up, and what stays for those who are behind."""

import pytest
from sqlalchemy import Table, func, select, update

from penstock.engine.embedded.retention import sweep_executions, sweep_inbox
from penstock.storage import Database, Statement, now
from penstock.storage.engine_tables import (
    inbox,
    temporal_executions,
    temporal_listeners,
    temporal_payloads,
    temporal_places,
)
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_LARGE = """
do:
  - make: {set: {large: '${ [range(9000)] | map(tostring) | join("-") }'}}
  - print: {run: {shell: {command: 'cat > /dev/null; echo done', stdin: '${ .large }'}}}
"""
_LISTEN = "do: [{ask: {listen: {to: {one: {with: {type: %s}}}}}}]"


_CONSUMED_ELSEWHERE = Statement(update(inbox).values(handled=True, consumed=True))
_LATER = 61_000_000


async def _count(database: Database, *tables: Table) -> list[int]:
    counts = (Statement(select(func.count()).select_from(table)) for table in tables)
    return [int((await database.one(count) or [0])[0]) for count in counts]


async def test_payloads_that_stay_out_of_histories_go_with_their_execution(
    serve: Serve, database: Database, database_url: str, on_temporal: dict[str, str]
) -> None:
    tables = (temporal_payloads, temporal_executions, temporal_places)
    async with (
        serve(processes=["shell"], **on_temporal) as client,
        working(database=database_url, **on_temporal),
    ):
        here = Shop(await set_up(client))
        workflow = await here.workflow("large", _LARGE, metadata="{concurrency: 3}")
        done = await here.run(workflow)
        assert done["status"] == "completed", done
        assert min(await _count(database, *tables)) > 0
        assert await sweep_executions(database, now() + 1) == 1
        assert await _count(database, *tables) == [0, 0, 0]


async def test_an_event_stays_for_who_listens_and_has_not_looked_though_another_consumed_it(
    serve: Serve, database: Database, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with serve(**on_temporal) as client:
        here = Shop(await set_up(client))
        async with working(database=database_url, **on_temporal):
            waiting = await here.trigger(await here.workflow("waiting", _LISTEN % "go"))
            await here.at(waiting, "ask")
            await came(lambda: _listens(database))
        await here.send("go")
        async with database.transaction() as tx:
            await tx.run(_CONSUMED_ELSEWHERE)
        await sweep_inbox(database, at=now() + _LATER)
        assert await _count(database, inbox) == [1]
        async with working(database=database_url, **on_temporal):
            assert (await here.ended(waiting))["status"] == "completed"
            await sweep_inbox(database, at=now() + _LATER)
            assert await _count(database, inbox) == [0]


async def _listens(database: Database) -> bool:
    return await _count(database, temporal_listeners) == [1]
