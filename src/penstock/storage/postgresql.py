"""PostgreSQL through asyncpg: a pool of connections, statements prepared once on each."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg

from penstock.storage.backoff import delays
from penstock.storage.bulk import about_different_rows
from penstock.storage.database import (
    Busy,
    Database,
    Duplicate,
    Refused,
    Row,
    StorageError,
    Transaction,
    Unavailable,
    no_connection,
    to_its_end,
)
from penstock.storage.statement import Statement

# A request must not wait for ever behind someone else's lock or a runaway query.
_SERVER_SETTINGS = {"lock_timeout": "10000", "statement_timeout": "30000", "application_name": "penstock"}
_MANY = 8  # rows
_PATIENCE = 10.0  # seconds to wait for a connection, new or given back
_PERSISTENCE = 3.0  # seconds in which one that was lost or refused is asked for again
_OUT_OF_REACH = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    # What the driver says when the end of a connection and our next statement cross each other.
    asyncpg.InternalClientError,
)


# A reference to what is gone, a value that does not fit, a statement that it does not know.
_REFUSED = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.DataError,
    asyncpg.SyntaxOrAccessError,
    asyncpg.ProgramLimitExceededError,
)


class _Lost(Unavailable):
    """The connection ended under a statement."""


class PostgresqlDatabase(Database):
    dialect = "postgresql"

    def __init__(self, pool: Any, url: str = "") -> None:
        self._pool = pool
        self._url = url

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
            raise no_connection(error) from error
        return cls(pool, url)

    async def one(self, statement: Statement, **params: Any) -> Row | None:
        text, values = statement.for_postgresql(params)
        row: Row | None = await self._read("fetchrow", text, values)
        return row

    async def all(self, statement: Statement, **params: Any) -> Sequence[Row]:
        text, values = statement.for_postgresql(params)
        rows: Sequence[Row] = await self._read("fetch", text, values)
        return rows

    async def _read(self, method: str, text: str, values: Sequence[Any] = ()) -> Any:
        """That a connection was lost while it lay idle shows when it is used; a read can be asked again."""
        for delay in delays(total=_PERSISTENCE):
            connection = await self._acquire()
            try:
                async with _translated():
                    return await getattr(connection, method)(text, *values)
            except _Lost:
                await asyncio.sleep(delay)
            finally:
                await to_its_end(self._give_back(connection))
        raise Unavailable("PostgreSQL ends every connection")

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        connection = await self._begin()
        try:
            transaction = _PostgresqlTransaction(connection)
            try:
                yield transaction
            except BaseException:
                await to_its_end(_roll_back(connection))
                raise
            await to_its_end(_commit(connection, transaction))
        finally:
            await to_its_end(self._give_back(connection))

    async def _begin(self) -> Any:
        """A connection in a new transaction. One that was lost while it lay idle is replaced: nothing was done yet."""
        for delay in delays(total=_PERSISTENCE):
            connection = await self._acquire()
            try:
                async with _translated():
                    await connection.execute("BEGIN")
            except BaseException as error:
                await to_its_end(self._abandon(connection))
                if not isinstance(error, _Lost):
                    raise
                await asyncio.sleep(delay)
            else:
                return connection
        raise Unavailable("PostgreSQL ends every connection")

    async def _abandon(self, connection: Any) -> None:
        await _roll_back(connection)
        await self._give_back(connection)

    async def _give_back(self, connection: Any) -> None:
        # One that is still in a transaction is rolled back by the pool, one that cannot be is discarded.
        with suppress(*_OUT_OF_REACH, asyncpg.PostgresError):
            await self._pool.release(connection)

    async def _acquire(self) -> Any:
        reason: Exception | None = None
        for delay in delays(total=_PERSISTENCE):
            try:
                return await self._pool.acquire(timeout=_PATIENCE)
            except TimeoutError as error:
                raise Busy("every connection to PostgreSQL is in use") from error
            except (*_OUT_OF_REACH, asyncpg.PostgresError) as error:
                reason = error
                await asyncio.sleep(delay)
        assert reason is not None  # noqa: S101 - there was at least one attempt
        raise no_connection(reason) from reason

    async def listen(self, channel: str, heard: Callable[[str], None]) -> Any:
        """A connection of its own that hands every NOTIFY of the channel to `heard`; the caller closes it."""
        async with _translated():
            connection = await asyncpg.connect(self._url, server_settings=_SERVER_SETTINGS, timeout=_PATIENCE)
            try:
                await connection.add_listener(channel, lambda _, __, ___, payload: heard(str(payload)))
            except BaseException:
                connection.terminate()
                raise
        return connection

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(5):
                await self._read("fetchval", "SELECT 1")
        except TimeoutError as error:
            raise Unavailable("PostgreSQL does not answer") from error

    async def close(self) -> None:
        try:
            await asyncio.wait_for(self._pool.close(), 10)
        except TimeoutError:
            self._pool.terminate()


async def _commit(connection: Any, transaction: Transaction) -> None:
    async with _translated():
        outcome = await connection.execute("COMMIT")
    if outcome != "COMMIT":
        # After a statement that failed, PostgreSQL answers a COMMIT by rolling back, without an error.
        raise StorageError("a statement of the transaction failed, so nothing of it was kept")
    transaction.committed()


async def _roll_back(connection: Any) -> None:
    # A lost connection has rolled back by itself; what the caller needs to hear is why it came to this.
    with suppress(*_OUT_OF_REACH, asyncpg.PostgresError):
        await connection.execute("ROLLBACK")


class _PostgresqlTransaction(Transaction):
    dialect = "postgresql"

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

    async def run_rows(self, statement: Statement, rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        many = _many(statement, rows) if len(rows) >= _MANY else None
        async with _translated():
            if many is not None:
                await self._connection.execute(many[0], *many[1])
            else:
                names = statement.names
                given = [statement.for_postgresql(dict(zip(names, row, strict=True))) for row in rows]
                await self._connection.executemany(given[0][0], [values for _, values in given])

    async def run_text(self, text: str, *params: Any) -> None:
        async with _translated():
            await self._connection.execute(text, *params)


def _many(statement: Statement, rows: Sequence[tuple[Any, ...]]) -> tuple[str, list[Sequence[Any]]] | None:
    """One statement that writes them all, and its columns: planned and run once, and not for each row."""
    bulk, constants = statement.bulk_for_postgresql()
    if bulk is None or not about_different_rows(rows, statement.names, bulk.key):
        return None
    columns: dict[str, Sequence[Any]] = dict(zip(statement.names, zip(*rows, strict=True), strict=True))
    return bulk.text, [columns.get(name) or [constants[name]] * len(rows) for name in bulk.names]


async def _prepare(connection: Any) -> None:
    """UUIDs are text everywhere in this house, as SQLite keeps them."""
    await connection.set_type_codec("uuid", encoder=str, decoder=str, schema="pg_catalog", format="text")


async def _nothing_to_reset(connection: Any) -> None:
    """We leave no session state behind, so giving a connection back needs no round trip to clear it."""


@asynccontextmanager
async def _translated() -> AsyncIterator[None]:
    """PostgreSQL's errors as ours.

    Without the driver's own error behind them: its text shows the failing row, password hash and all, to the log.
    """
    try:
        yield
    except asyncpg.UniqueViolationError as error:
        raise Duplicate(error.constraint_name or _reason(error)) from None
    except (
        asyncpg.LockNotAvailableError,
        asyncpg.TransactionRollbackError,
        asyncpg.QueryCanceledError,
    ) as error:
        raise Busy(_reason(error)) from None
    except _OUT_OF_REACH as error:
        raise _Lost(str(error) or type(error).__name__) from error
    except asyncpg.IdleInTransactionSessionTimeoutError as error:
        raise _Lost(_reason(error)) from error
    except (
        asyncpg.InsufficientResourcesError,
        asyncpg.OperatorInterventionError,
        asyncpg.PostgresSystemError,
        asyncpg.ReadOnlySQLTransactionError,  # after a failover, until it is the one that writes
    ) as error:
        raise Unavailable(_reason(error)) from error
    except _REFUSED as error:
        raise Refused(_reason(error)) from None
    except asyncpg.PostgresError as error:
        raise StorageError(_reason(error)) from None


def _reason(error: asyncpg.PostgresError) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
