"""PostgreSQL goes away, comes back, and is never asked by more than the pool allows."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from penstock.storage import Busy, Database, StorageError, Unavailable, open_database, postgresql
from tests.storage.conftest import PUT, keys, put

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)]


@pytest.fixture
async def admin(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def end_all_connections(admin: asyncpg.Connection) -> int:
    return len(
        await admin.fetch(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'penstock'"
        )
    )


async def test_after_a_lost_connection_the_next_request_works(database: Database, admin: asyncpg.Connection) -> None:
    async with database.transaction() as tx:
        await put(tx, "before")
    assert await end_all_connections(admin) >= 1
    async with database.transaction() as tx:
        await put(tx, "after")
    assert await keys(database) == ["after", "before"]


async def test_after_every_connection_of_the_pool_was_lost_all_requests_work(
    database: Database, admin: asyncpg.Connection
) -> None:
    for _ in range(3):
        assert set(map(tuple, await asyncio.gather(*(keys(database) for _ in range(20))))) == {()}
        assert await end_all_connections(admin) >= 1
    async with database.transaction() as tx:
        await put(tx, "after")
    assert set(map(tuple, await asyncio.gather(*(keys(database) for _ in range(20))))) == {("after",)}


async def test_a_connection_lost_within_a_transaction_is_unavailable_and_leaves_nothing(
    database: Database, admin: asyncpg.Connection
) -> None:
    told: list[str] = []

    async def attempt() -> None:
        async with database.transaction() as tx:
            tx.after_commit(lambda: told.append("lie"))
            await put(tx, "half")
            await end_all_connections(admin)
            await put(tx, "whole")

    with pytest.raises(Unavailable):
        await attempt()
    assert told == []
    assert await keys(database) == []


async def test_a_connection_lost_just_before_the_commit_is_not_told_as_a_success(
    database: Database, admin: asyncpg.Connection
) -> None:
    async def attempt() -> None:
        async with database.transaction() as tx:
            await put(tx, "half")
            await end_all_connections(admin)

    with pytest.raises(Unavailable):
        await attempt()
    assert await keys(database) == []


async def test_an_error_of_the_block_is_not_hidden_by_a_lost_connection(
    database: Database, admin: asyncpg.Connection
) -> None:
    async def attempt() -> None:
        async with database.transaction() as tx:
            await put(tx, "half")
            await end_all_connections(admin)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await attempt()


async def test_when_every_connection_is_in_use_the_next_is_busy_and_later_served(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await open_database(database_url, pool=2)
    async with database.transaction(), database.transaction():
        monkeypatch.setattr(postgresql, "_PATIENCE", 0.05)
        with pytest.raises(Busy, match="in use"):
            await keys(database)
        monkeypatch.undo()
    assert await keys(database) == []
    await database.close()


async def test_a_lock_that_stays_is_busy(database: Database, admin: asyncpg.Connection) -> None:
    async with admin.transaction():
        await admin.execute("LOCK TABLE key_values IN ACCESS EXCLUSIVE MODE")

        async def attempt() -> None:
            async with database.transaction() as tx:
                await tx.run_text("SET LOCAL lock_timeout = '20ms'")
                await put(tx, "never")

        with pytest.raises(Busy, match="lock timeout"):
            await attempt()
    assert await keys(database) == []


SLOW_COMMIT = """
    CREATE FUNCTION wait_for_lock() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON key_values DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait_for_lock();
"""


async def test_cancelled_during_the_commit_the_commit_happens_and_whoever_waits_for_it_is_told(
    database: Database, admin: asyncpg.Connection
) -> None:
    await admin.execute(SLOW_COMMIT)
    await admin.execute("SELECT pg_advisory_lock(1)")
    told: list[str] = []

    async def write() -> None:
        async with database.transaction() as tx:
            await put(tx, "sent")
            tx.after_commit(lambda: told.append("durable"))

    task = asyncio.create_task(write())
    async with asyncio.timeout(60):
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while not await admin.fetchval(waiting):
            pass
    for _ in range(2):
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done()
    await admin.execute("SELECT pg_advisory_unlock(1)")
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await keys(database) == ["sent"]
    assert told == ["durable"]


async def test_a_commit_that_fails_leaves_nothing_and_tells_nobody(
    database: Database, admin: asyncpg.Connection
) -> None:
    await admin.execute(SLOW_COMMIT.replace("PERFORM pg_advisory_xact_lock(1)", "RAISE EXCEPTION 'no'"))
    told: list[str] = []

    async def attempt() -> None:
        async with database.transaction() as tx:
            tx.after_commit(lambda: told.append("lie"))
            await put(tx, "lost")

    with pytest.raises(StorageError, match="no"):
        await attempt()
    assert await keys(database) == []
    assert told == []


async def test_a_transaction_cancelled_within_a_statement_gives_its_connection_back_clean(
    database_url: str, admin: asyncpg.Connection
) -> None:
    database = await open_database(database_url, pool=1)
    await admin.execute("SELECT pg_advisory_lock(2)")

    async def write() -> None:
        async with database.transaction() as tx:
            await tx.run(PUT, key="half", value="")
            await tx.run_text("SELECT pg_advisory_xact_lock(2)")

    task = asyncio.create_task(write())
    async with asyncio.timeout(60):
        while not await admin.fetchval("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            pass
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    idle = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in%'"
    assert await admin.fetchval(idle) == 0
    async with database.transaction() as tx:
        await put(tx, "whole")
    assert await keys(database) == ["whole"]
    await database.close()


async def test_a_server_that_is_not_there_is_said_without_the_password(database_url: str) -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        await open_database("postgresql://penstock:s3cret@127.0.0.1:1/penstock")
    assert "s3cret" not in str(caught.value)


async def test_a_database_that_is_not_there_is_said_by_its_name(database_url: str) -> None:
    name = database_url.partition("/test_")[2].partition("?")[0]
    with pytest.raises(Unavailable, match="does not exist"):
        await open_database(database_url.replace(f"test_{name}", "nowhere"))


async def test_an_address_may_say_how_to_use_tls(database_url: str) -> None:
    opened = await open_database(f"{database_url}&sslmode=disable")
    await opened.ping()
    await opened.close()


async def test_a_closed_database_does_not_answer_a_ping(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "delays", lambda **_: iter([0.001]))
    database = await open_database(database_url)
    await database.ping()
    await database.close()
    with pytest.raises(Unavailable):
        await database.ping()
