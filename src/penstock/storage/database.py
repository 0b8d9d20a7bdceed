"""What the rest of the house knows of a database: a quick read, a transaction, and how they can fail."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Protocol

from penstock.storage.statement import Statement


class StorageError(Exception):
    """
    StorageError
    ├── Busy          locked by someone else for longer than we wait
    ├── Unavailable   unreachable, full or broken
    ├── Refused       it can never be stored as it is: what it refers to is gone, or a value does not fit
    └── Duplicate     a unique value exists already
    """


class Busy(StorageError):
    """The database stayed locked, through every retry."""


class Unavailable(StorageError):
    """The database cannot be reached, or cannot write (a full disk)."""


def no_connection(reason: BaseException) -> Unavailable:
    """Nobody answers where the address leads, or somebody does and refuses."""
    if isinstance(reason, OSError):
        why = str(reason) or "no answer in time"
        return Unavailable(f"PostgreSQL cannot be reached ({why}): is it running where the setting `database` says?")
    return Unavailable(f"PostgreSQL does not let us in: {reason}")


class Refused(StorageError):
    """The database will not take it, however often it is asked."""


class Duplicate(StorageError):
    """A value that must be unique exists already. The message names the constraint or column."""


class Row(Protocol):
    """A row: by position, by column name, or unpacked. `sqlite3.Row` and `asyncpg.Record` both are."""

    def __getitem__(self, key: Any, /) -> Any: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...


class Reader(ABC):
    """Anything that statements can be run on."""

    @abstractmethod
    async def one(self, statement: Statement, **params: Any) -> Row | None:
        """The first row, or None."""

    @abstractmethod
    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        """Every row."""


class Transaction(Reader):
    """Everything in it happens, or nothing. Hooks get one too, to join what they record."""

    dialect: str

    def __init__(self) -> None:
        self._after_commit: list[Callable[[], None]] = []

    @abstractmethod
    async def run(self, statement: Statement, **params: Any) -> int:
        """Run a write; the number of rows that it touched."""

    async def run_many(self, statement: Statement, rows: Sequence[dict[str, Any]]) -> None:
        """Run a write once for each of these parameters, in their order; far cheaper than one by one."""
        names = statement.names
        await self.run_rows(statement, [tuple([row[name] for name in names]) for row in rows])

    @abstractmethod
    async def run_rows(self, statement: Statement, rows: Sequence[tuple[Any, ...]]) -> None:
        """The same, with the parameters in the order of the statement's names."""

    @asynccontextmanager
    async def part(self) -> AsyncIterator[None]:
        """A block that is undone when it raises, and nothing else of the transaction with it."""
        kept = len(self._after_commit)
        await self.run_text("SAVEPOINT part")
        try:
            yield
            await self.run_text("RELEASE SAVEPOINT part")
        except BaseException:
            del self._after_commit[kept:]
            await self._undo_part()
            raise

    async def _undo_part(self) -> None:
        # What is lost altogether (a connection, a full disk) has been undone already; what the caller needs to hear is
        # why it came to this.
        with suppress(StorageError):
            await self.run_text("ROLLBACK TO SAVEPOINT part")
            await self.run_text("RELEASE SAVEPOINT part")

    @abstractmethod
    async def run_text(self, text: str, *params: Any) -> None:
        """Run SQL of the deployment's own (for hooks), in the database's own dialect and parameter style."""

    def after_commit(self, call: Callable[[], None]) -> None:
        """Call when, and only when, this transaction is durable."""
        self._after_commit.append(call)

    def committed(self) -> None:
        for call in self._after_commit:
            call()


class Database(Reader):
    """One database. `one` and `all` read what is committed; writes need a transaction."""

    dialect: str

    async def slow(self, statement: Statement, **params: Any) -> Sequence[Row]:
        """Every row of a read that may take long (a search, a count): nobody else waits for it meanwhile."""
        return await self.all(statement, **params)

    @abstractmethod
    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        """Begin; commit at the end of the block; roll back when it raises."""

    @abstractmethod
    async def ping(self) -> None:
        """Raise `Unavailable` unless the database answers."""

    @abstractmethod
    async def close(self) -> None: ...


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Wait until `work` is done, even when cancelled meanwhile, however often; the cancellation follows then.

    A COMMIT that was sent happens or not, whoever still waits for it; the connection is nobody else's before.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        task.exception()
        raise cancelled
    task.result()


def now() -> int:
    """Microseconds since 1970, UTC: how every time is stored."""
    return time.time_ns() // 1000
