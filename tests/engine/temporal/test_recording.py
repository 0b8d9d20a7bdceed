"""Batches of walks, written by many workers at once."""

import asyncio

import pytest
from sqlalchemy import bindparam, select

from penstock.engine.temporal import written
from penstock.engine.temporal.passed import Batch
from penstock.storage import Database, Refused, Statement, open_database
from penstock.storage.platform_tables import events
from penstock.streams import NewEvent
from tests.conftest import Serve
from tests.engine.embedded.shop import Shop
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_MANY = 8
_ROUNDS = 15


def _batch(shop: Shop, workflow: str, execution: str, number: int) -> Batch:
    event = NewEvent(workflow, "task.created", execution, f"step {number}", {"n": number})
    return Batch(execution_id=execution, project_id=shop.project, number=number, events=[event])


_TOLD = Statement(
    select(events.c.id, events.c.execution_id, events.c.step_name)
    .where(events.c.workflow_id == bindparam("id"))
    .order_by(events.c.id)
)


async def test_a_batch_that_comes_again_or_late_is_written_once(serve: Serve, database: Database) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        execution = await shop.trigger(workflow)
        for number in (1, 2, 2, 1, 3, 3):
            await written.write(database, [_batch(shop, workflow, execution, number)])
        assert [each["step_name"] for each in await database.all(_TOLD, id=workflow)] == ["step 1", "step 2", "step 3"]


async def test_what_can_never_be_written_keeps_nobody_else_from_it(serve: Serve, database: Database) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        good, deleted = await shop.trigger(workflow), "00000000-0000-7000-8000-000000000000"
        recording = written.Recording(database)
        batches = [_batch(shop, workflow, id_, 1) for id_ in (deleted, good)]
        refused, fine = await asyncio.gather(*map(recording.write, batches), return_exceptions=True)
        assert isinstance(refused, Refused)
        assert fine is None
        assert [each["execution_id"] for each in await database.all(_TOLD, id=workflow)] == [good]


async def test_with_many_writers_who_has_seen_an_event_has_seen_all_before_it(
    serve: Serve, database: Database, database_url: str
) -> None:
    """Several workers write of one workflow at once, each through a database of its own; a reader follows."""
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        ids = [await shop.trigger(workflow) for _ in range(_MANY)]
        workers = [await open_database(database_url, pool=2) for _ in range(3)]
        recordings = [written.Recording(worker) for worker in workers]

        async def walk(index: int, execution: str) -> None:
            for number in range(1, _ROUNDS + 1):
                await recordings[index % len(recordings)].write(_batch(shop, workflow, execution, number))

        walks = asyncio.gather(*(walk(index, id_) for index, id_ in enumerate(ids)))
        seen: list[int] = []
        while not walks.done():
            await asyncio.sleep(0)  # a read of SQLite waits for nothing, and would leave them no turn
            rows = [each["id"] for each in await database.all(_TOLD, id=workflow)]
            assert rows[: len(seen)] == seen, "an entry came to be before one that was there"
            seen = rows
        await walks
        for worker in workers:
            await worker.close()
        told = await database.all(_TOLD, id=workflow)
        for id_ in ids:
            of_one = [each["step_name"] for each in told if each["execution_id"] == id_]
            assert of_one == [f"step {number}" for number in range(1, _ROUNDS + 1)]
