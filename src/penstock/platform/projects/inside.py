"""What stands inside a company, an organization or a project when it is deleted, and how it is brought to its end."""

from typing import Literal

import msgspec
import structlog
from sqlalchemy import bindparam, exists, literal, or_, select, update

from penstock.platform.engine import EngineRefused
from penstock.platform.parts import Parts
from penstock.problems import Conflict
from penstock.storage import Statement, Transaction, now
from penstock.storage.platform_tables import companies, executions, projects, steps, workflows

log = structlog.get_logger()
Container = Literal["company", "project"]

_companies = select(companies.c.id).where(
    or_(companies.c.id == bindparam("id"), companies.c.parent_id == bindparam("id"))
)
_projects = {
    "company": select(projects.c.id).where(projects.c.company_id.in_(_companies)),
    "project": select(projects.c.id).where(projects.c.id == bindparam("id")),
}
_workflows = {
    container: select(workflows.c.id).where(workflows.c.project_id.in_(inside))
    for container, inside in _projects.items()
}
_executions = {
    container: select(executions.c.id).where(executions.c.workflow_id.in_(inside), executions.c.completed_at.is_(None))
    for container, inside in _workflows.items()
}
# From the top down, so that nothing is put, deployed or triggered inside between our look and the end; and each by id,
# as everybody does who locks several: two who lock the same in different orders wait for each other for ever. (SQLite
# has one writer at a time anyway.)
_LOCKS = {
    container: [
        Statement(inside.order_by(inside.selected_columns[0]).with_for_update())
        for inside in (*above, _projects[container], _workflows[container], _executions[container])
    ]
    for container, above in {"company": (_companies,), "project": ()}.items()
}
_ANYTHING_ACTIVE = {
    container: Statement(
        select(literal(1)).where(
            or_(
                exists(select(literal(1)).where(workflows.c.id.in_(inside), workflows.c.status == "active")),
                exists(_executions[container]),
            )
        )
    )
    for container, inside in _workflows.items()
}
_ACTIVE = {
    container: Statement(select(workflows.c.id).where(workflows.c.id.in_(inside), workflows.c.status == "active"))
    for container, inside in _workflows.items()
}
_CANCEL = {
    container: Statement(
        update(executions)
        .where(executions.c.workflow_id.in_(inside), executions.c.completed_at.is_(None))
        .values(status="cancelled", completed_at=bindparam("now"))
        .returning(executions.c.id)
    )
    for container, inside in _workflows.items()
}
_CANCEL_STEPS = {
    container: Statement(
        update(steps)
        .where(
            steps.c.execution_id.in_(select(executions.c.id).where(executions.c.workflow_id.in_(inside))),
            steps.c.completed_at.is_(None),
        )
        .values(status="cancelled", completed_at=bindparam("now"))
    )
    for container, inside in _workflows.items()
}


class Ended(msgspec.Struct, frozen=True):
    """What was still going on."""

    workflows: list[str] = []
    executions: list[str] = []


async def bring_to_an_end(tx: Transaction, container: Container, id_: str, *, force: bool) -> Ended:
    """Make sure that nothing inside is active or runs: `Conflict` when something does, unless forced."""
    for lock in _LOCKS[container]:
        await tx.all(lock, id=id_)
    if await tx.one(_ANYTHING_ACTIVE[container], id=id_) is None:
        return Ended()
    if not force:
        raise Conflict("a workflow in it is active or an execution runs; stop them, or delete with ?force=true")
    return await cancel_all_inside(tx, container, id_)


async def cancel_all_inside(tx: Transaction, container: Container, id_: str) -> Ended:
    """End every execution inside, in the transaction that deletes it all."""
    active = [str(row[0]) for row in await tx.all(_ACTIVE[container], id=id_)]
    cancelled = [str(row[0]) for row in await tx.all(_CANCEL[container], id=id_, now=now())]
    await tx.run(_CANCEL_STEPS[container], id=id_, now=now())
    return Ended(active, cancelled)


async def tell_engine(parts: Parts, ended: Ended) -> None:
    """After the commit: an engine writes in transactions of its own, which would wait for ours. One that refuses
    finds nothing of them the next time it looks."""
    if parts.engine is None:
        return
    try:
        for workflow_id in ended.workflows:
            await parts.engine.stop(workflow_id, cancel_running=True)
        for execution_id in ended.executions:
            await parts.engine.cancel(execution_id)
    except EngineRefused as error:
        log.warning("the engine was not told of what was deleted", error=str(error))
