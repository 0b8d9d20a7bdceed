"""How far the ids of all workflows are settled: nothing comes any more with an id up to there.

Within a workflow, ids are in the order of commits. Over several they are not, where several write at once: PostgreSQL
hands out ids at once and commits them in any order. But whoever has been given an id holds a lane until the commit. So
what was in the table, once all who held one then have let go of it, has nothing missing before it.
"""

import asyncio
from typing import Literal

from sqlalchemy import text

from penstock.storage import Database, Statement
from penstock.streams.journal import LOCK_CLASS
from penstock.streams.reading import HIGHEST

_PATIENCE = 100  # looks, a moment apart
_MOMENT = 0.01
# The highest id is that of the statement's snapshot, which is older than its look at the locks.
_HOLDERS = {
    kind: Statement(
        text(
            f"SELECT (SELECT max(id) FROM {table}) AS highest, array_agg(virtualtransaction) AS holders FROM pg_locks "  # noqa: S608
            "WHERE locktype = 'advisory' AND granted AND objsubid = 2 "
            f"AND classid = {LOCK_CLASS} "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    )
    for kind, table in (("event", "events"), ("log", "log_entries"))
}


async def settled(database: Database, kind: Literal["event", "log"]) -> int | None:
    """The highest id that is; None when nobody can say now, as somebody takes long to commit."""
    if database.dialect == "sqlite":
        row = await database.one(HIGHEST[kind])
        return int(row[0] or 0) if row is not None else 0
    row = await database.one(_HOLDERS[kind])
    assert row is not None  # noqa: S101
    highest, holders = int(row["highest"] or 0), set(row["holders"] or ())
    for _ in range(_PATIENCE):
        if not holders:
            return highest
        await asyncio.sleep(_MOMENT)
        row = await database.one(_HOLDERS[kind])
        holders &= set((row["holders"] if row is not None else None) or ())
    return None
