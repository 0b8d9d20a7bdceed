"""What is asked of the table of logs."""

from functools import cache

from sqlalchemy import bindparam, func, or_, select, text
from sqlalchemy.sql.elements import ColumnElement

from penstock.storage import Statement
from penstock.storage.platform_tables import log_entries
from penstock.streams import Level
from penstock.streams.reading import LOG_COLUMNS


@cache
def listing(filters: frozenset[str], *, alarming: bool = False) -> tuple[Statement, Statement]:
    """The items and their number, for these filters and no others: each set has its own plan and its own index.

    `alarming`: the level asked for is one that has an index of its own.
    """
    message = log_entries.c.message
    conditions: dict[str, ColumnElement[bool]] = {
        "level": log_entries.c.level >= bindparam("level"),
        "module": log_entries.c.module_name == bindparam("module"),
        "execution_id": log_entries.c.execution_id == bindparam("execution_id"),
        "since": log_entries.c.created_at >= bindparam("since"),
        "until": log_entries.c.created_at < bindparam("until"),
        # SQLite knows only the case of ASCII letters: other ones are looked for in lower and in upper case.
        "q": or_(
            message.ilike(bindparam("q"), escape="\\"),
            message.ilike(bindparam("q_lower"), escape="\\"),
            message.ilike(bindparam("q_upper"), escape="\\"),
        ),
        "q_ascii": message.ilike(bindparam("q"), escape="\\"),
    }
    where = [log_entries.c.workflow_id == bindparam("workflow_id"), *(conditions[name] for name in sorted(filters))]
    if alarming:
        where.append(text(f"log_entries.level >= {int(Level.WARN)}"))  # type: ignore[arg-type]
    items = select(*LOG_COLUMNS).where(*where).order_by(log_entries.c.id.desc())
    return (
        Statement(items.limit(bindparam("limit")).offset(bindparam("offset"))),
        Statement(select(func.count()).select_from(log_entries).where(*where)),
    )
