"""Executions that are under way by our rows, and not by Temporal: ended there by hand, or lost with its database, of
which there may be an older copy.

Steps are the journal: whatever Temporal has forgotten goes on from them. What somebody ended there is ended here.
"""

import asyncio
import time
from datetime import UTC, datetime, timedelta

import structlog
from sqlalchemy import bindparam, or_, select
from temporalio.client import WorkflowExecutionDescription, WorkflowExecutionStatus
from temporalio.service import RPCError

from penstock.engine.embedded import statements
from penstock.engine.temporal.once import Written
from penstock.engine.temporal.reach import Reach
from penstock.engine.temporal.written import last_written
from penstock.storage import Database, Statement, now
from penstock.storage.platform_tables import executions

log = structlog.get_logger()
_AT_ONCE = 10  # for each look, of which there is one in a second or so: Temporal has other things to do
_PAGE = 500
_ON_ITS_WAY = 2  # events of a task that is under way, and was tried before: they are stored when it is done
_AGAIN_AFTER = 60.0
_DELETED_WITHIN = timedelta(seconds=10)
_QUIET = 30_000_000  # microseconds: most have ended by then
_CLOCKS_DIFFER = 10_000_000  # microseconds, of machines that set them by the same time
_FIRST = "00000000-0000-0000-0000-000000000000"
_ENDED_THERE = {
    WorkflowExecutionStatus.TERMINATED: "terminated",
    WorkflowExecutionStatus.TIMED_OUT: "timed_out",
    WorkflowExecutionStatus.FAILED: "failed",
}
_ENDED = frozenset({*_ENDED_THERE, WorkflowExecutionStatus.COMPLETED, WorkflowExecutionStatus.CANCELED})
_UNENDED = Statement(
    select(executions.c.id)
    .where(
        executions.c.completed_at.is_(None),
        or_(executions.c.status == "pending", executions.c.status == "running"),
        executions.c.created_at < bindparam("before"),
        executions.c.id > bindparam("after"),
    )
    .order_by(executions.c.id)
    .limit(_PAGE)
)


def _may_be_being_deleted(ended: WorkflowExecutionDescription) -> bool:
    """Temporal terminates what is deleted, a moment before it is gone: that is to go on, and not to fail."""
    return ended.close_time is not None and datetime.now(UTC) - ended.close_time < _DELETED_WITHIN


class Gone:
    def __init__(self, database: Database, reach: Reach) -> None:
        self._database = database
        self._reach = reach
        self._after = _FIRST
        self._ids: list[str] = []
        self._told: dict[str, float] = {}

    async def look(self) -> None:
        """At the next few; at more of them when some were gone, as then many may be."""
        while True:
            if not self._ids:
                await self._read()
            ids, self._ids = self._ids[:_AT_ONCE], self._ids[_AT_ONCE:]
            if not any(await asyncio.gather(*map(self._is_gone, ids))):
                return

    async def _read(self) -> None:
        rows = await self._database.all(_UNENDED, after=self._after, before=now() - _QUIET)
        self._ids = [str(row[0]) for row in rows]
        self._after = self._ids[-1] if len(rows) == _PAGE else _FIRST

    async def _is_gone(self, execution_id: str) -> bool:
        try:
            found = await self._reach.described(execution_id)
            if found is not None and found.status not in _ENDED:
                return await self._is_older(execution_id, found)
        except (RPCError, RuntimeError):
            return False  # the cluster is away, which is seen elsewhere
        # An end is written before the workflow ends. What has none after that will have none.
        row = await self._database.one(statements.ENDED, id=execution_id)
        if row is None or row["completed_at"] is not None:
            return False
        how = None if found is None or found.status is None else _ENDED_THERE.get(found.status)
        if how is not None and found is not None and _may_be_being_deleted(found):
            return False
        if how is not None:
            await self._end(execution_id, how)
        else:
            log.warning("Temporal has lost an execution: it goes on from its steps", execution_id=execution_id)
        return await self._reach.start(execution_id, anew=True)

    async def _is_older(self, execution_id: str, found: WorkflowExecutionDescription) -> bool:
        """One that waits for something which has come already would wait for ever."""
        last = await last_written(self._database, execution_id)
        if last is None or not last.run:
            return False
        if found.run_id == last.run:
            is_older = await self._is_shorter(found, last)
        else:
            # It has gone on, or is about to, in a new one; unless Temporal has never heard of that which wrote last.
            is_new = found.start_time.timestamp() * 1_000_000 > now() - _QUIET
            is_older = not is_new and await self._reach.described(execution_id, last.run) is None
        if not is_older or not self._may_tell(execution_id):
            return False
        log.warning("Temporal knows an older state of an execution: it begins again", execution_id=execution_id)
        await self._reach.begin_again(execution_id)
        return True

    async def _is_shorter(self, found: WorkflowExecutionDescription, last: Written) -> bool:
        """It was when it was restored. It may have grown since: then what it had was taken down after it was used."""
        known = last.history - _ON_ITS_WAY
        if known < 1 or found.history_length < known:
            return known >= 1
        came = await self._reach.came_at(found, known)
        return came is not None and came > last.at + _CLOCKS_DIFFER and last.at > 0

    def _may_tell(self, execution_id: str) -> bool:
        """Not at every look: whoever does not answer may have no worker."""
        at = time.monotonic()
        self._told = {id_: since for id_, since in self._told.items() if at - since < _AGAIN_AFTER}
        return self._told.setdefault(execution_id, at) == at

    async def _end(self, execution_id: str, how: str) -> None:
        """By a workflow of its own: whatever follows from an end follows from this one."""
        log.warning("an execution was ended in Temporal and ends as failed", execution_id=execution_id, how=how)
        async with self._database.transaction() as tx:
            await tx.run(statements.ASK, id_=execution_id, what=how)
            for child in await tx.all(statements.CHILDREN, id=execution_id):
                await tx.run(statements.ASK, id_=child[0], what="cancel")
