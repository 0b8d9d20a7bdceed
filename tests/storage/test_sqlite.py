"""SQLite among other processes: their locks are waited for, a COMMIT is never abandoned, a lost file is noticed."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.storage import Busy, Unavailable, backoff, open_database, sqlite
from penstock.storage.sqlite import SqliteDatabase
from tests.storage.conftest import keys, put

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(sqlite_url: str) -> AsyncIterator[SqliteDatabase]:
    opened = await open_database(sqlite_url)
    assert isinstance(opened, SqliteDatabase)
    yield opened
    await opened.close()


@pytest.fixture
def rival(database: SqliteDatabase) -> Iterator[sqlite3.Connection]:
    """Another connection, as another process has one."""
    with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
        yield connection


class SlowCommit:
    """The writing connection, with a COMMIT that waits for us."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.begun = threading.Event()
        self.may_go_on = threading.Event()

    def execute(self, text: str, *params: Any) -> Any:
        if text == "COMMIT":
            self.begun.set()
            assert self.may_go_on.wait(60)
        return self._connection.execute(text, *params)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


async def test_a_transaction_waits_for_another_process_and_then_happens(
    database: SqliteDatabase, rival: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def delays() -> Iterator[float]:
        for delay in (0.001, 0.002, 0.003):
            waited.append(delay)
            yield delay
        rival.execute("COMMIT")
        yield 0

    monkeypatch.setattr(sqlite, "delays", delays)
    rival.execute("BEGIN IMMEDIATE")
    async with database.transaction() as tx:
        await put(tx, "patient")
    assert await keys(database) == ["patient"]
    assert waited == [0.001, 0.002, 0.003]


async def test_the_loop_serves_others_while_a_transaction_waits_for_a_lock(
    database: SqliteDatabase, rival: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "delays", lambda: backoff.delays(total=600))
    rival.execute("BEGIN IMMEDIATE")

    async def write() -> None:
        async with database.transaction() as tx:
            await put(tx, "patient")

    task = asyncio.create_task(write())
    for _ in range(50):
        assert await keys(database) == []
        await asyncio.sleep(0)
    assert not task.done()
    rival.execute("COMMIT")
    await asyncio.wait_for(task, 60)
    assert await keys(database) == ["patient"]


async def test_a_lock_that_stays_is_busy_in_the_end_and_leaves_the_database_usable(
    database: SqliteDatabase, rival: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "delays", lambda: backoff.delays(first=0.001, total=0.01))
    rival.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="locked"):
        async with database.transaction():
            pytest.fail("the block must not run without the lock")
    rival.execute("ROLLBACK")
    async with database.transaction() as tx:
        await put(tx, "later")
    assert await keys(database) == ["later"]


def test_each_pause_is_about_twice_the_one_before_up_to_a_most_and_a_total() -> None:
    pauses = list(backoff.delays(first=0.01, most=0.5, total=10))
    for index, pause in enumerate(pauses):
        longest = min(0.01 * 2**index, 0.5)
        assert longest / 2 <= pause <= longest
    assert 9.5 <= sum(pauses) <= 10.5
    assert len({round(pause, 9) for pause in pauses}) == len(pauses), "rivals would meet again and again"


async def test_cancelled_during_the_commit_the_commit_happens_and_whoever_waits_for_it_is_told(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    slow = SlowCommit(database._writer)
    monkeypatch.setattr(database, "_writer", slow)

    async def write() -> None:
        async with database.transaction() as tx:
            await put(tx, "sent")
            tx.after_commit(lambda: told.append("durable"))

    task = asyncio.create_task(write())
    assert await asyncio.to_thread(slow.begun.wait, 60)
    for _ in range(2):  # a server that is told to stop twice cancels twice
        task.cancel()
        await asyncio.sleep(0)
        assert not task.done(), "the connection is still in the other thread's hands"
    slow.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await keys(database) == ["sent"]
    assert told == ["durable"]
    async with database.transaction() as tx:
        await put(tx, "the next")
    assert await keys(database) == ["sent", "the next"]


async def test_a_commit_that_fails_leaves_nothing_and_tells_nobody(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    class FullDisk(SlowCommit):
        def execute(self, text: str, *params: Any) -> Any:
            if text == "COMMIT":
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorname = "SQLITE_FULL"
                raise error
            return self._connection.execute(text, *params)

    with monkeypatch.context() as patch:
        patch.setattr(database, "_writer", FullDisk(database._writer))

        async def attempt() -> None:
            async with database.transaction() as tx:
                tx.after_commit(lambda: told.append("lie"))
                await put(tx, "lost")

        with pytest.raises(Unavailable, match="full"):
            await attempt()
    assert await keys(database) == []
    assert told == []
    async with database.transaction() as tx:
        await put(tx, "again")
    assert await keys(database) == ["again"]


async def test_every_commit_is_on_disk_before_it_is_told(database: SqliteDatabase) -> None:
    modes = {
        name: database._writer.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "foreign_keys")
    }
    assert modes == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}


