"""SQLite: one writing connection, one reading connection, both used from the event loop.

A read or write by key takes microseconds, a hop to a thread takes a hundred, so statements run inline. What may take
long leaves the loop, for a thread: many rows at once, and the fsync of COMMIT; and waiting for another process's lock
is slept through, with back-off.

Whoever has to wait for their turn to write shares the next COMMIT: its fsync is most of what a small write costs.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from penstock.storage.backoff import delays
from penstock.storage.database import (
    Busy,
    Database,
    Duplicate,
    Refused,
    Row,
    StorageError,
    Transaction,
    Unavailable,
    to_its_end,
)
from penstock.storage.slow import SlowReads
from penstock.storage.statement import Statement

_MANY = 16  # rows; fewer are written sooner than a thread has its turn
_MOST_ROWS = 256  # that are put together before others get their turn
_MOST_AT_ONCE = 1_000_000  # bytes of them
_BROKEN = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_CORRUPT", "SQLITE_NOTADB")


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=512)
    connection.row_factory = sqlite3.Row
    for pragma in (
        # Another process may just be recovering the log.
        "busy_timeout = 5000",
        "synchronous = FULL",
        "foreign_keys = ON",
        "temp_store = MEMORY",
        "cache_size = -16384",
        "query_only = ON" if readonly else "query_only = OFF",
        # The loop must not sleep inside SQLite: BEGIN is retried by us. A reader is only ever held up for an
        # instant, while another process recovers or truncates the log.
        "busy_timeout = 250" if readonly else "busy_timeout = 0",
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


class SqliteDatabase(Database):
    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        with _translated():
            self._writer = connect(path)
            self._reader = connect(path, readonly=True)
        self._file = path.stat()
        self._turn = asyncio.Lock()
        self._shared: _SharedCommit | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._slow = SlowReads(lambda: connect(path, readonly=True))

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        with _translated():
            row: Row | None = self._reader.execute(*statement.for_sqlite(params)).fetchone()
        return row

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        with _translated():
            rows: Sequence[Row] = self._reader.execute(*statement.for_sqlite(params)).fetchall()
        return rows

    async def slow(self, statement: Statement, **params: Any) -> Sequence[Row]:
        with _translated():
            rows: Sequence[Row] = await self._slow.all(*statement.for_sqlite(params))
        return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        async with self._turn:
            if self._shared is None:
                await self._begin()
                self._shared = _SharedCommit()
            shared, transaction = self._shared, _SqliteTransaction(self._writer, self._thread)
            self._writer.execute("SAVEPOINT one")
            try:
                yield transaction
                await transaction.catch_up()
                self._writer.execute("RELEASE one")
            except BaseException:
                self._undo(shared)
                raise
            shared.transactions.append(transaction)
        await to_its_end(self._settle(shared, transaction))

    def _undo(self, shared: "_SharedCommit") -> None:
        """What one of them did: an exception, a cancelled request. The others before it are not touched."""
        if shared.transactions and self._writer.in_transaction:
            self._writer.execute("ROLLBACK TO one")
            self._writer.execute("RELEASE one")
            return
        self._shared = None
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")
        else:
            # After some errors (a full disk) SQLite undoes everything by itself.
            shared.done.set_result(Unavailable("the database failed in a transaction that shared the commit"))

    async def _settle(self, shared: "_SharedCommit", transaction: Transaction) -> None:
        """Returns when it is durable. The first sees to it, after all who waited for their turn then."""
        if shared.transactions[0] is transaction:
            async with self._turn:
                if self._shared is shared:
                    await self._commit(shared)
        if (failure := await shared.done) is not None:
            raise type(failure)(str(failure)) from failure
        transaction.committed()

    async def _commit(self, shared: "_SharedCommit") -> None:
        self._shared = None
        try:
            with _translated():
                await asyncio.get_running_loop().run_in_executor(self._thread, self._writer.execute, "COMMIT")
        except StorageError as error:
            shared.done.set_result(error)
        else:
            shared.done.set_result(None)
        finally:
            # A COMMIT that was refused (by a full disk) leaves nothing.
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")

    async def _begin(self) -> None:
        for delay in delays():
            try:
                with _translated():
                    self._writer.execute("BEGIN IMMEDIATE")
            except Busy:
                await asyncio.sleep(delay)
            else:
                return
        raise Busy("the database is locked by another process")

    async def ping(self) -> None:
        try:
            # A file that was deleted or replaced still answers us, but nobody will find again what we write.
            in_place = os.path.samestat(self._file, self.path.stat())
        except OSError:
            in_place = False
        if not in_place:
            raise Unavailable(f"{self.path} is not the file that was opened: it was removed or replaced")
        with _translated():
            self._reader.execute("SELECT count(*) FROM sqlite_master").fetchone()

    async def close(self) -> None:
        async with self._turn:
            if self._shared is not None:
                await self._commit(self._shared)
            self._slow.close()
            self._thread.shutdown()
            self._reader.close()
            self._writer.close()


class _SharedCommit:
    """Of the transactions that came one after the other while each had to wait for its turn."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self.done: asyncio.Future[StorageError | None] = asyncio.get_running_loop().create_future()


