"""Looks after what was stored and not sent: a process died in between, Temporal was away, or has lost it. Runs in every
process."""

import asyncio
import time

import structlog
from sqlalchemy import bindparam, func, select

from penstock.engine.embedded import statements
from penstock.engine.temporal.gone import Gone
from penstock.engine.temporal.reach import Reach
from penstock.storage import Database, Statement, StorageError, now
from penstock.storage.engine_tables import inbox, temporal_executions, temporal_listeners
from penstock.storage.platform_tables import executions

log = structlog.get_logger()
_LOOK_EVERY = 1.0
_REST = 4  # times as long as a look took
_SOON = 1_000_000  # microseconds in which whoever stored something sends it, too
_LOOK_FOR_LEFT_EVERY = 60  # looks
_NO_ID = "00000000-0000-0000-0000-000000000000"
_AGAIN_AFTER = 10.0
_PAGE = 200

_PENDING = Statement(
    select(executions.c.id, executions.c.created_at)
    .where(
        executions.c.status == "pending",
        executions.c.completed_at.is_(None),
        # An awaited child is started by its parent, whose history remembers it.
        executions.c.parent_id.is_(None),
        executions.c.created_at < bindparam("before"),
        executions.c.created_at >= bindparam("after"),
    )
    .order_by(executions.c.created_at, executions.c.id)
    .limit(_PAGE)
)
# Those that ran when the engine was another one: nothing of them was recorded by a worker.
_LEFT = Statement(
    select(executions.c.id)
    .outerjoin(temporal_executions, temporal_executions.c.execution_id == executions.c.id)
    .where(
        executions.c.status == "running",
        executions.c.completed_at.is_(None),
        temporal_executions.c.execution_id.is_(None),
        executions.c.id > bindparam("after"),
    )
    .order_by(executions.c.id)
    .limit(_PAGE)
)
_last = select(func.max(inbox.c.id)).where(inbox.c.project_id == temporal_listeners.c.project_id).scalar_subquery()
_BEHIND = Statement(
    select(temporal_listeners.c.execution_id).where(temporal_listeners.c.seen < _last).distinct().limit(_PAGE)
)


class Sweeper:
    def __init__(self, database: Database, reach: Reach) -> None:
        self._database = database
        self._reach = reach
        self._gone = Gone(database, reach)
        self._looks = 0
        self._sent: dict[tuple[str, str], float] = {}

    async def run(self) -> None:
        took = 0.0
        while True:
            # A hundred thousand may wait: whoever looks through them leaves the database to others for a while.
            await asyncio.sleep(max(_LOOK_EVERY, _REST * took))
            began = time.monotonic()
            try:
                await self._reach.check()
                if self._reach.trouble is None:
                    await self._start_pending()
                    if self._looks % _LOOK_FOR_LEFT_EVERY == 0:
                        await self._take_over()
                    self._looks += 1
                    await self._see_to_asked()
                    await self._ring_again()
                    await self._gone.look()
            except StorageError as error:
                log.warning("what is to be sent to Temporal waits for the database", error=str(error))
            took = time.monotonic() - began

    async def _start_pending(self) -> None:
        after, before = 0, now() - _SOON
        while True:
            rows = await self._database.all(_PENDING, after=after, before=before)
            ids = [str(row["id"]) for row in rows if not self._reach.is_started(str(row["id"]))]
            await asyncio.gather(*(self._reach.start(id_) for id_ in ids))
            if len(rows) < _PAGE or self._reach.trouble is not None or int(rows[-1]["created_at"]) == after:
                return
            after = int(rows[-1]["created_at"])

    async def _take_over(self) -> None:
        """They go on from their steps, as after any restart."""
        after = _NO_ID
        while rows := await self._database.all(_LEFT, after=after):
            ids = [str(row["id"]) for row in rows]
            await asyncio.gather(*(self._reach.start(id_) for id_ in ids if not self._reach.is_started(id_)))
            after = ids[-1]

    async def _see_to_asked(self) -> None:
        for row in await self._database.all(statements.ASKED):
            execution_id, what = str(row[0]), str(row[1])
            if self._may_send(execution_id, what) and not await self._reach.ask(execution_id, what):
                await self._reach.start(execution_id)

    async def _ring_again(self) -> None:
        rows = await self._database.all(_BEHIND)
        behind = [str(row[0]) for row in rows]
        await asyncio.gather(*(self._reach.ring(id_) for id_ in behind if self._may_send(id_, "ring")))

    def _may_send(self, execution_id: str, what: str) -> bool:
        """Not at every look: each signal is an event in a history, and whoever does not answer may only be busy."""
        at = time.monotonic()
        self._sent = {name: since for name, since in self._sent.items() if at - since < _AGAIN_AFTER}
        return self._sent.setdefault((execution_id, what), at) == at
