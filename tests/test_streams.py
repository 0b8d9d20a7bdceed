"""The parts under the streams: reads that leave the loop alone, news from other processes, entries in bulk."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import text

from penstock.ids import uuid7
from penstock.storage import Busy, Database, Statement, now
from penstock.streams import Hub, Level, NewEvent, NewLog, append, journal
from tests.platform.records import add

pytestmark = pytest.mark.anyio
LONG = Statement(
    text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000000) SELECT count(*) FROM n")
)
SHORT = Statement(text("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n"))


async def workflow(database: Database) -> str:
    user, company, project, id_, at = uuid7(), uuid7(), uuid7(), uuid7(), now()
    times = {"created_at": at, "updated_at": at}
    await add(
        database, "accounts", id=user, email=f"{user}@example.com", email_verified=True, settings="", display_name="",
        avatar_url="", active=True, **times,
    )  # fmt: skip
    await add(database, "companies", id=company, name="C", slug="c", owner_id=user, metadata="{}", **times)
    await add(
        database, "projects", id=project, company_id=company, name="P", slug="p", description="", metadata="{}",
        **times,
    )  # fmt: skip
    await add(
        database, "workflows", id=id_, project_id=project, name="W", slug="w", description="", version=1, revision=1,
        status="draft", created_by=user, updated_by=user, **times,
    )  # fmt: skip
    return id_


async def test_a_slow_read_answers_as_any_other(database: Database) -> None:
    assert [row[0] for row in await database.slow(SHORT)] == [1, 2, 3]


async def test_while_a_slow_read_runs_the_loop_goes_on_and_giving_up_ends_it(database: Database) -> None:
    reading = asyncio.create_task(database.slow(LONG))
    for _ in range(10):
        await asyncio.sleep(0.01)
    # It would take this loop many seconds: each turn comes in between.
    assert not reading.done()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    # Whoever comes next on the same connections is not interrupted, and does not wait.
    async with asyncio.timeout(60):
        for _ in range(4):
            assert len(await database.slow(SHORT)) == 3


async def test_closing_does_not_wait_for_slow_reads(database: Database) -> None:
    if database.dialect == "postgresql":
        pytest.skip("its pool waits for at most ten seconds, then ends them")
    readers = [asyncio.create_task(database.slow(LONG)) for _ in range(4)]
    await asyncio.sleep(0.05)
    await database.close()
    # They have not come to their end, which is far away.
    for reader in readers:
        with pytest.raises((Busy, asyncio.CancelledError)):
            await reader


async def _no_objection() -> None:
    return None


@pytest.fixture
async def hub(database: Database) -> AsyncIterator[Hub]:
    """One that hears of nothing but what other processes tell."""
    hub = Hub(database)
    hub.start()
    journal.sleepers.discard(hub)
    yield hub
    await hub.close()


async def _write_as_another_process(database: Database, workflow_id: str, message: str) -> None:
    async with database.transaction() as tx:
        await append(tx, logs=[NewLog(workflow_id, Level.INFO, message)])
        if tx.dialect == "postgresql":
            await tx.run_text("SELECT pg_notify($1, $2)", journal.CHANNEL, f"another {workflow_id}")


async def _hear(listener: Any) -> bytes:
    async with asyncio.timeout(60):
        while not (frames := await listener.take(1)):
            pass
    return bytes(frames)


async def test_when_the_listening_connection_is_lost_another_one_listens_and_nothing_is_missed(
    database: Database, hub: Hub
) -> None:
    id_ = await workflow(database)
    async with hub.listen("log", id_, matches=lambda _: True, permit=_no_objection) as (listener, missed):
        async for _ in missed:
            pass
        await _write_as_another_process(database, id_, "first")
        assert b'"first"' in await _hear(listener)
        if database.dialect == "postgresql":
            await database.all(
                Statement(
                    text(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                        " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
                    )
                )
            )
        await _write_as_another_process(database, id_, "second")
        assert b'"second"' in await _hear(listener)


async def test_many_entries_are_one_transaction_and_keep_their_order(database: Database) -> None:
    id_ = await workflow(database)
    # Large and small ones: they are written in slices, whose size goes by what the last one held.
    messages = [f"{n}" + "." * (60_000 if n % 400 < 40 else 0) for n in range(2000)]
    async with database.transaction() as tx:
        await append(
            tx,
            events=[NewEvent(id_, "task.completed", data={"n": n}) for n in range(500)],
            logs=[NewLog(id_, Level.DEBUG, message) for message in messages],
        )
    rows = await database.all(Statement(text("SELECT message FROM log_entries ORDER BY id")))
    assert [row[0] for row in rows] == messages
    counted = await database.all(Statement(text("SELECT what, n FROM workflow_counts ORDER BY what")))
    assert [tuple(row) for row in counted] == [("debug", 2000), ("events", 500)]
