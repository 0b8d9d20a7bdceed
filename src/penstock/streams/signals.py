"""News from other processes: PostgreSQL notifies us; an SQLite file is looked at while somebody listens."""

import asyncio
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import structlog

from penstock.ids import this_process
from penstock.storage import Database, StorageError
from penstock.storage.backoff import delays
from penstock.storage.postgresql import PostgresqlDatabase
from penstock.streams import journal
from penstock.streams.reading import HIGHEST, WRITTEN_TO

if TYPE_CHECKING:
    from penstock.streams.hub import Hub

log = structlog.get_logger()
_LOOK_EVERY = 0.2


class Signals:
    def __init__(self, database: Database, hub: "Hub") -> None:
        self._database = database
        self._hub = hub
        self._watch: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._seen: dict[str, int] = {}

    @property
    def tasks(self) -> int:
        """The connection that listens is kept; it is one, whoever comes and goes."""
        return int(self._watch is not None)

    def want(self) -> None:
        """Somebody listens from now on."""
        if self._watch is None:
            self._watch = asyncio.create_task(self._look())
        if self._listening is None and isinstance(self._database, PostgresqlDatabase):
            self._listening = asyncio.create_task(self._listen(self._database))

    def rest(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._seen.clear()

    async def close(self) -> None:
        self.rest()
        if self._listening is not None:
            self._listening.cancel()
            with suppress(asyncio.CancelledError):
                await self._listening
            self._listening = None

    async def _look(self) -> None:
        while True:
            if _server_is_stopping():
                self._hub.end_all("the server shuts down")
            if self._database.dialect == "sqlite":
                with suppress(StorageError):
                    await self._look_for_entries()
            await asyncio.sleep(_LOOK_EVERY)

    async def _look_for_entries(self) -> None:
        """The highest id costs microseconds; only when another process (or we) wrote is there more to ask."""
        for kind in self._hub.kinds():
            row = await self._database.one(HIGHEST[kind])
            highest = int(row[0] or 0) if row is not None else 0
            seen = self._seen.get(kind)
            self._seen[kind] = highest
            if seen is None:
                self._hub.wake(None)
            elif highest > seen:
                self._hub.wake([row[0] for row in await self._database.all(WRITTEN_TO[kind], after=seen)])

    async def _listen(self, database: PostgresqlDatabase) -> None:
        """One connection for this process; when it is lost, another, and then a look at everything."""
        while True:
            for delay in delays(first=0.1, most=5.0, total=float("inf")):
                lost = asyncio.Event()
                try:
                    connection = await database.listen(journal.CHANNEL, self._heard)
                except StorageError as error:
                    log.warning("no news from other processes until PostgreSQL is back", error=str(error))
                    await asyncio.sleep(delay)
                    continue
                try:
                    connection.add_termination_listener(lambda _, lost=lost: lost.set())
                    self._hub.wake(None)
                    await lost.wait()
                finally:
                    connection.terminate()
                break

    def _heard(self, payload: str) -> None:
        sender, *workflow_ids = payload.split()
        # What this process wrote, it has been told of already, and sooner.
        if sender != this_process():
            self._hub.wake(workflow_ids or None)


def _server_is_stopping() -> bool:
    """uvicorn waits for open answers before it tells the application that it shuts down; a stream is never done.

    So its own flag is read, where it can be found: its handler of SIGTERM is a method of the server.
    """
    handler: Any = signal.getsignal(signal.SIGTERM)
    return bool(getattr(getattr(handler, "__self__", None), "should_exit", False))
