"""Entries as they are shown and streamed, and how they are read in the order of their ids."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from sqlalchemy import Select, bindparam, func, select

from penstock.http.times import rfc3339
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import events, log_entries
from penstock.streams.journal import LEVELS


class Event(msgspec.Struct, frozen=True, gc=False):
    id: int
    type: str
    workflow_id: str
    execution_id: str | None
    step_name: str | None
    data: msgspec.Raw
    created_at: str


class LogEntry(msgspec.Struct, frozen=True, gc=False):
    id: int
    workflow_id: str
    execution_id: str | None
    level: str
    message: str
    module_name: str
    fields: msgspec.Raw
    created_at: str


class Entry(msgspec.Struct, frozen=True, gc=False):
    """An entry on its way to listeners: encoded once for all of them, with what they can choose by."""

    id: int
    created_at: int
    shown: Event | LogEntry
    level: int
    frame: bytes


class Piece(msgspec.Struct, frozen=True, gc=False):
    """Entries on their way to everybody who wants the same of them."""

    last: int
    count: int
    frames: bytes


class Several(msgspec.Struct, frozen=True):
    """Entries of several workflows: what `statement` finds `after` an id and up to another (`upto`), by their ids."""

    name: str
    statement: Statement
    params: tuple[tuple[str, Any], ...]


Place = str | Several
"""A workflow by its id, or several."""


class Batch(msgspec.Struct, frozen=True):
    """What was read, up to which id everything is known now, and whether there is more to be read at once."""

    entries: Sequence[Entry]
    reached: int
    more: bool


EVENT_COLUMNS = (
    events.c.id,
    events.c.type,
    events.c.workflow_id,
    events.c.execution_id,
    events.c.step_name,
    events.c.data,
    events.c.created_at,
)
LOG_COLUMNS = (
    log_entries.c.id,
    log_entries.c.workflow_id,
    log_entries.c.execution_id,
    log_entries.c.level,
    log_entries.c.message,
    log_entries.c.module_name,
    log_entries.c.fields,
    log_entries.c.created_at,
)


def event_from(row: Row) -> Event:
    id_, type_, workflow_id, execution_id, step_name, data, created_at = row
    # Stored as JSON, shown as JSON: nothing to decode in between.
    return Event(id_, type_, workflow_id, execution_id, step_name, msgspec.Raw(data.encode()), rfc3339(created_at))


def log_from(row: Row) -> LogEntry:
    id_, workflow_id, execution_id, level, message, module_name, fields, created_at = row
    raw = msgspec.Raw(fields.encode())
    return LogEntry(id_, workflow_id, execution_id, LEVELS[level], message, module_name, raw, rfc3339(created_at))


def entry_from(kind: Literal["event", "log"], row: Row) -> Entry:
    shown: Event | LogEntry
    if kind == "event":
        # A line break in a type would end its line, and begin one of the sender's choice.
        shown, name, level = event_from(row), " ".join(str(row["type"]).split()), 0
    else:
        shown, name, level = log_from(row), "log", int(row["level"])
    frame = b"id: %d\nevent: %b\ndata: %b\n\n" % (shown.id, name.encode(), _encode(shown))
    return Entry(shown.id, int(row["created_at"]), shown, level, frame)


_encode = msgspec.json.Encoder().encode


def piece_of(entries: Sequence[Entry], matches: Callable[[Entry], bool]) -> Piece:
    """What is wanted of them, as one."""
    frames = [entry.frame for entry in entries if matches(entry)]
    return Piece(entries[-1].id if entries else 0, len(frames), b"".join(frames))


def _after(table: Any, columns: Any) -> Select[Any]:
    return (
        select(*columns)
        .where(table.c.workflow_id == bindparam("workflow_id"), table.c.id > bindparam("after"))
        .order_by(table.c.id)
        .limit(bindparam("limit"))
    )


READ = {"event": Statement(_after(events, EVENT_COLUMNS)), "log": Statement(_after(log_entries, LOG_COLUMNS))}
LAST = {
    kind: Statement(select(func.max(table.c.id)).where(table.c.workflow_id == bindparam("workflow_id")))
    for kind, table in (("event", events), ("log", log_entries))
}
HIGHEST = {kind: Statement(select(func.max(table.c.id))) for kind, table in (("event", events), ("log", log_entries))}
WRITTEN_TO = {
    kind: Statement(select(table.c.workflow_id).where(table.c.id > bindparam("after")).distinct())
    for kind, table in (("event", events), ("log", log_entries))
}
