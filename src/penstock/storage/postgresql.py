"""PostgreSQL through asyncpg: a pool of connections, statements prepared once on each."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from penstock.storage.backoff import delays
from penstock.storage.database import Busy, Database, Duplicate, Row, StorageError, Transaction, Unavailable
from penstock.storage.statement import Statement

# A request must not wait for ever behind someone else's lock or a runaway query.
_SERVER_SETTINGS = {"lock_timeout": "10000", "statement_timeout": "30000", "application_name": "penstock"}
_OUT_OF_REACH = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)


class PostgresqlDatabase(Database):
    dialect = "postgresql"

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, url: str, *, most: int) -> "PostgresqlDatabase":
        try:
            pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=most,
                init=_prepare,
                reset=_nothing_to_reset,
                server_settings=_SERVER_SETTINGS,
                timeout=10,
            )
        except (*_OUT_OF_REACH, asyncpg.PostgresError) as error:
            raise Unavailable(f"PostgreSQL does not let us in: {error}") from error
        return cls(pool)

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        text, values = statement.for_postgresql(params)
        async with self._connection() as connection, _translated():
            row: Row | None = await connection.fetchrow(text, *values)
        return row

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        text, values = statement.for_postgresql(params)
        async with self._connection() as connection, _translated():
            rows: Sequence[Row] = await connection.fetch(text, *values)
        return rows

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        async with self._connection() as connection:
            async with _translated():
                block = connection.transaction()
                await block.start()
            transaction = _PostgresqlTransaction(connection)
            try:
                yield transaction
            except BaseException:
                # A lost connection has rolled back by itself; the pool discards it.
                if not connection.is_closed():
                    await asyncio.shield(block.rollback())
                raise
            async with _translated():
                await block.commit()
        transaction.committed()

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """A connection from the pool; out of reach, it is tried again for as long as a request can wait."""
        async with _translated():
            connection = await self._acquire()
        try:
            yield connection
        finally:
            await asyncio.shield(self._pool.release(connection))

    async def _acquire(self) -> Any:
        for delay in delays(total=3.0):
            try:
                return await self._pool.acquire(timeout=10)
            except _OUT_OF_REACH as error:
                if isinstance(error, TimeoutError):
                    raise Busy("every connection to PostgreSQL is in use") from error
                await asyncio.sleep(delay)
        return await self._pool.acquire(timeout=10)

    async def ping(self) -> None:
        async with self._connection() as connection, _translated():
            await connection.fetchval("SELECT 1", timeout=5)

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._pool.close(), 10)
        except TimeoutError:
            self._pool.terminate()


class _PostgresqlTransaction(Transaction):
    def __init__(self, connection: Any) -> None:
        super().__init__()
        self._connection = connection

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        text, values = statement.for_postgresql(params)
        async with _translated():
            row: Row | None = await self._connection.fetchrow(text, *values)
        return row

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        text, values = statement.for_postgresql(params)
        async with _translated():
            rows: Sequence[Row] = await self._connection.fetch(text, *values)
        return rows

    async def run(self, statement: Statement, **params: Any) -> int:
        text, values = statement.for_postgresql(params)
        async with _translated():
            status: str = await self._connection.execute(text, *values)
        return int(status.rpartition(" ")[2])

    async def run_text(self, text: str, *params: Any) -> None:
        async with _translated():
            await self._connection.execute(text, *params)


async def _prepare(connection: Any) -> None:
    """UUIDs are text everywhere in this house, as SQLite keeps them."""
    await connection.set_type_codec("uuid", encoder=str, decoder=str, schema="pg_catalog", format="text")


async def _nothing_to_reset(connection: Any) -> None:
    """We leave no session state behind, so giving a connection back needs no round trip to clear it."""


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    """PostgreSQL's errors as ours."""
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise Duplicate(error.constraint_name or str(error)) from error
    except (
        asyncpg.LockNotAvailableError,
        asyncpg.DeadlockDetectedError,
        asyncpg.QueryCanceledError,
    ) as error:
        raise Busy(str(error)) from error
    except (*_OUT_OF_REACH, asyncpg.InsufficientResourcesError) as error:
        raise Unavailable(str(error) or type(error).__name__) from error
    except asyncpg.PostgresError as error:
        raise StorageError(str(error)) from error
