"""Pausing, going on, and running again from a chosen step."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, insert, select, update

from penstock.engine.asked import Pending
from penstock.engine.embedded.statements import STEP_MEMBERS
from penstock.http.edge import Call
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.engine import EngineRefused
from penstock.platform.executions import queries
from penstock.platform.executions.forks import kept_until, places_around
from penstock.platform.executions.queries import Execution, execution_from
from penstock.platform.executions.rules import read, start
from penstock.platform.parts import Parts
from penstock.platform.texts import invalid
from penstock.problems import BadGateway, Conflict, NotFound
from penstock.storage import Row, Statement, Transaction, now
from penstock.storage.platform_tables import executions, steps
from penstock.streams import ExecutionChange, append

_FINISHED = frozenset({"completed", "skipped", "failed"})
_STEPS = Statement(
    select(*(steps.c[name] for name in STEP_MEMBERS))
    .where(steps.c.execution_id == bindparam("execution_id"))
    .order_by(steps.c.sequence_num)
)
_ADD_STEP = Statement(insert(steps).values({name: bindparam(name) for name in STEP_MEMBERS}))

_old = executions.alias()
_COPY_INPUT = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"))
    .values(sealed_input=select(_old.c.sealed_input).where(_old.c.id == bindparam("rerun_of")).scalar_subquery())
)


class Rerun(msgspec.Struct, forbid_unknown_fields=True):
    from_: str | None = msgspec.field(default=None, name="from")


async def pause(parts: Parts, call: Call, access: Access, id_: str) -> Execution:
    """No further step begins; what is under way is finished. Pausing again changes nothing."""
    return await _ask(parts, call, access, id_, "pause")


async def resume(parts: Parts, call: Call, access: Access, id_: str) -> Execution:
    return await _ask(parts, call, access, id_, "resume")


async def _ask(parts: Parts, call: Call, access: Access, id_: str, what: str) -> Execution:
    if parts.engine is None:
        raise Conflict("this server has no engine (setting `engine`), so nothing runs that could be paused")
    async with parts.database.transaction() as tx:
        execution = await read(tx, id_)
        if execution.status not in {"pending", "running"}:
            raise Conflict(f"the execution has ended; its status is {execution.status}")
        await audit.by(tx, call, access, f"execution.{what}", id_, {"workflow_id": access.workflow_id})
    try:
        await (parts.engine.pause(id_) if what == "pause" else parts.engine.resume(id_))
    except EngineRefused as error:
        raise BadGateway(f"the engine did not {what} the execution: {error}") from error
    return await read(parts.database, id_)


async def rerun(parts: Parts, call: Call, access: Access, id_: str, body: Rerun) -> Execution:
    """A new execution of the same version with the same input; what was finished before the step is kept."""
    workflow_id = str(access.workflow_id)
    async with parts.database.transaction() as tx:
        workflow = await tx.one(queries.WORKFLOW, id=workflow_id)
        if workflow is None:
            raise NotFound("there is no such execution")
        if workflow[0] in {"stopped", "error"}:
            raise Conflict(f"the workflow is in status {workflow[0]}; deploy it first")
        before = await read(tx, id_)
        if before.status in {"pending", "running"}:
            raise Conflict("the execution has not ended; cancel it first, or wait for its end")
        kept = [] if body.from_ is None else _before(await tx.all(_STEPS, execution_id=id_), body.from_)
        metadata = {"rerun_of": id_} | ({} if body.from_ is None else {"from": body.from_})
        row = await _add(tx, before, metadata, access.caller.id)
        new = execution_from(row)
        await tx.run(_COPY_INPUT, id_=new.id, rerun_of=id_)
        await tx.run_many(_ADD_STEP, [_copied(step, new.id) for step in kept])
        details = {"workflow_id": workflow_id, "rerun_of": id_, "from": body.from_}
        await audit.by(tx, call, access, "execution.rerun", new.id, details)
        await append(tx, executions=[ExecutionChange(workflow_id, row["created_at"], None, "pending")])
    pending = Pending(
        new.id,
        workflow_id,
        str(access.project_id),
        new.version,
        "manual",
        row["trigger_data"],
        row["created_at"],
        row["metadata"],
    )
    await start(parts, pending)
    return new


async def _add(tx: Transaction, before: Execution, metadata: dict[str, Any], by: str) -> Row:
    row = await tx.one(
        queries.ADD,
        id=uuid7(),
        workflow_id=before.workflow_id,
        version=before.version,
        trigger_type="manual",
        trigger_data=bytes(before.trigger_data).decode(),
        idempotency_key=None,
        now=now(),
        metadata=msgspec.json.encode(metadata).decode(),
        triggered_by=by,
    )
    assert row is not None  # noqa: S101
    return row


def _before(rows: Any, reference: str) -> list[Row]:
    """What was finished before the step ran for the first time; not what it stands in, which is walked anew."""
    chosen = next((row for row in rows if row["reference"] == reference), None)
    if chosen is None:
        raise invalid("from", "the execution ran no step with this reference; GET its steps to see those that it ran")
    until = kept_until(rows, chosen)
    return [
        row
        for row in rows
        if row["sequence_num"] < chosen["sequence_num"]
        and row["status"] in _FINISHED
        and not chosen["position"].startswith(f"{row['position']}/")
        and not _is_of_events(row, chosen)
        and all((row["completed_at"] or 0) < until[place] for place in places_around(row) if place in until)
    ]


def _is_of_events(row: Row, chosen: Row) -> bool:
    """Whether it was done for an event or a message that the chosen step was done for, too, or for one before it.
    They do not come again: what is done for others must not look as if it had been done."""
    listened, inside, _ = str(chosen["position"]).partition("/e")
    return bool(inside) and str(row["position"]).startswith(f"{listened}/e")


def _copied(row: Row, execution_id: str) -> dict[str, Any]:
    return {name: row[name] for name in STEP_MEMBERS} | {"id": uuid7(), "execution_id": execution_id}