class _SqliteTransaction(Transaction):
    dialect = "sqlite"

    def __init__(self, connection: sqlite3.Connection, thread: ThreadPoolExecutor) -> None:
        super().__init__()
        self._execute: Callable[..., sqlite3.Cursor] = connection.execute
        self._executemany = connection.executemany
        self._thread = thread
        self._put_off: list[tuple[str, dict[str, Any]]] = []
        """Many rows each, for the thread: written before anything else is asked, or at the end."""

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        # All rows are fetched: an INSERT … RETURNING is only complete when its cursor is exhausted.
        rows = await self.all(statement, **params)
        return rows[0] if rows else None

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        await self.catch_up()
        with _translated():
            rows: Sequence[Row] = self._execute(*statement.for_sqlite(params)).fetchall()
        return rows

    async def run(self, statement: Statement, **params: Any) -> int:
        await self.catch_up()
        with _translated():
            return self._execute(*statement.for_sqlite(params)).rowcount

    async def run_many(self, statement: Statement, rows: Sequence[dict[str, Any]]) -> None:
        """Of many rows, what is wrong with them shows at the next statement, or at the end of the transaction."""
        if not rows:
            return
        if len(rows) >= _MANY or self._put_off:
            rows = await self._put_off_all(statement, rows)
            if not rows:
                return
            await self.catch_up()
        with _translated():
            text = statement.for_sqlite(rows[0])[0]
            self._executemany(text, [statement.for_sqlite(row)[1] for row in rows])

    async def _put_off_all(self, statement: Statement, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """What is left is to be written one by one. In slices, small ones of large rows: others wait meanwhile."""
        count = _MANY
        while rows and (many := _many(statement, rows[:count])) is not None:
            self._put_off.append(many)
            rows = rows[count:]
            if rows:
                fitting = count * _MOST_AT_ONCE // len(many[1]["rows"])
                count = max(1, min(fitting, count * 4, _MOST_ROWS))
                await asyncio.sleep(0)
        return rows

    async def run_text(self, text: str, *params: Any) -> None:
        await self.catch_up()
        with _translated():
            self._execute(text, params).fetchall()

    async def catch_up(self) -> None:
        if self._put_off:
            # The connection is the thread's until it is done, whoever still waits for it.
            await to_its_end(self._run_put_off())

    async def _run_put_off(self) -> None:
        put_off, self._put_off = self._put_off, []
        with _translated():
            await asyncio.get_running_loop().run_in_executor(self._thread, self._run_all, put_off)

    def _run_all(self, put_off: Sequence[tuple[str, dict[str, Any]]]) -> None:
        for text, params in put_off:
            self._execute(text, params)


def _many(statement: Statement, rows: Sequence[dict[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """One statement that writes them all: SQLite does it without the interpreter, so that others compute meanwhile."""
    bulk, constants = statement.bulk_for_sqlite()
    values = bulk.values_of(rows) if bulk is not None else None
    if bulk is None or values is None:
        return None
    text = msgspec.json.encode(values).decode()
    # SQLite's JSON ends a text at a NUL.
    return None if "\\u0000" in text else (bulk.text, constants | {"rows": text})


@contextmanager
def _translated() -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.IntegrityError as error:
        if error.sqlite_errorname in {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}:
            raise Duplicate(str(error)) from error
        raise Refused(str(error)) from error
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_INTERRUPT", "SQLITE_PROTOCOL")):
            raise Busy(str(error)) from error
        if error.sqlite_errorname.startswith(_BROKEN):
            raise Unavailable(str(error)) from error
        raise StorageError(str(error)) from error
    except sqlite3.DataError as error:
        raise Refused(str(error)) from error
    except sqlite3.DatabaseError as error:
        raise StorageError(str(error)) from error
