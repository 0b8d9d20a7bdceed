"""What happens, as it happens: entries are written here (`append`), and everyone who listens hears of them (`Hub`)."""

from penstock.streams.hub import Hub, Kind, Listener
from penstock.streams.journal import (
    LEVELS,
    STATUSES,
    ExecutionChange,
    Level,
    NewEvent,
    NewLog,
    append,
    forget,
)
from penstock.streams.reading import Entry, Event, LogEntry, Several
from penstock.streams.sse import EventStream

__all__ = [
    "LEVELS",
    "STATUSES",
    "Entry",
    "Event",
    "EventStream",
    "ExecutionChange",
    "Hub",
    "Kind",
    "Level",
    "Listener",
    "LogEntry",
    "NewEvent",
    "NewLog",
    "Several",
    "append",
    "forget",
]
