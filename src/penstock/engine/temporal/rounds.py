"""What each worker looks after besides executions: schedules for which nobody rang, events that nobody has offered,
places that nobody has given away. Whoever should have done it has died, or Temporal was away."""

import asyncio
import time

import structlog

from penstock.engine.temporal.errand import EVENTS, SCHEDULE
from penstock.engine.temporal.places import Places
from penstock.engine.temporal.reach import Reach
from penstock.engine.temporal.schedules import Schedules
from penstock.engine.temporal.triggers import waiting
from penstock.storage import Database, StorageError, now

log = structlog.get_logger()
_LOOK_EVERY = 1.0
_REST = 4  # times as long as a look took
_LOOK_FOR_LOST_EVERY = 30  # looks
_SOON = 1_000_000
_AGAIN_AFTER = 10.0


class Rounds:
    def __init__(self, database: Database, reach: Reach, schedules: Schedules, places: Places) -> None:
        self._database = database
        self._reach = reach
        self._schedules = schedules
        self._places = places
        self._sent: dict[tuple[str, str], float] = {}

    async def run(self) -> None:
        looks = 0
        while True:
            began = time.monotonic()
            try:
                if self._reach.trouble is None:
                    await self._look()
                    if looks % _LOOK_FOR_LOST_EVERY == 0:
                        await self._schedules.make_good()
                    looks += 1
            except StorageError as error:
                log.warning("what starts by itself waits for the database", error=str(error))
            # A hundred thousand may wait: whoever looks through them leaves the database to others for a while.
            await asyncio.sleep(max(_LOOK_EVERY, _REST * (time.monotonic() - began)))

    async def _look(self) -> None:
        before = now() - _SOON
        for kind, found in (
            (SCHEDULE, await self._schedules.late()),
            (EVENTS, await waiting(self._database, before)),
        ):
            for of in found:
                if self._may_send(kind, of):
                    self._reach.errand_soon(kind, of)
        for execution_id in await self._places.look(before):
            if self._may_send("place", execution_id):
                self._reach.let_begin_soon([execution_id])

    def _may_send(self, kind: str, of: str) -> bool:
        """Not at every look: each is an event in a history, and whoever does not answer may only be busy."""
        at = time.monotonic()
        self._sent = {name: since for name, since in self._sent.items() if at - since < _AGAIN_AFTER}
        return self._sent.setdefault((kind, of), at) == at
