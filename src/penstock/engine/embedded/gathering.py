"""The events that a `schedule.on` has so far and waits with for others: with `correlate`, for each thing apart."""

from typing import Any

from penstock.dsl.expressions import Program
from penstock.dsl.model import Workflow
from penstock.engine.embedded.execution import encoded
from penstock.engine.faults import Fault
from penstock.engine.host import Json, Received
from penstock.engine.interpreter.correlation import Correlator
from penstock.engine.interpreter.dataflow import DataFlow, Evaluates
from penstock.engine.interpreter.scope import Execution, Frame, Scope

# What is waited with is stored anew with each event.
_MOST_EVENTS = 1_000
_MOST_BYTES = 1024 * 1024


class Gathering:
    """What one execution will be started with."""

    def __init__(self, correlator: Correlator) -> None:
        self.consumed: list[Received] = []
        self.size = 0
        self.is_complete = False
        self._events: list[Json] = []
        self._correlator = correlator

    @property
    def keys(self) -> Json:
        return self._correlator.keys

    async def take(self, received: Received) -> list[Json] | None:
        """None when the event is nothing to it; else all it has when that is enough, and nothing while it is not."""
        if not await self._correlator.offer(received.event):
            return None
        only_ends = self._correlator.only_ends(received.event)
        events = self._events if only_ends else [*self._events, received.event]
        self.is_complete = await self._correlator.enough(events)
        self._events = events
        self.consumed.append(received)
        self.size += len(encoded(received.event))
        return events if self.is_complete else []


class Gatherings:
    """In the order in which they began. Without `correlate` there is one at most."""

    def __init__(self, jq: Evaluates, workflow: Workflow) -> None:
        assert workflow.schedule.on is not None  # noqa: S101 - that is what it is made for
        self._on = workflow.schedule.on
        self._flow = _OnceForEach(jq)
        self._frame = Frame(Execution(workflow, "", None, 0, {}), Scope())
        self._all: list[Gathering] = []
        correlations = (each for wanted in self._on.filters for each in wanted.correlations)
        self._tells_apart = any(each.expect is None for each in correlations)

    @property
    def state(self) -> list[list[list[Any]]]:
        """Of each, the events that it has consumed, with their numbers."""
        return [[[each.number, each.event] for each in gathering.consumed] for gathering in self._all]

    async def restore(self, stored: list[list[list[Any]]]) -> None:
        for events in stored:
            gathering = self._new()
            for number, event in events:
                self._flow.forget()
                await gathering.take(Received(int(number), event))
            if not gathering.is_complete:
                self._all.append(gathering)

    async def take(self, received: Received) -> list[Json] | None:
        """None when the event is nothing to any; else the events to start with, none while others are awaited."""
        self._flow.forget()
        for gathering in self._all:
            if (events := await gathering.take(received)) is not None:
                if gathering.is_complete:
                    self._all.remove(gathering)
                return events
        if self._all and not self._tells_apart:
            return None
        return await self._begin_with(received)

    async def _begin_with(self, received: Received) -> list[Json] | None:
        gathering = self._new()
        events = await gathering.take(received)
        # One about the same has such an event already: it waits for the others.
        if events is None or any(each.keys == gathering.keys for each in self._all):
            return None
        if not gathering.is_complete:
            self._all.append(gathering)
        return events

    def _new(self) -> Gathering:
        return Gathering(Correlator(self._flow, self._on, self._frame))

    def shed(self) -> bool:
        """Whether there was too much to wait with, so that what began first is given up."""
        before = len(self._all)
        while self._all and self._is_too_much():
            del self._all[0]
        return len(self._all) < before

    def _is_too_much(self) -> bool:
        many = sum(len(each.consumed) for each in self._all)
        return many > _MOST_EVENTS or sum(each.size for each in self._all) > _MOST_BYTES


class _OnceForEach(DataFlow):
    """What was asked about an event is not asked again for each gathering: there may be hundreds."""

    def __init__(self, jq: Evaluates) -> None:
        super().__init__(jq)
        self._known: dict[tuple[Program, int], tuple[Any, Any]] = {}

    def forget(self) -> None:
        self._known.clear()

    async def ask(self, program: Program, dot: Any, variables: Any) -> Any:
        """What it was asked of is kept, too: another object could have its place, and so its identity, otherwise."""
        key = (program, id(dot))
        if key not in self._known:
            try:
                self._known[key] = dot, await super().ask(program, dot, variables)
            except Fault as fault:
                self._known[key] = dot, fault
        answer = self._known[key][1]
        if isinstance(answer, Fault):
            raise answer
        return answer
