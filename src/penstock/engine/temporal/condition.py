"""Whether a worker can do its work, as its probes say."""

import asyncio
from contextlib import suppress

import structlog
from temporalio.client import Client
from temporalio.runtime import Runtime
from temporalio.service import RPCError

from penstock.engine.temporal import metrics
from penstock.engine.temporal.reach import Reach
from penstock.engine.temporal.standing import pollers
from penstock.storage import Database, StorageError

log = structlog.get_logger()
_LOOK_EVERY = 5.0
_SOON = 0.2


class Condition:
    def __init__(self, database: Database, stop: asyncio.Event, *, shown: bool = False) -> None:
        """`shown`: somebody may ask for metrics, so that Temporal's package is to count, too."""
        self._telemetry = metrics.Telemetry() if shown else None
        self._database = database
        self._stop = stop
        self._reach: Reach | None = None
        self._polls = False
        metrics.draining.set_function(lambda: float(stop.is_set()))
        metrics.temporal_up.set_function(lambda: float(self._reach is not None and self._reach.trouble is None))

    @property
    def runtime(self) -> Runtime | None:
        """For the client of the worker."""
        return None if self._telemetry is None else self._telemetry.runtime

    async def metrics(self) -> bytes:
        return b"" if self._telemetry is None else await self._telemetry.text()

    async def trouble(self) -> str | None:
        """Why it is not to be counted on, in words for everybody; None when it is."""
        if self._stop.is_set():
            return "the worker drains: it was told to stop"
        if self._reach is None or self._reach.trouble is not None:
            return "Temporal does not answer"
        if not self._polls:
            return "Temporal has not been asked for work yet"
        return None if await self._has_database() else "the database cannot be reached"

    async def watch(self, client: Client, task_queue: str, reach: Reach) -> None:
        """For as long as the worker works."""
        self._reach = reach
        while not self._polls:
            with suppress(RPCError, RuntimeError):
                self._polls = client.identity in await pollers(client, task_queue)
            await asyncio.sleep(_SOON)
        while True:
            await self._has_database()
            await asyncio.sleep(_LOOK_EVERY)

    async def _has_database(self) -> bool:
        try:
            await self._database.ping()
        except StorageError as error:
            log.warning("the database does not answer", error=str(error))
            metrics.database_up.set(0)
            return False
        metrics.database_up.set(1)
        return True
