"""What is asked of the table of events."""

from functools import cache

from sqlalchemy import bindparam, func, select
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
    where = [events.c.workflow_id == bindparam("workflow_id"), *(conditions[name] for name in sorted(filters))]
    items = select(*EVENT_COLUMNS).where(*where).order_by(events.c.id.desc())
    return (
        Statement(items.limit(bindparam("limit")).offset(bindparam("offset"))),
        Statement(select(func.count()).select_from(events).where(*where)),
    )
