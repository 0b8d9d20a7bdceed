"""How the workflows of a list are doing: what runs, what ran last and what comes next, in the statement of the list."""

from typing import Any

import msgspec
from sqlalchemy import Text, cast, func, literal_column, or_, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement

from penstock.http.times import rfc3339
from penstock.storage.engine_tables import workflow_schedules
from penstock.storage.platform_tables import executions, workflow_counts, workflows

_MOST = 12


class LastRun(msgspec.Struct, frozen=True):
    id: str
    status: str
    created_at: str
    duration_ms: int | None


class Runs(msgspec.Struct, frozen=True):
    running: int
    """Executions that have not ended."""
    next_run_at: str | None
    last: list[LastRun]
    """The newest, newest first."""


class _Lines(ColumnElement[str]):
    """The texts of all rows in one, with commas between them: the two databases have other words for it."""

    inherit_cache = True
    type = Text()

    def __init__(self, line: ColumnElement[str]) -> None:
        self.line = line


@compiles(_Lines)
def _lines(element: _Lines, compiler: SQLCompiler, **options: Any) -> str:
    return f"string_agg({compiler.process(element.line, **options)}, ',')"


@compiles(_Lines, "sqlite")
def _lines_in_sqlite(element: _Lines, compiler: SQLCompiler, **options: Any) -> str:
    return f"group_concat({compiler.process(element.line, **options)}, ',')"


_SPACE: ColumnElement[str] = literal_column("' '", Text)
_newest = (
    select(
        (
            cast(executions.c.id, Text)
            + _SPACE
            + executions.c.status
            + _SPACE
            + cast(executions.c.created_at, Text)
            + _SPACE
            + func.coalesce(cast(executions.c.completed_at - executions.c.started_at, Text), literal_column("'-'"))
        ).label("line")
    )
    .where(executions.c.workflow_id == workflows.c.id)
    .order_by(executions.c.created_at.desc(), executions.c.id.desc())
    .limit(_MOST)
    .correlate(workflows)
    .subquery("last")
)
_last = select(_Lines(_newest.c.line)).select_from(_newest).scalar_subquery()
_running = (
    select(func.sum(workflow_counts.c.n))
    .where(
        workflow_counts.c.workflow_id == workflows.c.id,
        or_(workflow_counts.c.what == "pending", workflow_counts.c.what == "running"),
    )
    .correlate(workflows)
    .scalar_subquery()
)
_next = (
    select(workflow_schedules.c.next_run_at)
    .where(workflow_schedules.c.workflow_id == workflows.c.id)
    .correlate(workflows)
    .scalar_subquery()
)
COLUMNS = (_running.label("running"), _next.label("next_run_at"), _last.label("last"))


def runs_from(running: int | None, next_run_at: int | None, last: str | None) -> Runs:
    lines = sorted((_line(line) for line in (last or "").split(",") if line), reverse=True)
    found = [LastRun(id_, status, rfc3339(at), took) for at, id_, status, took in lines]
    return Runs(int(running or 0), None if next_run_at is None else rfc3339(next_run_at), found)


def _line(line: str) -> tuple[int, str, str, int | None]:
    id_, status, at, took = line.split(" ")
    return int(at), id_, status, None if took == "-" else int(took) // 1000
