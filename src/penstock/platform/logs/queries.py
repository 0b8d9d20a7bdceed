"""What is asked of the table of logs."""

from functools import cache
from typing import Any

from sqlalchemy import Select, Text, bindparam, func, select, text, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ColumnElement

from penstock.platform.events.queries import newest_first, of_workflow
from penstock.storage import Statement
from penstock.storage.platform_tables import log_entries
from penstock.streams import Level
from penstock.streams.reading import LOG_COLUMNS


class _Folded(ColumnElement[str]):
    """The message with its ASCII letters in lower case; what is more than ASCII was stored so. SQLite's LIKE does not
    tell them apart anyway, and PostgreSQL's ILIKE costs ten times as much as this."""

    inherit_cache = True
    type = Text()

    def __init__(self) -> None:
        self.text = func.coalesce(log_entries.c.folded, log_entries.c.message)


@compiles(_Folded)
def _lowered(element: _Folded, compiler: SQLCompiler, **options: Any) -> str:
    return f'lower({compiler.process(element.text, **options)} COLLATE "C")'


@compiles(_Folded, "sqlite")
def _as_it_is(element: _Folded, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(element.text, **options)


@cache
def listing(filters: frozenset[str], *, alarming: bool = False) -> Statement:
    """The items, for these filters and no others: each set has its own plan and its own index.

    `alarming`: the level asked for is one that has an index of its own.
    """
    order = newest_first(log_entries, filters)
    if not alarming:
        items = select(*LOG_COLUMNS).where(*_where(filters, alarming=False)).order_by(*order)
        return Statement(items.limit(bindparam("limit")).offset(bindparam("offset")))
    # The ids alone are in the small index, so that it is the one to be used.
    ids = _ids(filters, alarming=True).order_by(*order).limit(bindparam("limit"))
    page = ids.offset(bindparam("offset")).subquery("ids")
    shown = select(*LOG_COLUMNS).select_from(page.join(log_entries, log_entries.c.id == page.c.id))
    return Statement(shown.order_by(*order))


@cache
def count_of(filters: frozenset[str], *, alarming: bool = False) -> Statement:
    return Statement(select(func.count()).select_from(log_entries).where(*_where(filters, alarming=alarming)))


@cache
def counted_listing(filters: frozenset[str], *, alarming: bool = False) -> Statement:
    """The items, and before the members of each how many there are in all; one row of nothing else when the page is
    empty. What no index tells (a word, a module) is looked for in every entry once, not once more for the number."""
    found = _ids(filters, alarming=alarming).cte("found").prefix_with("MATERIALIZED")
    total = select(func.count().label("total")).select_from(found).subquery("counted")
    order = [found.c.created_at.desc(), found.c.id.desc()]
    page = (
        select(found.c.id, found.c.created_at)
        .order_by(*(order if filters <= {"since", "until"} else order[1:]))
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
        .subquery("page")
    )
    rows = total.outerjoin(page, true()).outerjoin(log_entries, log_entries.c.id == page.c.id)
    shown = select(total.c.total, *LOG_COLUMNS).select_from(rows)
    return Statement(shown.order_by(*newest_first(log_entries, filters)))


def _ids(filters: frozenset[str], *, alarming: bool) -> Select[tuple[int, int]]:
    return select(log_entries.c.id, log_entries.c.created_at).where(*_where(filters, alarming=alarming))


def _where(filters: frozenset[str], *, alarming: bool) -> list[ColumnElement[bool]]:
    conditions: dict[str, ColumnElement[bool]] = {
        "level": log_entries.c.level >= bindparam("level"),
        "module": log_entries.c.module_name == bindparam("module"),
        "execution_id": log_entries.c.execution_id == bindparam("execution_id"),
        "since": log_entries.c.created_at >= bindparam("since"),
        "until": log_entries.c.created_at < bindparam("until"),
        "q": _Folded().like(bindparam("q", type_=Text), escape="\\"),
    }
    where = [of_workflow(log_entries, filters), *(conditions[name] for name in sorted(filters))]
    if alarming:
        where.append(text(f"log_entries.level >= {int(Level.WARN)}"))  # type: ignore[arg-type]
    return where
