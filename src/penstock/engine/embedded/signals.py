"""How servers on one database tell the engine that there is something to do.

PostgreSQL notifies; a file of SQLite is looked at by the engine every second, which is enough for the rare second
server on it.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from penstock.storage import Database, StorageError
from penstock.storage.backoff import delays
from penstock.storage.postgresql import PostgresqlDatabase

log = structlog.get_logger()
_CHANNEL = "penstock_engine"


class Signals:
    def __init__(self, database: Database, heard: Callable[[], None]) -> None:
        self._database = database
        self._heard = heard
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if isinstance(self._database, PostgresqlDatabase):
            self._task = asyncio.create_task(self._listen(self._database))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def send(self) -> None:
        if isinstance(self._database, PostgresqlDatabase):
            async with self._database.transaction() as tx:
                await tx.run_text("SELECT pg_notify($1, '')", _CHANNEL)

    async def _listen(self, database: PostgresqlDatabase) -> None:
        while True:
            for delay in delays(first=0.1, most=5.0, total=float("inf")):
                lost = asyncio.Event()
                try:
                    connection = await database.listen(_CHANNEL, lambda _: self._heard())
                except StorageError as error:
                    log.warning("the engine hears nothing until PostgreSQL is back", error=str(error))
                    await asyncio.sleep(delay)
                    continue
                try:
                    connection.add_termination_listener(lambda _, lost=lost: lost.set())
                    self._heard()
                    await lost.wait()
                finally:
                    connection.terminate()
                break
