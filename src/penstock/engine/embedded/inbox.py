"""Events in: kept until somebody consumes them or they expire, each consumed once by each listener.

An event is offered to everybody who listens when it comes, and counts as handled when all of them have decided. After a
crash, what was not handled is offered again; who consumed it before does not do so again.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import structlog
from sqlalchemy import bindparam, false, or_, select, true, update

from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, encoded, rfc3339
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sinks import Sinks
from penstock.engine.embedded.writer import Portion
from penstock.engine.host import Json, Received, Step
from penstock.storage import Row, Statement, StorageError, now
from penstock.storage.engine_tables import inbox
from penstock.streams import NewEvent

log = structlog.get_logger()

_LOOK_EVERY = 1.0
_PAGE = 500

ADD = statements.ADD_EVENT_IN
_UNHANDLED = Statement(
    select(inbox.c.id, inbox.c.project_id, inbox.c.event, inbox.c.emitted)
    .where(inbox.c.handled == false(), inbox.c.id > bindparam("after"))
    .order_by(inbox.c.id)
    .limit(_PAGE)
)
_kept = select(inbox.c.id, inbox.c.event).where(
    inbox.c.project_id == bindparam("project_id"), inbox.c.expires_at > bindparam("now")
)
_KEPT = Statement(_kept.where(inbox.c.consumed == false()).order_by(inbox.c.id).limit(10_000))
# Who listened before a crash was offered these, and may not have come to decide.
_KEPT_OR_UNHANDLED = Statement(
    _kept.where(or_(inbox.c.consumed == false(), inbox.c.handled == false())).order_by(inbox.c.id).limit(10_000)
)
_HANDLED = Statement(update(inbox).where(inbox.c.id == bindparam("id_")).values(handled=true()))
CONSUMED = Statement(update(inbox).where(inbox.c.id == bindparam("id_")).values(consumed=true()))


def row_of(project_id: str, event: Json, lives: int, *, emitted: bool) -> dict[str, Any]:
    at = now()
    return {
        "project_id": project_id,
        "event": encoded(event),
        "received_at": at,
        "expires_at": at + lives * 1_000_000,
        "emitted": emitted,
    }


class Inbox:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._listeners: defaultdict[str, set[Listener]] = defaultdict(set)
        self._something = asyncio.Event()
        self._last = 0
        self._sinks = Sinks(parts)
        self._deciding: set[asyncio.Task[None]] = set()

    def wake(self) -> None:
        self._something.set()

    def emit(self, portion: Portion, project_id: str, event: Json) -> None:
        """With the step that emits it, or not at all."""
        portion.writes.append((ADD, row_of(project_id, event, self._parts.limits.event_lives, emitted=True)))
        self._something.set()

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._something.wait()
            self._something.clear()
            try:
                # What was emitted a moment ago is on its way to the disk.
                await self._parts.writer.flush()
                while rows := await self._parts.database.all(_UNHANDLED, after=self._last):
                    for row in rows:
                        await self._offer(row)
            except StorageError as error:
                log.warning("events wait for the database", error=str(error))

    async def _offer(self, row: Row) -> None:
        number, project_id = int(row["id"]), str(row["project_id"])
        self._last = number
        received = Received(number, msgspec.json.decode(row["event"]))
        decisions = [listener.offer(received) for listener in list(self._listeners.get(project_id, ()))]
        await self._parts.schedules.offer(project_id, received)
        task = asyncio.create_task(self._when_decided(number, decisions, received.event, emitted=bool(row["emitted"])))
        self._deciding.add(task)
        task.add_done_callback(self._deciding.discard)

    async def _when_decided(
        self, number: int, decisions: list["asyncio.Future[None]"], event: Json, *, emitted: bool
    ) -> None:
        if decisions:
            await asyncio.wait(decisions)
        if emitted:
            await self._sinks.send(event)
        self._parts.writer.of("").writes.append((_HANDLED, {"id_": number}))

    @asynccontextmanager
    async def listen(
        self, execution: Execution, step: Step, remember: Callable[[Step], None]
    ) -> AsyncIterator["Listener"]:
        earlier = step.started_at is not None and "listening" in step.state
        listener = Listener(self._parts, execution, step)
        if not earlier:
            step.state = step.state | {"listening": True}
            remember(step)
            self._tell(execution, step)
        # Registered before it looks at what is kept: an event that comes in between is then seen twice, not never.
        self._listeners[execution.project_id].add(listener)
        try:
            await listener.begin(earlier=earlier)
            with self._parts.slots.lent():
                yield listener
        finally:
            self._listeners[execution.project_id].discard(listener)
            if not self._listeners[execution.project_id]:
                del self._listeners[execution.project_id]
            listener.end()

    def _tell(self, execution: Execution, step: Step) -> None:
        at = now()
        self._parts.writer.of(execution.id).events.append(
            NewEvent(
                execution.workflow_id,
                "workflow.correlation-started",
                execution.id,
                step.task.name,
                {"name": execution.id, "startedAt": rfc3339(at)},
                at,
            )
        )


class Listener:
    def __init__(self, parts: EngineParts, execution: Execution, step: Step) -> None:
        self.consumed: list[Received] = []
        self._parts = parts
        self._execution = execution
        self._step = step
        self._seen = 0
        self._waiting: asyncio.Queue[tuple[Received, asyncio.Future[None]]] = asyncio.Queue()
        self._deciding: asyncio.Future[None] | None = None

    async def begin(self, *, earlier: bool) -> None:
        execution, database = self._execution, self._parts.database
        if earlier:
            rows = await database.all(statements.CONSUMED, execution_id=execution.id)
            self.consumed = [
                Received(int(number), msgspec.json.decode(event))
                for position, number, event in rows
                if position == self._step.position
            ]
        done = {received.number for received in self.consumed}
        kept = _KEPT_OR_UNHANDLED if earlier else _KEPT
        for row in await database.all(kept, project_id=execution.project_id, now=now()):
            number = int(row["id"])
            if number not in done and number > self._seen:
                self.offer(Received(number, msgspec.json.decode(row["event"])))
        self._done = done

    def offer(self, received: Received) -> "asyncio.Future[None]":
        """The future is done when it has decided."""
        decided: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if received.number <= self._seen:
            decided.set_result(None)
        else:
            self._seen = received.number
            self._waiting.put_nowait((received, decided))
        return decided

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        self._decided()
        received, self._deciding = await self._waiting.get()
        return received

    async def consume(self, received: Received) -> None:
        portion = self._parts.writer.of(self._execution.id)
        portion.writes.append(
            (
                statements.ADD_CONSUMED,
                {
                    "execution_id": self._execution.id,
                    "position": self._step.position,
                    "number": received.number,
                    "event": encoded(received.event),
                },
            )
        )
        portion.writes.append((CONSUMED, {"id_": received.number}))
        await self._parts.writer.flush()
        self._decided()

    def _decided(self) -> None:
        if self._deciding is not None and not self._deciding.done():
            self._deciding.set_result(None)

    def end(self) -> None:
        """Whatever it was still offered is nothing to it any more."""
        self._decided()
        while not self._waiting.empty():
            _, decided = self._waiting.get_nowait()
            if not decided.done():
                decided.set_result(None)
