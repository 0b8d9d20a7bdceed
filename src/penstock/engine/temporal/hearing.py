"""Events in, for listening steps: read from the inbox by a worker, which notes what each of them has looked at."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import bindparam, exists, false, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from temporalio import activity

from penstock.engine.embedded import statements
from penstock.engine.temporal import passed
from penstock.engine.temporal.apart import require_running
from penstock.storage import Database, Refused, Statement, now
from penstock.storage.engine_tables import consumed_events, inbox, temporal_listeners

_AT_ONCE = 20
_LAST = Statement(select(func.max(inbox.c.id)))
_listen = insert(temporal_listeners).values(
    execution_id=bindparam("execution_id"),
    position=bindparam("position"),
    project_id=bindparam("project_id"),
    seen=bindparam("seen"),
)
_LISTEN = Statement(_listen.on_conflict_do_nothing())
_of_one = (
    temporal_listeners.c.execution_id == bindparam("execution_id_"),
    temporal_listeners.c.position == bindparam("position_"),
)
_SEEN = Statement(update(temporal_listeners).where(*_of_one).values(seen=bindparam("seen")))
# By a walk of this very execution that was lost before Temporal heard of it: the one that goes on finds it again.
_consumed_here = exists().where(
    consumed_events.c.execution_id == bindparam("execution_id"),
    consumed_events.c.position == bindparam("position"),
    consumed_events.c.number == inbox.c.id,
)
# What was there before it listened is only for who consumes it first; what came later is for everybody who listens.
_EVENTS = Statement(
    select(inbox.c.id, inbox.c.event)
    .where(
        inbox.c.project_id == bindparam("project_id"),
        inbox.c.id > bindparam("after"),
        or_(inbox.c.id > bindparam("since"), inbox.c.consumed == false(), _consumed_here),
        or_(inbox.c.id > bindparam("since_"), inbox.c.expires_at > bindparam("now")),
    )
    .order_by(inbox.c.id)
    .limit(_AT_ONCE)
)


class Hearing:
    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def all(self) -> list[Callable[..., Any]]:
        return [self.listen, self.look]

    @activity.defn
    async def listen(self, asked: passed.Listen) -> passed.Heard:
        try:
            async with self._database.transaction() as tx:
                await tx.run(
                    _LISTEN,
                    execution_id=asked.execution_id,
                    position=asked.position,
                    project_id=asked.project_id,
                    seen=0,
                )
        except Refused:
            return passed.Heard(last=0)  # it was deleted, as it will find when it writes
        consumed: list[tuple[int, str]] = []
        if asked.earlier:
            rows = await self._database.all(statements.CONSUMED, execution_id=asked.execution_id)
            consumed = [(int(row["number"]), row["event"]) for row in rows if row["position"] == asked.position]
        return passed.Heard(last=await self._last(), consumed=consumed)

    @activity.defn
    async def look(self, asked: passed.Look) -> list[tuple[int, str]]:
        if asked.step:
            await require_running(self._database, asked.step, stored=False)
        last = await self._last()
        rows = await self._database.all(
            _EVENTS,
            execution_id=asked.execution_id,
            position=asked.position,
            project_id=asked.project_id,
            after=asked.after,
            since=asked.since,
            since_=asked.since,
            now=now(),
        )
        # It looks again by itself until there is nothing more. What comes after this is rung for, twice if need be.
        seen = last if len(rows) < _AT_ONCE else int(rows[-1]["id"])
        async with self._database.transaction() as tx:
            await tx.run(_SEEN, execution_id_=asked.execution_id, position_=asked.position, seen=seen)
        return [(int(row["id"]), str(row["event"])) for row in rows]

    async def _last(self) -> int:
        row = await self._database.one(_LAST)
        return int(row[0]) if row is not None and row[0] is not None else 0
