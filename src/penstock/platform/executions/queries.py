"""What is asked of the tables of executions and steps."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import FromClause, Select, bindparam, func, insert, or_, select, update
from sqlalchemy.sql.elements import ColumnElement

from penstock.http.times import rfc3339
from penstock.platform.members.queries import Person
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import executions, steps, workflow_counts, workflow_versions, workflows
from penstock.storage.schema import accounts

TRIGGERS = ("manual", "schedule", "event", "link", "subflow")
_NULL = msgspec.Raw(b"null")


class Execution(msgspec.Struct, frozen=True):
    id: str
    workflow_id: str
    version: int
    trigger_type: str
    trigger_data: msgspec.Raw
    status: str
    output_data: msgspec.Raw
    error_message: str | None
    error: msgspec.Raw
    started_at: str | None
    completed_at: str | None
    duration_ms: int | None
    created_at: str
    metadata: msgspec.Raw
    triggered_by: Person | msgspec.UnsetType | None = msgspec.UNSET
    """Only where it is asked for, or where a list has it: who started it; nobody did when `metadata` says what did."""


class Step(msgspec.Struct, frozen=True):
    id: str
    execution_id: str
    step_name: str
    step_type: str
    reference: str
    sequence_num: int
    attempt: int
    status: str
    input_data: msgspec.Raw
    output_data: msgspec.Raw
    error_message: str | None
    started_at: str | None
    completed_at: str | None
    duration_ms: int | None
    metadata: msgspec.Raw


COLUMNS = (
    executions.c.id,
    executions.c.workflow_id,
    executions.c.version,
    executions.c.trigger_type,
    executions.c.trigger_data,
    executions.c.status,
    executions.c.output_data,
    executions.c.error_message,
    executions.c.error,
    executions.c.started_at,
    executions.c.completed_at,
    executions.c.created_at,
    executions.c.metadata,
)
# With who started it: `WITH_STARTER` is what they are selected from.
STARTER_COLUMNS = (executions.c.triggered_by, accounts.c.email, accounts.c.display_name)
WITH_STARTER = executions.outerjoin(accounts, accounts.c.id == executions.c.triggered_by)
STEP_COLUMNS = (
    steps.c.id,
    steps.c.execution_id,
    steps.c.step_name,
    steps.c.step_type,
    steps.c.reference,
    steps.c.sequence_num,
    steps.c.attempt,
    steps.c.status,
    steps.c.input_data,
    steps.c.output_data,
    steps.c.error_message,
    steps.c.started_at,
    steps.c.completed_at,
    steps.c.metadata,
)


def execution_from(row: Row | Sequence[Any]) -> Execution:
    """From `COLUMNS`, or from those and `STARTER_COLUMNS`."""
    id_, workflow_id, version, kind, data, status, output, message, error, started, completed, *rest = row
    created, metadata, *starter = rest
    return Execution(
        id_,
        workflow_id,
        version,
        kind,
        _raw(data),
        status,
        _raw(output),
        message,
        _raw(error),
        _time(started),
        _time(completed),
        _milliseconds(started, completed),
        rfc3339(created),
        _raw(metadata),
        _starter(*starter) if starter else msgspec.UNSET,
    )


def _starter(id_: str | None, email: str | None, display_name: str | None) -> Person | None:
    """Who has no account any more is still the one who did it."""
    return None if id_ is None else Person(id_, email or "", display_name or "")


def pending(id_: str, workflow_id: str, version: int, data: str, at: int) -> Execution:
    """One that was just triggered."""
    given = (id_, workflow_id, version, "manual", msgspec.Raw(data.encode()), "pending", _NULL, None, _NULL)
    return Execution(*given, None, None, None, rfc3339(at), msgspec.Raw(b"{}"))


def step_from(row: Row) -> Step:
    id_, execution_id, name, kind, reference, number, attempt, status, *rest = row
    given, output, message, started, completed, metadata = rest
    return Step(
        id_,
        execution_id,
        name,
        kind,
        reference,
        number,
        attempt,
        status,
        _raw(given),
        _raw(output),
        message,
        _time(started),
        _time(completed),
        _milliseconds(started, completed),
        _raw(metadata),
    )


def _raw(text: str | None) -> msgspec.Raw:
    """Stored as JSON, shown as JSON: nothing to decode in between."""
    return _NULL if text is None else msgspec.Raw(text.encode())


def _time(micros: int | None) -> str | None:
    return None if micros is None else rfc3339(micros)


def _milliseconds(started: int | None, completed: int | None) -> int | None:
    return None if started is None or completed is None else (completed - started) // 1000


FIND = Statement(select(*COLUMNS).where(executions.c.id == bindparam("id")))
FIND_WITH_STARTER = Statement(
    select(*COLUMNS, *STARTER_COLUMNS).select_from(WITH_STARTER).where(executions.c.id == bindparam("id"))
)
ADD = Statement(
    insert(executions)
    .values(
        id=bindparam("id"),
        workflow_id=bindparam("workflow_id"),
        version=bindparam("version"),
        trigger_type=bindparam("trigger_type"),
        trigger_data=bindparam("trigger_data"),
        status="pending",
        idempotency_key=bindparam("idempotency_key"),
        created_at=bindparam("now"),
        metadata=bindparam("metadata"),
        triggered_by=bindparam("triggered_by"),
    )
    .returning(*COLUMNS)
)
ADD_PENDING = Statement(
    insert(executions).values(
        id=bindparam("id"),
        workflow_id=bindparam("workflow_id"),
        version=bindparam("version"),
        trigger_type="manual",
        trigger_data=bindparam("trigger_data"),
        status="pending",
        created_at=bindparam("now"),
        metadata="{}",
        triggered_by=bindparam("triggered_by"),
    )
)
SAME_KEY = Statement(
    select(*COLUMNS)
    .where(
        executions.c.workflow_id == bindparam("workflow_id"),
        executions.c.idempotency_key == bindparam("idempotency_key"),
        executions.c.created_at > bindparam("since"),
    )
    .order_by(executions.c.created_at.desc())
    .limit(1)
)

_STATE = select(workflows.c.status, workflows.c.version, workflows.c.deployed_version).where(
    workflows.c.id == bindparam("id")
)
# Held until the commit, so that nobody deletes the workflow from under what is written about it; SQLite has one writer.
WORKFLOW = Statement(_STATE.with_for_update(read=True))
# One at a time: of parallel triggers with one key, the first makes the execution and the others find it.
WORKFLOW_ALONE = Statement(_STATE.with_for_update(key_share=True))
DEFINITION = Statement(
    select(workflow_versions.c.config_yaml).where(
        workflow_versions.c.workflow_id == bindparam("id"), workflow_versions.c.version == bindparam("version")
    )
)

_unended = select(executions.c.id, executions.c.workflow_id, executions.c.status, executions.c.created_at).where(
    or_(executions.c.status == "pending", executions.c.status == "running")
)
UNENDED = Statement(_unended.where(executions.c.id == bindparam("id")).with_for_update())
CANCEL = Statement(
    update(executions)
    .where(executions.c.id == bindparam("id_"))
    .values(status="cancelled", completed_at=bindparam("now"))
)
CANCEL_STEPS = Statement(
    update(steps)
    .where(steps.c.execution_id == bindparam("id_"), or_(steps.c.status == "pending", steps.c.status == "running"))
    .values(status="cancelled", completed_at=bindparam("now"))
)

FILTERS = ("status", "trigger_type", "since", "until")


@cache
def listing(filters: frozenset[str], *, starter: bool = False) -> tuple[Statement, Statement]:
    """The items and their number, for these filters and no others: each set has its own plan and its own index."""
    where = [executions.c.workflow_id == bindparam("workflow_id"), *conditions(filters)]
    items = select(*COLUMNS, *STARTER_COLUMNS).select_from(WITH_STARTER) if starter else select(*COLUMNS)
    return Statement(_newest_first(items.where(*where))), Statement(
        select(func.count()).select_from(executions).where(*where)
    )


def conditions(filters: frozenset[str], table: FromClause = executions) -> list[ColumnElement[bool]]:
    known: dict[str, ColumnElement[bool]] = {
        "status": table.c.status == bindparam("status"),
        "trigger_type": table.c.trigger_type == bindparam("trigger_type"),
        "since": table.c.created_at >= bindparam("since"),
        "until": table.c.created_at < bindparam("until"),
    }
    return [known[name] for name in sorted(filters)]


def _newest_first(query: Select[Any]) -> Select[Any]:
    return (
        query.order_by(executions.c.created_at.desc(), executions.c.id.desc())
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
    )


def counts_from(rows: Sequence[Row]) -> dict[str, int]:
    return {row[0]: row[1] for row in rows}


COUNTS = Statement(
    select(workflow_counts.c.what, workflow_counts.c.n).where(workflow_counts.c.workflow_id == bindparam("workflow_id"))
)
COUNT_STEPS = Statement(
    select(func.count()).select_from(steps).where(steps.c.execution_id == bindparam("execution_id"))
)
