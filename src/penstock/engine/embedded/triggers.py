"""schedule.on: a workflow that starts when the events it waits for have come."""

from collections import deque
from typing import Any

import structlog

from penstock.dsl.model import Workflow
from penstock.engine.embedded.listener import Offered
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import Sealed
from penstock.engine.faults import Fault
from penstock.engine.host import Json, Received
from penstock.engine.interpreter.correlation import Correlator
from penstock.engine.interpreter.dataflow import DataFlow
from penstock.engine.interpreter.scope import Execution, Frame, Scope
from penstock.engine.tasks.secrets import Secrets

log = structlog.get_logger()
_REMEMBERED = 100


class Trigger:
    def __init__(self, parts: EngineParts, workflow_id: str, project_id: str, version: int, workflow: Workflow) -> None:
        self.workflow_id = workflow_id
        self.project_id = project_id
        self.version = version
        self._workflow = workflow
        self._flow = DataFlow(parts.performer.jq)
        self._events: list[Received] = []
        # An event that was consumed may be offered again, after a crash in that very moment.
        self._taken: deque[int] = deque(maxlen=_REMEMBERED)
        self.sealed = Sealed(parts.seal, project_id, Secrets({}))
        self._begin()

    def _begin(self) -> None:
        assert self._workflow.schedule.on is not None  # noqa: S101 - that is what it is made for
        frame = Frame(Execution(self._workflow, "", None, 0, {}), Scope())
        self._correlator = Correlator(self._flow, self._workflow.schedule.on, frame)
        self._events = []

    @property
    def state(self) -> Json:
        """What it has consumed and still waits with, for the next life."""
        return {"events": [[each.number, each.event] for each in self._events], "taken": list(self._taken)}

    async def restore(self, text: str) -> None:
        state: Json = self.sealed.read(text)
        for number, event in state.get("events", []):
            await self._take(Received(int(number), event))
        self._taken.extend(state.get("taken", []))

    async def offer(self, offered: Offered) -> list[Received] | None:
        """None when the event is nothing to it; else the events to start with: none while others are awaited."""
        received = offered.received
        if received.number in self._taken:
            return None
        try:
            events = await self._take(received)
        except Fault as fault:
            log.warning("a trigger cannot be asked about an event", workflow_id=self.workflow_id, error=str(fault))
            return None
        if events is not None:
            self.sealed.learn(offered.hidden)
            self._taken.append(received.number)
        return events

    async def _take(self, received: Received) -> list[Received] | None:
        if not await self._correlator.offer(received.event):
            return None
        if not self._correlator.only_ends(received.event):
            self._events.append(received)
        outputs: list[Any] = [each.event for each in self._events]
        if not await self._correlator.enough(outputs):
            return []
        events = self._events
        self._begin()
        return events
