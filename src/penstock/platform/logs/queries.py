"""What is asked of the table of logs."""

from functools import cache

from sqlalchemy import bindparam, func, or_, select, text
from sqlalchemy.sql.elements import ColumnElement

from penstock.platform.events.queries import newest_first, of_workflow
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
    where = [of_workflow(log_entries, filters), *(conditions[name] for name in sorted(filters))]
    if alarming:
        where.append(text(f"log_entries.level >= {int(Level.WARN)}"))  # type: ignore[arg-type]
    count = Statement(select(func.count()).select_from(log_entries).where(*where))
    order = newest_first(log_entries, filters)
    if alarming:
        # The ids alone are in the small index, so that it is the one to be used.
        ids = select(log_entries.c.id).where(*where).order_by(*order).limit(bindparam("limit"))
        page = ids.offset(bindparam("offset")).subquery("ids")
        shown = select(*LOG_COLUMNS).select_from(page.join(log_entries, log_entries.c.id == page.c.id))
        return Statement(shown.order_by(*order)), count
    items = select(*LOG_COLUMNS).where(*where).order_by(*order)
    return Statement(items.limit(bindparam("limit")).offset(bindparam("offset"))), count
