"""Executions that are under way by our rows, and not by Temporal: ended there by hand, or lost with its database.

Steps are the journal: whatever Temporal has forgotten goes on from them. What somebody ended there is ended here.
"""

import asyncio

import structlog
from sqlalchemy import bindparam, or_, select
from temporalio.client import WorkflowExecutionStatus
from temporalio.service import RPCError

from penstock.engine.embedded import statements
from penstock.engine.temporal.reach import Reach
from penstock.storage import Database, Statement, now
from penstock.storage.platform_tables import executions

log = structlog.get_logger()
_AT_ONCE = 10  # for each look, of which there is one in a second or so: Temporal has other things to do
_PAGE = 500
_QUIET = 30_000_000  # microseconds: most have ended by then
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


class Gone:
    def __init__(self, database: Database, reach: Reach) -> None:
        self._database = database
        self._reach = reach
        self._after = _FIRST
        self._ids: list[str] = []

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
            status = await self._reach.status(execution_id)
        except (RPCError, RuntimeError):
            return False  # the cluster is away, which is seen elsewhere
        if status is not None and status not in _ENDED:
            return False
        # An end is written before the workflow ends. What has none after that will have none.
        row = await self._database.one(statements.ENDED, id=execution_id)
        if row is None or row["completed_at"] is not None:
            return False
        how = None if status is None else _ENDED_THERE.get(status)
        if how is not None:
            await self._end(execution_id, how)
        else:
            log.warning("Temporal has lost an execution: it goes on from its steps", execution_id=execution_id)
        return await self._reach.start(execution_id, anew=True)

    async def _end(self, execution_id: str, how: str) -> None:
        """By a workflow of its own: whatever follows from an end follows from this one."""
        log.warning("an execution was ended in Temporal and ends as failed", execution_id=execution_id, how=how)
        async with self._database.transaction() as tx:
            await tx.run(statements.ASK, id_=execution_id, what=how)
            for child in await tx.all(statements.CHILDREN, id=execution_id):
                await tx.run(statements.ASK, id_=child[0], what="cancel")
