"""How many executions of a workflow may be under way at the same time (`document.metadata.concurrency`).

Each asks for a place before it begins, and waits, pending, until it has one; they are given in the order in which the
executions came, and lost by their ends.
"""

from collections.abc import Callable, Sequence

from sqlalchemy import bindparam, delete, exists, func, insert, select

from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import Execution
from penstock.engine.faults import Fault
from penstock.storage import Database, Statement, Transaction
from penstock.storage.engine_tables import temporal_places
from penstock.storage.platform_tables import executions

_MOST_AT_ONCE = 500
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"

_has_place = temporal_places.c.execution_id == executions.c.id
_of_workflow = executions.c.workflow_id == bindparam("workflow_id")
# Each status by the index that has them: a workflow may have a million that have ended.
_RUNNING = Statement(select(func.count()).select_from(executions).where(_of_workflow, executions.c.status == "running"))
_TO_BEGIN = Statement(
    select(func.count()).select_from(temporal_places).where(temporal_places.c.workflow_id == bindparam("workflow_id"))
)
_CLEAR = Statement(
    delete(temporal_places).where(
        temporal_places.c.workflow_id == bindparam("workflow_id"),
        ~exists().where(_has_place, executions.c.status == "pending"),
    )
)
_NEXT = Statement(
    select(executions.c.id, executions.c.version)
    .outerjoin(temporal_places, _has_place)
    .where(
        _of_workflow,
        executions.c.status == "pending",
        temporal_places.c.execution_id.is_(None),
    )
    .order_by(executions.c.created_at, executions.c.id)
    .limit(bindparam("free"))
)
_GIVE = Statement(
    insert(temporal_places).values(execution_id=bindparam("execution_id"), workflow_id=bindparam("workflow_id"))
)
_HAS = Statement(
    select(temporal_places.c.execution_id).where(temporal_places.c.execution_id == bindparam("execution_id"))
)
_WAITING = Statement(
    select(executions.c.workflow_id)
    .where(
        executions.c.status == "pending",
        executions.c.completed_at.is_(None),
        executions.c.created_at < bindparam("before"),
    )
    .distinct()
)
_NOT_BEGUN = Statement(
    select(executions.c.id)
    .join(temporal_places, _has_place)
    .where(executions.c.status == "pending", executions.c.created_at < bindparam("before"))
    .limit(_MOST_AT_ONCE)
)


class Places:
    def __init__(
        self, database: Database, definitions: Definitions, let_begin: Callable[[Sequence[str]], None]
    ) -> None:
        self._database = database
        self._definitions = definitions
        self._let_begin = let_begin

    async def take(self, execution: Execution) -> bool:
        """Whether it has one now; if not, it is told when it has."""
        if await self._has(execution.id):
            return True
        await self.give(execution.workflow_id)
        return await self._has(execution.id)

    async def give(self, workflow_id: str) -> None:
        """Those that are next have a place, as far as there are any, and are told so."""
        first = await self._database.one(_NEXT, workflow_id=workflow_id, free=1)
        if first is not None and (most := await self._most(workflow_id, int(first["version"]))) is not None:
            self._let_begin(await self._give(workflow_id, most))

    async def look(self, before: int) -> list[str]:
        """Of all workflows that have some waiting: those that have a place, and have not begun."""
        for row in await self._database.all(_WAITING, before=before):
            await self.give(str(row[0]))
        return [str(row[0]) for row in await self._database.all(_NOT_BEGUN, before=before)]

    async def _has(self, execution_id: str) -> bool:
        return await self._database.one(_HAS, execution_id=execution_id) is not None

    async def _most(self, workflow_id: str, version: int) -> int | None:
        try:
            return (await self._definitions.get(workflow_id, version)).concurrency
        except Fault:
            return None  # its run says why it cannot be

    async def _give(self, workflow_id: str, most: int) -> list[str]:
        async with self._database.transaction() as tx:
            await _one_at_a_time(tx, workflow_id)
            await tx.run(_CLEAR, workflow_id=workflow_id)
            rows = [await tx.one(count, workflow_id=workflow_id) for count in (_RUNNING, _TO_BEGIN)]
            taken = sum(int(row[0]) for row in rows if row is not None)
            free = min(most - taken, _MOST_AT_ONCE)
            if free <= 0:
                return []
            given = [str(each["id"]) for each in await tx.all(_NEXT, workflow_id=workflow_id, free=free)]
            if given:
                await tx.run_many(_GIVE, [{"execution_id": id_, "workflow_id": workflow_id} for id_ in given])
        return given


async def _one_at_a_time(tx: Transaction, workflow_id: str) -> None:
    """Two who count at the same time would both find the last place free."""
    if tx.dialect == "postgresql":
        await tx.run_text(_HOLD, f"places of {workflow_id}")
