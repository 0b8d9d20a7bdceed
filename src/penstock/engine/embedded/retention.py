"""Ended executions that are older than their keep go, with their steps, events and logs; and events nobody wants."""

import asyncio
from collections import Counter

from sqlalchemy import Delete, Table, bindparam, delete, exists, or_, select, true

from penstock.storage import Database, Statement, Transaction, now
from penstock.storage.engine_tables import inbox, temporal_listeners
from penstock.storage.platform_tables import events, executions, log_entries, steps
from penstock.streams import LEVELS, ExecutionChange, forget

BATCH = 50

_OLD = Statement(
    select(executions.c.id, executions.c.workflow_id, executions.c.created_at, executions.c.status)
    .where(executions.c.completed_at < bindparam("older_than"))
    .order_by(executions.c.completed_at)
    .limit(BATCH)
)
# An execution may have a hundred thousand steps; a statement that deletes them all would keep everybody waiting.
_SLICE = 500


def _some_of(table: Table) -> Delete:
    some = select(table.c.id).where(table.c.execution_id == bindparam("id")).limit(_SLICE)
    return delete(table).where(table.c.id.in_(some))


_EVENTS = Statement(_some_of(events).returning(events.c.workflow_id))
_LOGS = Statement(_some_of(log_entries).returning(log_entries.c.workflow_id, log_entries.c.level))
_STEPS = Statement(_some_of(steps))
_EXECUTION = Statement(delete(executions).where(executions.c.id == bindparam("id")))
_EVENTS_IN = Statement(
    delete(inbox).where(
        inbox.c.id.in_(
            select(inbox.c.id)
            .where(
                inbox.c.handled == true(),
                or_(inbox.c.consumed == true(), inbox.c.expires_at < bindparam("now")),
                # A moment for whoever is just about to consume it, too.
                inbox.c.received_at < bindparam("seen_by_all"),
                # Who listens on Temporal may be behind for as long as its workers are away.
                ~exists().where(
                    temporal_listeners.c.project_id == inbox.c.project_id, temporal_listeners.c.seen < inbox.c.id
                ),
            )
            .order_by(inbox.c.id)
            .limit(1000)
        )
    )
)
_SEEN_BY_ALL = 60 * 1_000_000


async def sweep_executions(database: Database, older_than: int) -> int:
    """Delete what ended before then, a batch at a time; how many executions."""
    swept = 0
    while rows := await database.all(_OLD, older_than=older_than):
        async with database.transaction() as tx:
            entries: Counter[tuple[str, str]] = Counter()
            # In the order of their ids, as everybody who locks several.
            for row in sorted(rows, key=lambda row: str(row["id"])):
                await _delete(tx, str(row["id"]), entries)
            await forget(
                tx,
                entries,
                [ExecutionChange(str(row["workflow_id"]), row["created_at"], row["status"], None) for row in rows],
            )
        swept += len(rows)
    return swept


async def _delete(tx: Transaction, id_: str, entries: Counter[tuple[str, str]]) -> None:
    while rows := await tx.all(_EVENTS, id=id_):
        entries.update((str(row[0]), "events") for row in rows)
        await asyncio.sleep(0)
    while rows := await tx.all(_LOGS, id=id_):
        entries.update((str(row[0]), LEVELS[row[1]]) for row in rows)
        await asyncio.sleep(0)
    deleted = _SLICE
    while deleted == _SLICE:
        deleted = await tx.run(_STEPS, id=id_)
        await asyncio.sleep(0)
    await tx.run(_EXECUTION, id=id_)


async def sweep_inbox(database: Database, at: int | None = None) -> None:
    """Events that were consumed, or that nobody wanted in time."""
    at = now() if at is None else at
    while True:
        async with database.transaction() as tx:
            if await tx.run(_EVENTS_IN, now=at, seen_by_all=at - _SEEN_BY_ALL) == 0:
                return
