"""Reading for executions: while the database does not answer, they wait. They cannot fail because of it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

import structlog

from penstock.storage import Busy, Database, Row, Statement, Transaction, Unavailable
from penstock.storage.backoff import delays

log = structlog.get_logger()
T = TypeVar("T")


async def patiently(read: Callable[[], Awaitable[T]]) -> T:
    """What it reads, when the database answers."""
    for delay in delays(first=0.05, most=2.0, total=float("inf")):
        try:
            return await read()
        except (Busy, Unavailable) as error:
            log.warning("executions wait for the database", error=str(error))
            await asyncio.sleep(delay)
    raise AssertionError("time without end has ended")


class PatientDatabase(Database):
    """The database, as executions see it. Transactions are for those who have their own patience."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.dialect = database.dialect

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        return await patiently(lambda: self._database.one(statement, **params))

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        return await patiently(lambda: self._database.all(statement, **params))

    async def slow(self, statement: Statement, **params: Any) -> Sequence[Row]:
        return await patiently(lambda: self._database.slow(statement, **params))

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._database.transaction()

    async def ping(self) -> None:
        await self._database.ping()

    async def close(self) -> None:
        await self._database.close()
