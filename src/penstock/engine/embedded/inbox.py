"""Events in: kept until somebody consumes them or they expire, each consumed once by each listener.

An event is offered to everybody who listens when it comes, and counts as handled when all of them have decided. After a
crash, what was not handled is offered again; who consumed it before does not do so again.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

import structlog
from sqlalchemy import bindparam, false, func, or_, select, true, update

from penstock.engine.behalf import on_behalf_of
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, rfc3339
from penstock.engine.embedded.lanes import Lanes
from penstock.engine.embedded.lineage import unmarked
from penstock.engine.embedded.listener import Listener, Offered
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import Seal, Sealed
from penstock.engine.embedded.sinks import Sinks
from penstock.engine.embedded.writer import Portion, WriterEnded
from penstock.engine.host import Json, Received, Step
from penstock.engine.tasks.secrets import Secrets
from penstock.storage import Row, Statement, StorageError, now
from penstock.storage.engine_tables import inbox
from penstock.streams import NewEvent

if TYPE_CHECKING:
    from penstock.engine.embedded.host import EmbeddedHost

log = structlog.get_logger()

_LOOK_EVERY = 1.0
_LOOK_FOR_LOST_EVERY = 5  # looks
_PAGE = 100
_KEPT_AT_ONCE = 20
_JUST_NOW = 60 * 1_000_000

ADD = statements.ADD_EVENT_IN
_UNHANDLED = Statement(
    select(inbox.c.id, inbox.c.project_id, inbox.c.event, inbox.c.emitted, inbox.c.received_at, inbox.c.expires_at)
    .where(inbox.c.handled == false(), inbox.c.id > bindparam("after"))
    .order_by(inbox.c.id)
    .limit(_PAGE)
)
_ONE = Statement(select(inbox.c.event).where(inbox.c.id == bindparam("id")))
_LAST = Statement(select(func.max(inbox.c.id)))
_kept = (
    select(inbox.c.id, inbox.c.event)
    .where(
        inbox.c.project_id == bindparam("project_id"),
        inbox.c.expires_at > bindparam("now"),
        inbox.c.id > bindparam("after"),
        inbox.c.id <= bindparam("last"),
    )
    .order_by(inbox.c.id)
    .limit(_KEPT_AT_ONCE)
)
_KEPT = Statement(_kept.where(inbox.c.consumed == false()))
# Who listened before a crash was offered what is not handled, and may not have come to decide; and what came since it
# began to listen is for it, too, whoever was there again sooner and has consumed it.
_KEPT_AND_MISSED = Statement(
    _kept.where(or_(inbox.c.consumed == false(), inbox.c.handled == false(), inbox.c.id > bindparam("since")))
)
_HANDLED = Statement(update(inbox).where(inbox.c.id == bindparam("id_")).values(handled=true()))


def row_of(project_id: str, event: str, lives: int, *, emitted: bool) -> dict[str, Any]:
    at = now()
    return {
        "project_id": project_id,
        "event": event,
        "received_at": at,
        "expires_at": at + lives * 1_000_000,
        "emitted": emitted,
    }


def opened(seal: Seal, number: int, project_id: str, text: str) -> Offered | None:
    sealed = Sealed(seal, project_id, Secrets({}))
    try:
        event, lineage = unmarked(sealed.read(text))
    except Exception as error:
        # Sealed with a key that is gone. The others are not to wait for it.
        log.error("an event cannot be read", number=number, project_id=project_id, exc_info=error)
        return None
    return Offered(Received(number, event), sealed.secrets.learned, lineage)


def is_too_late(row: Row, at: int) -> bool:
    """It came while no engine ran, and nobody waits for it any more."""
    return bool(max(row["expires_at"], row["received_at"] + _JUST_NOW) < at)


class Inbox:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._listeners: defaultdict[str, set[Listener]] = defaultdict(set)
        self._something = asyncio.Event()
        self._last = 0
        self._lanes = Lanes()
        self._behind = False
        """Something was left in the database, as its project has enough in memory: the next look begins there."""
        self._sinks = Sinks(parts)
        self._underway: dict[int, asyncio.Task[None]] = {}
        """Offered, and not yet handled: somebody has not decided, or a sink does not take it."""

    def wake(self) -> None:
        self._something.set()

    def emit(self, portion: Portion, project_id: str, event: Json, sealed: Sealed) -> None:
        """With the step that emits it, or not at all."""
        row = row_of(project_id, sealed.stored(event), self._parts.limits.event_lives, emitted=True)
        portion.writes.append((ADD, row))
        self._something.set()

    async def run(self) -> None:
        looks = 0
        try:
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_EVERY):
                        await self._something.wait()
                self._something.clear()
                looks += 1
                try:
                    # What was emitted a moment ago is on its way to the disk.
                    await self._parts.writer.flush()
                    # From the beginning now and then: what could not be offered is offered again.
                    await self._look(0 if self._behind or looks % _LOOK_FOR_LOST_EVERY == 0 else self._last)
                except StorageError as error:
                    log.warning("events wait for the database", error=str(error))
        finally:
            for task in self._underway.values():
                task.cancel()

    async def _look(self, after: int) -> None:
        full: set[str] = set()
        while rows := await self._parts.database.all(_UNHANDLED, after=after):
            # Whoever was deployed before an event came hears of it.
            await self._parts.schedules.refresh()
            for row in rows:
                after, project_id = int(row["id"]), str(row["project_id"])
                if self._lanes.full(project_id):
                    full.add(project_id)
                if after not in self._underway and project_id not in full:
                    self._offer(row)
            self._last = max(self._last, after)
        self._behind = bool(full)

    def _offer(self, row: Row) -> None:
        number, project_id, at = int(row["id"]), str(row["project_id"]), now()
        if is_too_late(row, at):
            self._parts.writer.of("").writes.append((_HANDLED, {"id_": number}))
            return
        offered = self._opened(number, project_id, str(row["event"]))
        if offered is None:
            self._parts.writer.of("").writes.append((_HANDLED, {"id_": number}))
            return
        decisions = [listener.offer(offered) for listener in list(self._listeners.get(project_id, ()))]
        size = len(row["event"])
        self._lanes.take(project_id, size)
        task = asyncio.create_task(self._handle(project_id, offered, size, decisions, emitted=bool(row["emitted"])))
        self._underway[number] = task
        task.add_done_callback(lambda _: self._underway.pop(number, None))

    def _opened(self, number: int, project_id: str, text: str) -> Offered | None:
        return opened(self._parts.seal, number, project_id, text)

    async def _handle(
        self, project_id: str, offered: Offered, size: int, decisions: list["asyncio.Future[None]"], *, emitted: bool
    ) -> None:
        on_behalf_of.set(project_id)
        async with self._lanes.turn(project_id, size):
            try:
                await self._parts.schedules.offer(project_id, offered)
            except Exception as error:
                # It would be the same the next time, and the next events wait for this one.
                number = offered.received.number
                log.error("an event could not be offered", number=number, project_id=project_id, exc_info=error)
        if self._behind and not self._lanes.full(project_id):
            self._something.set()
        is_sent = emitted and self._parts.limits.sinks
        number, event = offered.received.number, offered.received.event if is_sent else None
        del offered  # somebody may take days to decide
        if decisions:
            await asyncio.wait(decisions)
        if event is not None:
            await self._sinks.send(event)
        self._parts.writer.of("").writes.append((_HANDLED, {"id_": number}))
        with suppress(WriterEnded):
            await self._parts.writer.flush()

    @asynccontextmanager
    async def listen(self, host: "EmbeddedHost", step: Step) -> AsyncIterator[Listener]:
        execution = host.execution
        earlier = step.started_at is not None and "listening" in step.state

        async def read(number: int) -> Offered | None:
            row = await self._parts.database.one(_ONE, id=number)
            return None if row is None else self._opened(number, execution.project_id, str(row["event"]))

        listener = Listener(self._parts.writer, execution.id, step.position, host.sealed, read)
        # Registered before it looks at what is kept: an event that comes in between is then seen twice, not never.
        self._listeners[execution.project_id].add(listener)
        try:
            with self._parts.slots.lent(execution.id, for_others=True):
                last = await self._newest()
                if not earlier:
                    step.state = step.state | {"listening": True, "since": last}
                    host.remembered(step)
                    self._tell(host, step)
                await self._begin(listener, execution, last, since=step.state.get("since", last) if earlier else None)
                yield listener
        finally:
            self._listeners[execution.project_id].discard(listener)
            if not self._listeners[execution.project_id]:
                del self._listeners[execution.project_id]
            # Who is taken up again elsewhere decides there.
            if not host.abandoned:
                listener.end()

    async def _newest(self) -> int:
        row = await self._parts.database.one(_LAST)
        return int(row[0]) if row is not None and row[0] is not None else 0

    async def _begin(self, listener: Listener, execution: Execution, last: int, *, since: int | None) -> None:
        """`since`: of one that listened before, the last event that was there when it began to."""
        if since is not None:
            rows = await self._parts.database.all(statements.CONSUMED, execution_id=execution.id)
            listener.recall((int(number), event) for position, number, event in rows if position == listener.position)
        await listener.begin(self._kept(execution.project_id, last, since), last)

    async def _kept(self, project_id: str, last: int, since: int | None) -> AsyncIterator[Offered]:
        database, after = self._parts.database, 0
        kept, given = (_KEPT, {}) if since is None else (_KEPT_AND_MISSED, {"since": since})
        while rows := await database.all(kept, project_id=project_id, now=now(), after=after, last=last, **given):
            await asyncio.sleep(0)  # a hundred thousand that nobody wants keep nobody waiting
            for row in rows:
                after = int(row["id"])
                if (offered := self._opened(after, project_id, str(row["event"]))) is not None:
                    yield offered

    def _tell(self, host: "EmbeddedHost", step: Step) -> None:
        execution, at = host.execution, now()
        self._parts.writer.of(execution.id).events.append(
            NewEvent(
                execution.workflow_id,
                "workflow.correlation-started",
                execution.id,
                step.task.name,
                {"name": host.name, "startedAt": rfc3339(at)},
                at,
            )
        )
