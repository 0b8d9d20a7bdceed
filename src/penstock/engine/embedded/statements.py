"""What the engine reads and writes of executions and steps."""

from sqlalchemy import bindparam, func, insert, literal, or_, select, union_all, update

from penstock.storage import Statement, Transaction
from penstock.storage.engine_tables import consumed_events, inbox
from penstock.storage.platform_tables import executions, steps, workflow_versions, workflows

PENDING_COLUMNS = (
    executions.c.id,
    executions.c.workflow_id,
    workflows.c.project_id,
    executions.c.version,
    executions.c.trigger_type,
    executions.c.trigger_data,
    executions.c.status,
    executions.c.created_at,
    executions.c.started_at,
    executions.c.paused_at,
    executions.c.parent_id,
    executions.c.metadata,
)
_with_project = select(*PENDING_COLUMNS).join(workflows, workflows.c.id == executions.c.workflow_id)
FIND = Statement(_with_project.where(executions.c.id == bindparam("id")))
# Not those that are to be cancelled: whoever sees to that finds them, and none of their steps is begun again.
UNENDED = Statement(
    _with_project.where(
        executions.c.completed_at.is_(None),
        or_(executions.c.status == "pending", executions.c.status == "running"),
        or_(executions.c.asked.is_(None), executions.c.asked != "cancel"),
        executions.c.id > bindparam("after"),
    )
    .order_by(executions.c.id)
    .limit(bindparam("limit"))
)
ENDED = Statement(
    select(
        executions.c.status,
        executions.c.output_data,
        executions.c.error,
        executions.c.completed_at,
        executions.c.asked,
        executions.c.paused_at,
    ).where(executions.c.id == bindparam("id"))
)
CHILDREN = Statement(
    select(executions.c.id).where(executions.c.parent_id == bindparam("id"), executions.c.completed_at.is_(None))
)
ASKED = Statement(
    select(executions.c.id, executions.c.asked).where(
        executions.c.asked.is_not(None),
        # Not by the index on it: thousands may sleep unended, and be asked for nothing.
        func.coalesce(executions.c.completed_at, 0) == 0,
    )
)
ASK = Statement(
    update(executions)
    .where(
        executions.c.id == bindparam("id_"),
        executions.c.completed_at.is_(None),
        # Nothing that is asked later makes good for a cancellation that was not seen to.
        or_(executions.c.asked.is_(None), executions.c.asked != "cancel"),
    )
    .values(asked=bindparam("what"))
)
# Only a child that its parent waited for has a parent here.
ASK_CHILD_TO_END = Statement(
    update(executions)
    .where(
        executions.c.id == bindparam("id_"),
        executions.c.parent_id == bindparam("parent"),
        executions.c.completed_at.is_(None),
    )
    .values(asked="cancel")
)
ASK_TO_START = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"), executions.c.status == "pending", executions.c.asked.is_(None))
    .values(asked="start")
)
# By the index that lists them by status: a workflow may have a million that have ended.
UNENDED_OF = Statement(
    union_all(
        *(
            select(executions.c.id).where(
                executions.c.workflow_id == bindparam("workflow_id"), executions.c.status == status
            )
            for status in ("pending", "running")
        )
    )
)

ADD_EXECUTION = Statement(
    insert(executions).values(
        {
            name: bindparam(name)
            for name in (
                "id",
                "workflow_id",
                "version",
                "trigger_type",
                "trigger_data",
                "created_at",
                "metadata",
                "parent_id",
            )
        }
        | {"status": literal("pending")}
    )
)
START_EXECUTION = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"), executions.c.completed_at.is_(None))
    .values(status="running", started_at=bindparam("started_at"))
)
# The steps of one that was deleted or ended meanwhile find no row; its own end stays as it was written first.
END_EXECUTION = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"), executions.c.completed_at.is_(None))
    .values(
        status=bindparam("status"),
        output_data=bindparam("output_data"),
        error_message=bindparam("error_message"),
        error=bindparam("error"),
        started_at=bindparam("started_at"),
        completed_at=bindparam("completed_at"),
        asked=None,
        paused_at=None,
    )
)
PAUSE_EXECUTION = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"), executions.c.completed_at.is_(None))
    .values(paused_at=bindparam("paused_at"), metadata=bindparam("metadata"))
)
# Only what was seen to: something else may have been asked meanwhile.
ANSWERED = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"), executions.c.asked == bindparam("what"))
    .values(asked=None)
)

STEP_MEMBERS = (
    "id",
    "execution_id",
    "step_name",
    "step_type",
    "reference",
    "sequence_num",
    "attempt",
    "status",
    "input_data",
    "output_data",
    "error_message",
    "started_at",
    "completed_at",
    "metadata",
    "position",
    "state",
)
ADD_STEP = Statement(insert(steps).values({name: bindparam(name) for name in STEP_MEMBERS}), *STEP_MEMBERS)
_CHANGING = ("status", "input_data", "output_data", "error_message", "started_at", "completed_at", "metadata", "state")
CHANGING = ("id_", *_CHANGING)
CHANGE_STEP = Statement(
    update(steps).where(steps.c.id == bindparam("id_")).values({name: bindparam(name) for name in _CHANGING}),
    *CHANGING,
)
STEPS = Statement(
    select(*(steps.c[name] for name in STEP_MEMBERS))
    .where(steps.c.execution_id == bindparam("execution_id"))
    .order_by(steps.c.sequence_num)
)

ADD_CONSUMED = Statement(
    insert(consumed_events).values({name: bindparam(name) for name in ("execution_id", "position", "number", "event")})
)
CONSUMED = Statement(
    select(consumed_events.c.position, consumed_events.c.number, consumed_events.c.event)
    .where(consumed_events.c.execution_id == bindparam("execution_id"))
    .order_by(consumed_events.c.number)
)

ADD_EVENT_IN = Statement(
    insert(inbox).values(
        {name: bindparam(name) for name in ("project_id", "event", "received_at", "expires_at", "emitted")}
        | {"handled": False, "consumed": False}
    )
)
_EVENTS_LOCK = 0x7065_6E74


async def lock_events_in(tx: Transaction) -> None:
    """Before events are added, so that their ids are in the order of commits: who has seen one has seen all before."""
    if tx.dialect == "postgresql":
        await tx.run_text("SELECT pg_advisory_xact_lock($1)", _EVENTS_LOCK)


WORKFLOW = Statement(select(workflows.c.id).where(workflows.c.id == bindparam("id")))
DEFINITION = Statement(
    select(workflow_versions.c.config_yaml).where(
        workflow_versions.c.workflow_id == bindparam("workflow_id"), workflow_versions.c.version == bindparam("version")
    )
)