async def test_the_reading_connection_cannot_write(database: SqliteDatabase) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        database._reader.execute("DELETE FROM key_values")


async def test_a_file_that_was_removed_or_replaced_is_noticed(database: SqliteDatabase) -> None:
    await database.ping()
    aside = database.path.rename(database.path.with_name("aside.db"))
    with pytest.raises(Unavailable, match="removed or replaced"):
        await database.ping()
    database.path.write_bytes(b"")
    with pytest.raises(Unavailable, match="removed or replaced"):
        await database.ping()
    aside.rename(database.path)
    await database.ping()


async def test_a_file_that_is_something_else_is_refused_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "photo.db"
    path.write_bytes(b"\x89PNG" * 1000)
    with pytest.raises(Unavailable, match=r"photo\.db: file is not a database"):
        await open_database(f"sqlite:///{path}")


@pytest.mark.parametrize("name", ["a b.db", "100%25.db", "what%3F.db", "ünï.db", "a#b.db"])
async def test_odd_names_of_files_are_taken_as_they_are(tmp_path: Path, name: str) -> None:
    from urllib.parse import unquote

    opened = await open_database(f"sqlite:///{tmp_path}/{name}")
    async with opened.transaction() as tx:
        await put(tx, "a")
    await opened.close()
    with closing(sqlite3.connect(tmp_path / unquote(name))) as connection:
        assert connection.execute("SELECT key FROM key_values").fetchall() == [("a",)]


class CountedCommits(SlowCommit):
    def __init__(self, connection: sqlite3.Connection, refused: int = 0) -> None:
        super().__init__(connection)
        self.count = 0
        self._refused = refused

    def execute(self, text: str, *params: Any) -> Any:
        if text == "COMMIT":
            self.count += 1
            if self.count == self._refused:
                raise _full()
        return super().execute(text, *params)


def _full() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    return error


async def _write(database: SqliteDatabase, key: str, told: list[str]) -> None:
    async with database.transaction() as tx:
        await put(tx, key)
        tx.after_commit(lambda: told.append(key))
        if key.startswith("bad"):
            raise ValueError(key)


async def _all_at_once(
    database: SqliteDatabase, slow: CountedCommits, names: list[str], told: list[str]
) -> list[BaseException | None]:
    """The first is in its COMMIT when the others come."""
    tasks = [asyncio.create_task(_write(database, "first", told))]
    assert await asyncio.to_thread(slow.begun.wait, 60)
    tasks += [asyncio.create_task(_write(database, name, told)) for name in names]
    await asyncio.sleep(0)
    slow.may_go_on.set()
    return await asyncio.gather(*tasks, return_exceptions=True)


async def test_those_who_wait_for_their_turn_share_one_commit(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, told = CountedCommits(database._writer), list[str]()
    monkeypatch.setattr(database, "_writer", slow)
    names = [f"{number:02}" for number in range(50)]
    assert await _all_at_once(database, slow, names, told) == [None] * 51
    assert slow.count == 2
    assert await keys(database) == [*names, "first"]
    assert sorted(told) == [*names, "first"]


async def test_one_of_those_who_share_a_commit_fails_alone(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, told = CountedCommits(database._writer), list[str]()
    monkeypatch.setattr(database, "_writer", slow)
    outcomes = await _all_at_once(database, slow, ["bad 1", "a", "bad 2", "b", "bad 3"], told)
    assert [type(outcome) for outcome in outcomes[1:]] == [ValueError, type(None), ValueError, type(None), ValueError]
    assert await keys(database) == ["a", "b", "first"]
    assert sorted(told) == ["a", "b", "first"]


async def test_a_shared_commit_that_is_refused_is_refused_to_all_who_share_it(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, told = CountedCommits(database._writer, refused=2), list[str]()
    monkeypatch.setattr(database, "_writer", slow)
    outcomes = await _all_at_once(database, slow, ["a", "b"], told)
    assert [type(outcome) for outcome in outcomes] == [type(None), Unavailable, Unavailable]
    assert await keys(database) == told == ["first"]
    await _write(database, "later", told)
    assert await keys(database) == ["first", "later"]
