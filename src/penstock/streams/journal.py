"""Writing events and logs, and counting them and the executions that they tell of, in the writer's transaction.

Ids are given out before a commit, so two writers could commit in the other order, and a reader that has seen the
higher id would never look for the lower. Hence a lock from the first id to the commit, for each workflow: who has
seen entry n of a workflow has seen every earlier one. SQLite has one writer, and needs none.
"""

import asyncio
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Any, Protocol
from weakref import WeakSet

import msgspec
from msgspec.structs import astuple
from sqlalchemy import Table, bindparam
from sqlalchemy import insert as plain_insert
from sqlalchemy.dialects.postgresql import insert

from penstock.ids import this_process
from penstock.storage import Statement, Transaction, now
from penstock.storage.platform_tables import events, log_entries, workflow_counts, workflow_hours

STATUSES = ("pending", "running", "completed", "failed", "cancelled")
HOUR = 3600 * 1_000_000
CHANNEL = "penstock_streams"
LOCK_CLASS = 0x7065_6E73
# Not one lock for each workflow: a batch may touch thousands, and PostgreSQL's table of locks is small.
_LANES = 64
_LONGEST_SILENCE = "4000"  # milliseconds, from here to the commit
_MOST_NAMED = 200  # 8,000 bytes is the most that a notification may carry
_LONGEST_MESSAGE = 64 * 1024
_AT_ONCE = 500  # entries that are made ready before others get their turn


class Level(IntEnum):
    DEBUG = 0
    INFO = 1
    WARN = 2
    ERROR = 3
    FATAL = 4

    @property
    def label(self) -> str:
        return self.name.lower()


LEVELS = tuple(level.label for level in Level)


class NewEvent(msgspec.Struct, frozen=True, gc=False):
    """`type` without the prefix of the DSL's CloudEvents: `workflow.started`, `task.completed`, …"""

    workflow_id: str
    type: str
    execution_id: str | None = None
    step_name: str | None = None
    data: dict[str, Any] | str = {}
    """Or its JSON."""
    created_at: int | None = None


class NewLog(msgspec.Struct, frozen=True, gc=False):
    workflow_id: str
    level: Level
    message: str
    module_name: str = ""
    execution_id: str | None = None
    fields: dict[str, Any] | str = {}
    """Or its JSON."""
    created_at: int | None = None


class ExecutionChange(msgspec.Struct, frozen=True, gc=False):
    """An execution that came to be (`before` is None), went (`after` is None) or has another status now."""

    workflow_id: str
    created_at: int
    before: str | None
    after: str | None


def _adding(table: Table, *names: str) -> Statement:
    return Statement(plain_insert(table).values({name: bindparam(name) for name in names}), *names)


_ADD_EVENT = _adding(events, "workflow_id", "type", "execution_id", "step_name", "data", "created_at")
_ADD_LOG = _adding(
    log_entries, "workflow_id", "execution_id", "level", "message", "folded", "module_name", "fields", "created_at"
)
_count = insert(workflow_counts).values(workflow_id=bindparam("workflow_id"), what=bindparam("what"), n=bindparam("n"))
_COUNT = Statement(
    _count.on_conflict_do_update(
        index_elements=["workflow_id", "what"], set_={"n": workflow_counts.c.n + _count.excluded.n}
    )
)
_hour = insert(workflow_hours).values(
    workflow_id=bindparam("workflow_id"), hour=bindparam("hour"), status=bindparam("status"), n=bindparam("n")
)
_COUNT_HOUR = Statement(
    _hour.on_conflict_do_update(
        index_elements=["workflow_id", "hour", "status"], set_={"n": workflow_hours.c.n + _hour.excluded.n}
    )
)


async def append(
    tx: Transaction,
    *,
    events: Sequence[NewEvent] = (),
    logs: Sequence[NewLog] = (),
    executions: Sequence[ExecutionChange] = (),
) -> None:
    """Write what happened; whoever listens hears of it when, and only when, the transaction is durable.

    Call it last in a transaction: from here to the commit, others who write about the same workflow wait.
    """
    told = {event.workflow_id for event in events} | {entry.workflow_id for entry in logs}
    await _take_lanes(tx, told | {change.workflow_id for change in executions})
    at = now()
    for begin in range(0, len(events), _AT_ONCE):
        await _let_others(begin)
        await tx.run_rows(_ADD_EVENT, [_event_row(entry, at) for entry in events[begin : begin + _AT_ONCE]])
    for begin in range(0, len(logs), _AT_ONCE):
        await _let_others(begin)
        await tx.run_rows(_ADD_LOG, [_log_row(entry, at) for entry in logs[begin : begin + _AT_ONCE]])
    await _count_all(tx, events, logs, executions)
    if told:
        await _tell(tx, told)


