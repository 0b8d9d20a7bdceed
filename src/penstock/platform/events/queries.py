"""What is asked of the table of events."""

from functools import cache
from typing import Any

from sqlalchemy import Table, bindparam, func, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement

from penstock.storage import Statement
from penstock.storage.platform_tables import events
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
