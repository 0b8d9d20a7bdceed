"""A listening step inside a workflow. The truth is the inbox; a signal is a doorbell, and says only: look again."""

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from temporalio import workflow

from penstock.engine.embedded import listener, statements
from penstock.engine.embedded.execution import rfc3339
from penstock.engine.embedded.lineage import unmarked
from penstock.engine.embedded.sealing import Seal, Sealed
from penstock.engine.host import Received, Step
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.temporal import passed
from penstock.engine.temporal.calls import near
from penstock.engine.temporal.written import DROP_LISTENER
from penstock.streams import NewEvent

if TYPE_CHECKING:
    from penstock.engine.temporal.host import TemporalHost

Rows = list[tuple[int, str]]


class Doorbell:
    """What signals bring to one workflow: that events came, and messages of subscriptions."""

    def __init__(self) -> None:
        self.rung = 0
        self._messages: defaultdict[str, asyncio.Queue[passed.Message | None]] = defaultdict(asyncio.Queue)

    def ring(self) -> None:
        self.rung += 1

    def bring(self, message: passed.Message) -> None:
        if message.position in self._messages:
            self._messages[message.position].put_nowait(message)

    def messages(self, position: str) -> "asyncio.Queue[passed.Message | None]":
        return self._messages[position]

    def forget(self, position: str) -> None:
        self._messages.pop(position, None)


@asynccontextmanager
async def listening(host: "TemporalHost", step: Step, seal: Seal, bell: Doorbell) -> AsyncIterator["TemporalListening"]:
    execution = host.execution
    earlier = "listening" in step.state
    # On the list before it looks: whoever brings an event later finds it there.
    heard = await near(
        "listen",
        passed.Listen(
            execution_id=execution.id, project_id=execution.project_id, position=step.position, earlier=earlier
        ),
        passed.Heard,
    )
    if "since" not in step.state:
        # One that began to listen on the embedded engine has none, either.
        step.state = step.state | {"listening": True, "since": heard.last}
        host.remembered(step)
    if not earlier:
        _tell(host, step)
    listens = TemporalListening(host, step, int(step.state["since"]), seal, bell)
    listens.consumed = [Received(number, host.sealed.read(text)) for number, text in heard.consumed]
    try:
        yield listens
    finally:
        if not host.abandoned:
            row = {"execution_id_": execution.id, "position_": step.position}
            host.portion.writes.append((DROP_LISTENER, row))


def _tell(host: "TemporalHost", step: Step) -> None:
    execution, at = host.execution, host.now()
    data = {"name": host.name, "startedAt": rfc3339(at)}
    host.portion.events.append(
        NewEvent(execution.workflow_id, "workflow.correlation-started", execution.id, step.task.name, data, at)
    )


class TemporalListening:
    def __init__(self, host: "TemporalHost", step: Step, since: int, seal: Seal, bell: Doorbell) -> None:
        self.consumed: list[Received] = []
        self._host = host
        self._position = step.position
        self._step = step.id
        self._since = since
        self._seal = seal
        self._bell = bell
        self._after = 0
        self._page: deque[tuple[int, str]] = deque()
        self._hidden: frozenset[str] = frozenset()

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        numbers = {received.number for received in self.consumed}
        while True:
            await self._host.stay()
            if not self._page:
                await self._look()
                continue
            number, text = self._page.popleft()
            self._after = number
            if number not in numbers and (received := self._opened(number, text)) is not None:
                return received

    async def _look(self) -> None:
        rung, execution = self._bell.rung, self._host.execution
        look = passed.Look(
            execution_id=execution.id,
            project_id=execution.project_id,
            position=self._position,
            after=self._after,
            since=self._since,
            step=self._step,
        )
        async with self._host.of_what_is_stored():
            self._page.extend(await near("look", look, Rows))
        if not self._page:
            await workflow.wait_condition(lambda: self._bell.rung != rung or self._host.leaving)

    def _opened(self, number: int, text: str) -> Received | None:
        sealed = Sealed(self._seal, self._host.execution.project_id, Secrets({}))
        try:
            event, _ = unmarked(sealed.read(text))
        except Exception:  # noqa: BLE001 - sealed with a key that is gone; the worker's log says so
            return None
        self._hidden = sealed.secrets.learned
        return Received(number, event)

    async def consume(self, received: Received) -> None:
        self._host.sealed.learn(self._hidden)
        row = {
            "execution_id": self._host.execution_id,
            "position": self._position,
            "number": received.number,
            "event": self._host.sealed.stored(received.event),
        }
        writes = self._host.portion.writes
        writes.append((statements.ADD_CONSUMED, row))
        writes.append((listener.CONSUMED, {"id_": received.number}))
        await self._host.settled()
