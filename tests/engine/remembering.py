"""A host that writes down every change as a durable one would store it, and can be made anew from any part of that.

The world around it is idempotent, as services that heed the idempotency key are: asked again, it answers the same.
"""

import asyncio
import copy
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock.dsl.model import Workflow
from penstock.engine.faults import Fault
from penstock.engine.host import ChildOf, Json, Listening, Received, Step
from penstock.engine.interpreter import interpret
from penstock.engine.local import Library, LocalEngine, LocalHost
from penstock.engine.local.bus import LocalListening
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Performed
from penstock.ids import uuid7

ENDED = {"completed", "skipped", "failed", "cancelled"}


class World:
    """What outlives the power: who was asked for what, and the answers."""

    def __init__(self, performer: Performer, library: Library, secrets: Secrets) -> None:
        self.performer = performer
        self.library = library
        self.secrets = secrets
        self.answers: dict[str, Any] = {}


class Journal:
    """What was stored, in its order: steps as they stood, with what they emit, and events that were consumed."""

    def __init__(self, entries: list[tuple[str, Any]] | None = None) -> None:
        self.entries = entries if entries is not None else []

    @property
    def at(self) -> int | None:
        """When the last of it was stored."""
        times = (each for step in self.steps.values() for each in (step.started_at, step.completed_at))
        return max((each for each in times if each is not None), default=None)

    def before(self, cut: int) -> "Journal":
        return Journal(self.entries[:cut])

    @property
    def steps(self) -> dict[str, Step]:
        """The last that is known of each."""
        return {entry[0].position: entry[0] for kind, entry in self.entries if kind == "step"}


class RememberingHost(LocalHost):
    def __init__(
        self, world: World, workflow: Workflow, events: list[Json], journal: Journal, key: str, began: int
    ) -> None:
        engine = LocalEngine(world.performer, library=world.library, secrets=world.secrets)
        self._ahead = began - time.time_ns() // 1_000
        super().__init__(engine, workflow, key, None)
        self.journal = Journal()
        self.asked: list[str] = []
        self._world = world
        self._staged: dict[str, Json] = {}
        for event in events:
            engine.bus.publish(event)
        self._restore(journal)

    def now(self) -> int:
        return super().now() + self._ahead

    def _restore(self, journal: Journal) -> None:
        self.journal.entries.extend(journal.entries)
        self._earlier = {position: copy.copy(step) for position, step in journal.steps.items()}
        self._sequence = max((step.sequence for step in self._earlier.values()), default=0)
        for kind, entry in journal.entries:
            if kind == "step" and entry[1] is not None:
                self._engine.bus.publish(entry[1])
            elif kind == "consumed":
                position, received = entry
                self._consumed.setdefault(position, []).append(received)
                self._engine.bus.consume(received)

    def _changed(self, step: Step, what: str) -> None:
        event = self._staged.pop(step.position, None) if what == "completed" else None
        self.journal.entries.append(("step", (copy.copy(step), event)))
        if event is not None:
            self._engine.bus.publish(event)

    async def emit(self, step: Step, event: Json) -> None:
        self._staged[step.position] = event

    @asynccontextmanager
    async def _listen(self, step: Step) -> AsyncIterator[Listening]:
        with self._engine.bus.hear() as ear:
            consumed = self._consumed.setdefault(step.position, [])
            yield _Listening(self, step.position, LocalListening(self._engine.bus, ear, consumed))

    async def perform(self, step: Step, kind: str, arguments: Json) -> Performed:
        async def performed() -> Performed:
            return await super(RememberingHost, self).perform(step, kind, arguments)

        answer: Performed = await self._ask(f"{step.position} {kind}", performed)
        return answer

    async def run_workflow(self, step: Step, child: ChildOf, data: Any, *, awaited: bool) -> Any:
        async def run() -> Any:
            return await super(RememberingHost, self).run_workflow(step, child, data, awaited=awaited)

        return await self._ask(f"{step.position} workflow", run)

    async def _ask(self, what: str, perform: Any) -> Any:
        self.asked.append(what)
        if what not in self._world.answers:
            try:
                self._world.answers[what] = await perform()
            except Fault as fault:
                self._world.answers[what] = fault
        else:
            await asyncio.sleep(0)
        answer = self._world.answers[what]
        if isinstance(answer, Fault):
            raise answer
        return answer


class _Listening:
    def __init__(self, host: RememberingHost, position: str, inner: LocalListening) -> None:
        self.consumed = inner.consumed
        self._host = host
        self._position = position
        self._inner = inner

    def __aiter__(self) -> AsyncIterator[Received]:
        return self._inner.__aiter__()

    async def consume(self, received: Received) -> None:
        await self._inner.consume(received)
        self._host.journal.entries.append(("consumed", (self._position, received)))


class Life:
    """One walk: what came of it, whom it asked, and what was stored when it was over."""

    def __init__(self, outcome: Any, host: RememberingHost) -> None:
        self.outcome = outcome
        self.asked = host.asked
        self.journal = host.journal


class Execution:
    """One execution, walked once whole, and then again from wherever it is cut."""

    def __init__(self, world: World, workflow: Workflow, data: Any, events: list[Json]) -> None:
        self._world = world
        self._workflow = workflow
        self._data = data
        self._events = events
        self._key = uuid7()
        self._began = time.time_ns() // 1_000

    async def live(self, journal: Journal | None = None, pause: int = 0) -> Life:
        """From what was stored when the power went, and that many microseconds later."""
        journal = journal or Journal()
        at = (journal.at or self._began) + pause
        host = RememberingHost(self._world, self._workflow, self._events, journal, self._key, at)
        try:
            outcome: Any = await interpret(self._workflow, host, self._data, self._began)
        except Fault as fault:
            outcome = fault.error
        return Life(outcome, host)
