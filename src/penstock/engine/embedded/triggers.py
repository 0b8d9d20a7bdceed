"""schedule.on: a workflow that starts when the events it waits for have come."""

import uuid
from collections import deque

import structlog
from sqlalchemy import bindparam, update

from penstock.dsl.model import Workflow
from penstock.engine.embedded.execution import Execution as Started
from penstock.engine.embedded.execution import encoded
from penstock.engine.embedded.gathering import Gatherings
from penstock.engine.embedded.lineage import MOST_HOPS, MOST_OF_ONE
from penstock.engine.embedded.listener import CONSUMED, Offered
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import Sealed
from penstock.engine.embedded.writer import Portion
from penstock.engine.faults import Fault
from penstock.engine.host import Json
from penstock.engine.tasks.secrets import Secrets
from penstock.storage import Statement, now
from penstock.storage.engine_tables import workflow_schedules
from penstock.streams import Level, NewLog

log = structlog.get_logger()
_REMEMBERED = 100
_STATE = Statement(
    update(workflow_schedules)
    .where(workflow_schedules.c.workflow_id == bindparam("id_"), workflow_schedules.c.version == bindparam("version_"))
    .values(state=bindparam("state"))
)


class Trigger:
    def __init__(
        self, parts: EngineParts, workflow_id: str, project_id: str, version: int, workflow: Workflow, stored: str
    ) -> None:
        self.workflow_id = workflow_id
        self.project_id = project_id
        self.version = version
        self._workflow = workflow
        self._jq = parts.performer.jq
        # An event that was consumed may be offered again, after a crash in that very moment.
        self._taken: deque[int] = deque(maxlen=_REMEMBERED)
        self.sealed = Sealed(parts.seal, project_id, Secrets({}))
        self._stored: str | None = stored
        self._begin()

    def _begin(self) -> None:
        self._gatherings = Gatherings(self._jq, self._workflow)

    @property
    def state(self) -> Json:
        """What it has consumed and still waits with, for the next life."""
        return {"gathered": self._gatherings.state, "taken": list(self._taken)}

    def run_id(self, offered: Offered) -> str:
        return str(uuid.uuid5(uuid.UUID(self.workflow_id), f"event {offered.received.number}"))

    async def offer(self, offered: Offered) -> list[Json] | None:
        """None when the event is nothing to it; else the events to start with: none while others are awaited."""
        if self._stored is not None:
            # Not before: its filters are asked about all of that, and may take their time.
            stored, self._stored = self._stored, None
            await self._restore(stored)
        received = offered.received
        if received.number in self._taken:
            return None
        try:
            events = await self._gatherings.take(received)
        except Fault as fault:
            # Not more of it: jq repeats the data that it fails at, and that may be a secret.
            log.warning(
                "a trigger cannot be asked about an event", workflow_id=self.workflow_id, error=fault.error.title
            )
            return None
        if events is not None:
            self.sealed.learn(offered.hidden)
            self._taken.append(received.number)
            if self._gatherings.shed():
                log.warning(
                    "a trigger waits with too much, and gives up what began first", workflow_id=self.workflow_id
                )
        return events

    async def _restore(self, stored: str) -> None:
        try:
            state: Json = self.sealed.read(stored)
            # `events`: as it was stored when there was one gathering only.
            gathered = state.get("gathered", [state["events"]] if state.get("events") else [])
            await self._gatherings.restore(gathered)
            self._taken.extend(state.get("taken", []))
        except Exception as error:
            # Sealed with a key that is gone: it waits for its events from the beginning.
            log.error("what a trigger waits with cannot be read", workflow_id=self.workflow_id, exc_info=error)
            self._begin()


def started_by(
    parts: EngineParts, portion: Portion, trigger: Trigger, offered: Offered, events: list[Json]
) -> Started | None:
    """What is written of an event that a trigger has consumed; and the execution that these events start, if any."""
    number = offered.received.number
    state = trigger.sealed.stored(trigger.state)
    portion.writes.append((CONSUMED, {"id_": number}))
    portion.writes.append((_STATE, {"id_": trigger.workflow_id, "version_": trigger.version, "state": state}))
    if not events:
        return None
    if (refusal := _refusal(parts, offered)) is not None:
        message = f"not started by the event {number}: {refusal}"
        portion.logs.append(NewLog(trigger.workflow_id, Level.WARN, message, "engine"))
        return None
    return Started(
        trigger.run_id(offered),
        trigger.workflow_id,
        trigger.project_id,
        trigger.version,
        "event",
        encoded(trigger.sealed.secrets.mask(events)),
        "pending",
        now(),
        metadata=encoded(offered.lineage | {"events": [str(each.get("id")) for each in events]}),
        sealed=trigger.sealed.sealed(events),
    )


def _refusal(parts: EngineParts, offered: Offered) -> str | None:
    """Why an event starts nothing, when it came of an execution that it would start again and again."""
    if not offered.lineage:
        return None
    if offered.lineage["hops"] > MOST_HOPS:
        return f"executions that start each other by events end after {MOST_HOPS}"
    if not parts.families.admit(offered.lineage):
        return f"of one execution, {MOST_OF_ONE:,} others may come at most"
    return None
