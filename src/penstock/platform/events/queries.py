"""What is asked of the table of events."""

from functools import cache
from typing import Any

from sqlalchemy import Table, Text, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement

from penstock.platform.workflows.lists import within_reach
from penstock.storage import Statement
from penstock.storage.platform_tables import companies, events, projects, workflows
from penstock.streams.reading import EVENT_COLUMNS


@cache
def listing(filters: frozenset[str]) -> tuple[Statement, Statement]:
    """The items and their number, for these filters and no others: each set has its own plan and its own index."""
    conditions: dict[str, ColumnElement[bool]] = {
        "type": events.c.type == bindparam("type"),
        "execution_id": events.c.execution_id == bindparam("execution_id"),
        "since": events.c.created_at >= bindparam("since"),
        "until": events.c.created_at < bindparam("until"),
    }
    where = [of_workflow(events, filters), *(conditions[name] for name in sorted(filters))]
    items = select(*EVENT_COLUMNS).where(*where).order_by(*newest_first(events, filters))
    return (
        Statement(items.limit(bindparam("limit")).offset(bindparam("offset"))),
        Statement(select(func.count()).select_from(events).where(*where)),
    )


# By the beginning of their type, too: most are of tasks, and those who listen to many workflows want the others.
_streamed = (
    select(*EVENT_COLUMNS)
    .join(workflows, workflows.c.id == events.c.workflow_id)
    .join(projects, projects.c.id == workflows.c.project_id)
    .where(
        events.c.id > bindparam("after"),
        events.c.id <= bindparam("upto"),
        func.substr(events.c.type, 1, func.length(bindparam("beginning", type_=Text))) == bindparam("beginning"),
    )
    .order_by(events.c.id)
    .limit(bindparam("limit"))
)
STREAM_OF_PROJECT = Statement(_streamed.where(projects.c.id == bindparam("project_id")))
STREAM_OF_ALL = Statement(
    _streamed.join(companies, companies.c.id == projects.c.company_id).where(within_reach()),
)


class Unindexed(ColumnElement[str]):
    """A column by which SQLite shall not search: it cannot know that an execution has fewer rows than its workflow."""

    inherit_cache = True

    def __init__(self, column: ColumnElement[str]) -> None:
        self.column = column
        self.type = column.type


@compiles(Unindexed)
def _plain(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.column, **options)


@compiles(Unindexed, "sqlite")
def _unindexed(element: Unindexed, compiler: SQLCompiler, **options: Any) -> str:
    return "+" + compiler.process(element.column, **options)


def of_workflow(table: Table, filters: frozenset[str]) -> ColumnElement[bool]:
    column: ColumnElement[str] = table.c.workflow_id
    if "execution_id" in filters:
        column = Unindexed(column)
    return column == bindparam("workflow_id", type_=table.c.workflow_id.type)


def newest_first(table: Table, filters: frozenset[str]) -> list[ColumnElement[Any]]:
    """By id; a period by time, which is the order of the index that finds it."""
    by_id = table.c.id.desc()
    return [table.c.created_at.desc(), by_id] if filters and filters <= {"since", "until"} else [by_id]