async def _let_others(done: int) -> None:
    """Between portions only: what is ready is to be on its way before others compute."""
    if done:
        await asyncio.sleep(0)


def _event_row(entry: NewEvent, at: int) -> tuple[Any, ...]:
    data = entry.data
    if type(data) is str and entry.created_at:
        return astuple(entry)
    return (
        entry.workflow_id,
        entry.type,
        entry.execution_id,
        entry.step_name,
        data if isinstance(data, str) else _encoded(data),
        entry.created_at or at,
    )


def _log_row(entry: NewLog, at: int) -> tuple[Any, ...]:
    message, fields = entry.message, entry.fields
    # What a script printed may hold what PostgreSQL cannot store, and may be endless.
    plain = message.isascii() and len(message) <= _LONGEST_MESSAGE and "\0" not in message
    if not plain:
        message = message[:_LONGEST_MESSAGE].replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    return (
        entry.workflow_id,
        entry.execution_id,
        int(entry.level),
        message,
        None if message.isascii() else message.lower(),
        entry.module_name,
        fields if isinstance(fields, str) else _encoded(fields),
        entry.created_at or at,
    )


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


async def _count_all(
    tx: Transaction, events: Sequence[NewEvent], logs: Sequence[NewLog], executions: Sequence[ExecutionChange]
) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for workflow_id, n in Counter([entry.workflow_id for entry in events]).items():
        counts[workflow_id, "events"] += n
    for (workflow_id, level), n in Counter([(entry.workflow_id, entry.level) for entry in logs]).items():
        counts[workflow_id, LEVELS[level]] += n
    await _move_counters(tx, counts, executions)


async def forget(tx: Transaction, entries: Counter[tuple[str, str]], executions: Sequence[ExecutionChange]) -> None:
    """Count what was deleted: so many `events`, or logs of a level, of a workflow; and executions."""
    lost = Counter({name: -n for name, n in entries.items()})
    await _take_lanes(tx, {id_ for id_, _ in entries} | {change.workflow_id for change in executions})
    await _move_counters(tx, lost, executions)


async def _move_counters(
    tx: Transaction, counts: Counter[tuple[str, str]], executions: Sequence[ExecutionChange]
) -> None:
    """One change of each counter, however many entries: a batch of a thousand steps moves a handful of them."""
    hours: Counter[tuple[str, int, str]] = Counter()
    alike = Counter(
        [(each.workflow_id, each.created_at // HOUR * HOUR, each.before, each.after) for each in executions]
    )
    for (workflow_id, hour, before, after), many in alike.items():
        for status, n in ((before, -many), (after, many)):
            if status is not None:
                counts[workflow_id, status] += n
                hours[workflow_id, hour, status] += n
    await tx.run_many(
        _COUNT, [{"workflow_id": id_, "what": what, "n": n} for (id_, what), n in sorted(counts.items()) if n]
    )
    await tx.run_many(
        _COUNT_HOUR,
        [
            {"workflow_id": id_, "hour": hour, "status": status, "n": n}
            for (id_, hour, status), n in sorted(hours.items())
            if n
        ],
    )


async def _take_lanes(tx: Transaction, workflow_ids: Iterable[str]) -> None:
    if tx.dialect == "postgresql":
        # In one order for everybody, so that no two writers wait for each other.
        lanes = sorted({zlib.crc32(id_.encode()) % _LANES for id_ in workflow_ids})
        # A process that comes to a halt before its commit must not keep all others waiting.
        await tx.run_text(
            "SELECT set_config('idle_in_transaction_session_timeout', $3, true), pg_advisory_xact_lock($1::int, lane) "
            "FROM unnest($2::int[]) AS lane",
            LOCK_CLASS,
            lanes,
            _LONGEST_SILENCE,
        )


async def _tell(tx: Transaction, workflow_ids: set[str]) -> None:
    tx.after_commit(lambda: wake_all(workflow_ids))
    if tx.dialect == "postgresql":
        named = workflow_ids if len(workflow_ids) <= _MOST_NAMED else ()
        await tx.run_text("SELECT pg_notify($1, $2)", CHANNEL, " ".join([this_process(), *named]))


class Sleeper(Protocol):
    """Somebody in this process who wants to know of commits."""

    def wake(self, workflow_ids: Iterable[str]) -> None: ...


# Whoever writes need not know who listens, and the other way round: this is where they meet.
sleepers: WeakSet[Sleeper] = WeakSet()


def wake_all(workflow_ids: Iterable[str]) -> None:
    for sleeper in list(sleepers):
        sleeper.wake(workflow_ids)
