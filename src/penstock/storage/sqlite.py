"""SQLite: one writing connection, one reading connection, both used from the event loop.

A read or write by key takes microseconds, a hop to a thread takes a hundred, so statements run inline. What may take
long leaves the loop, for a thread: many rows at once, and the fsync of COMMIT; and waiting for another process's lock
is slept through, with back-off.

Whoever has to wait for their turn to write shares the next COMMIT: its fsync is most of what a small write costs.
"""

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from penstock.storage.backoff import delays
from penstock.storage.bulk import Values, about_different_rows
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
_LENGTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_Filled = tuple[str, list[Any]]
"""A statement and its parameters."""
_LOCKED = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_INTERRUPT", "SQLITE_PROTOCOL")
_BROKEN = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_CORRUPT", "SQLITE_NOTADB")
# Python takes None as a parameter only after it has looked in vain for somebody who makes something of it: five times
# as long as for a number. A function of C's: one of Python's would let go of the interpreter in between, each time.
sqlite3.register_adapter(type(None), dict[None, int]().get)


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
        with _translated:
            self._writer = connect(path)
            self._reader = connect(path, readonly=True)
        self._file = path.stat()
        self._turn = asyncio.Lock()
        self._queued = 0  # transactions that wait for their turn
        self._shared: _SharedCommit | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite-writer")
        self._slow = SlowReads(lambda: connect(path, readonly=True))

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        with _translated:
            row: Row | None = self._reader.execute(*statement.for_sqlite(params)).fetchone()
        return row

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        with _translated:
            rows: Sequence[Row] = self._reader.execute(*statement.for_sqlite(params)).fetchall()
        return rows

    async def slow(self, statement: Statement, **params: Any) -> Sequence[Row]:
        with _translated:
            rows: Sequence[Row] = await self._slow.all(*statement.for_sqlite(params))
        return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        async with self._in_turn():
            if self._shared is None:
                await self._begin()
                self._shared = _SharedCommit()
            shared, transaction = self._shared, _SqliteTransaction(self._writer, self._thread)
            # The first is undone with all of it. SQLite copies each page that a savepoint could give back.
            is_first = not shared.transactions
            if not is_first:
                self._writer.execute("SAVEPOINT one")
            try:
                yield transaction
                if transaction.is_long and is_first and not self._queued:
                    await to_its_end(self._finish(transaction))
                    return
                await transaction.catch_up()
                if not is_first:
                    self._writer.execute("RELEASE one")
            except BaseException:
                self._undo(shared)
                raise
            shared.transactions.append(transaction)
        await to_its_end(self._settle(shared, transaction))

    @asynccontextmanager
    async def _in_turn(self) -> AsyncIterator[None]:
        self._queued += 1
        try:
            await self._turn.acquire()
        finally:
            self._queued -= 1
        try:
            yield
        finally:
            self._turn.release()

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

    async def _finish(self, transaction: "_SqliteTransaction") -> None:
        """What is left of it and its COMMIT, which nobody shares, in one go: a busy loop is long in coming back."""
        transaction.put_off("COMMIT")
        await transaction.catch_up()
        self._shared = None
        transaction.committed()

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
            with _translated:
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
                with _translated:
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
        with _translated:
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
        self._put_off: list[Iterable[_Filled]] = []
        """Many rows each, for the thread: written before anything else is asked, or at the end."""

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        # All rows are fetched: an INSERT … RETURNING is only complete when its cursor is exhausted.
        rows = await self.all(statement, **params)
        return rows[0] if rows else None

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        await self.catch_up()
        with _translated:
            rows: Sequence[Row] = self._execute(*statement.for_sqlite(params)).fetchall()
        return rows

    async def run(self, statement: Statement, **params: Any) -> int:
        await self.catch_up()
        with _translated:
            return self._execute(*statement.for_sqlite(params)).rowcount

    async def run_rows(self, statement: Statement, rows: Sequence[tuple[Any, ...]]) -> None:
        """Of many rows, what is wrong with them shows at the next statement, or at the end of the transaction."""
        if not rows:
            return
        many = statement.bulk_for_sqlite()
        if many is None:
            names = statement.names
            given = [statement.for_sqlite(dict(zip(names, row, strict=True))) for row in rows]
            await self.catch_up()
            with _translated:
                self._executemany(given[0][0], [params for _, params in given])
        elif not about_different_rows(rows, statement.names, many.key):
            await self.catch_up()
            with _translated:
                self._executemany(many.text(1), rows)
        elif self.is_long or len(rows) >= _MANY:
            self._put_off.append(_sliced(many, rows))
        else:
            with _translated:
                self._run_all([_sliced(many, rows)])

    async def run_text(self, text: str, *params: Any) -> None:
        await self.catch_up()
        with _translated:
            self._execute(text, params).fetchall()

    async def _undo_part(self) -> None:
        self._put_off.clear()
        await super()._undo_part()

    @property
    def is_long(self) -> bool:
        """The thread has something to do for it."""
        return bool(self._put_off)

    def put_off(self, text: str) -> None:
        self._put_off.append([(text, [])])

    async def catch_up(self) -> None:
        if self._put_off:
            # The connection is the thread's until it is done, whoever still waits for it.
            await to_its_end(self._run_put_off())

    async def _run_put_off(self) -> None:
        put_off, self._put_off = self._put_off, []
        with _translated:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._run_all, put_off)

    def _run_all(self, put_off: Sequence[Iterable[_Filled]]) -> None:
        """Statements are put together here: the first one runs while the loop has gone on."""
        for text, params in chain.from_iterable(put_off):
            self._execute(text, params)


def _sliced(many: Values, rows: Sequence[tuple[Any, ...]]) -> Iterator[_Filled]:
    """Statements that write them all, as few as can be: SQLite runs each without the interpreter, so that others
    compute meanwhile. Of a few lengths only, so that each is prepared once; rows of nothing fill the last one up."""
    for begin in range(0, len(rows), _LENGTHS[-1]):
        part = rows[begin : begin + _LENGTHS[-1]]
        length = next(each for each in _LENGTHS if each >= len(part))
        params: list[Any] = []
        for row in part:
            params += row
        params += many.blank * (length - len(part))
        yield _text(many, length), params


@lru_cache(maxsize=1_000)
def _text(many: Values, count: int) -> str:
    """The same object each time: SQLite's statement is found by it, and it is long."""
    return many.text(count)


class _Translation:
    """SQLite's errors as ours. An object, and not a generator: it stands around every statement."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, sqlite3.DatabaseError):
            raise _ours(error) from error


_translated = _Translation()


def _ours(error: sqlite3.DatabaseError) -> StorageError:
    name = getattr(error, "sqlite_errorname", "")  # the module's own errors have none
    match error:
        case sqlite3.IntegrityError():
            unique = name in {"SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"}
            return (Duplicate if unique else Refused)(str(error))
        case sqlite3.OperationalError() if name.startswith(_LOCKED):
            return Busy(str(error))
        case sqlite3.OperationalError() if name.startswith(_BROKEN):
            return Unavailable(str(error))
        case sqlite3.DataError():
            return Refused(str(error))
        case _:
            return StorageError(str(error))
