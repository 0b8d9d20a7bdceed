"""What a workflow finds in its process, and what stands in for the embedded engine's parts inside it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from temporalio.workflow import time_ns

from penstock.dsl.build import workflow_of
from penstock.dsl.model import Workflow
from penstock.engine.embedded import inbox
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.links import Links
from penstock.engine.embedded.parts import EngineParts, Vault
from penstock.engine.embedded.schedules import after_end
from penstock.engine.embedded.sealing import Sealed
from penstock.engine.embedded.subflows import Ended, Subflows
from penstock.engine.embedded.writer import Portion
from penstock.engine.host import Json
from penstock.engine.performing import Performer
from penstock.engine.temporal.passed import Loaded
from penstock.engine.temporal.recorder import Recorder


class Surroundings(msgspec.Struct, frozen=True):
    """Of all workflows of a worker. None of it does anything but compute."""

    vault: Vault
    performer: Performer
    definitions: Definitions
    most_history: int
    """Events of a history after which the walk goes on in a new one; Temporal's own advice counts, too."""

    def workflow(self, loaded: Loaded) -> Workflow:
        execution = loaded.execution
        # Mostly made ready when it was loaded, by this process, aside.
        known = self.definitions.known(execution.workflow_id, execution.version)
        return known if known is not None else workflow_of(loaded.definition)


surroundings: dict[str, Surroundings] = {}
"""By the task queue: workflows are made by Temporal, and given nothing but what is in their history."""


class _Slots:
    """Temporal runs as many as there are workers for; whoever waits takes no place."""

    @contextmanager
    def lent(self, _execution_id: str, *, for_others: bool = False) -> Iterator[None]:
        yield


class _Inbox:
    def __init__(self, parts: "WorkflowParts") -> None:
        self._parts = parts

    def emit(self, portion: Portion, project_id: str, event: Json, sealed: Sealed) -> None:
        row = inbox.row_of(project_id, sealed.stored(event), self._parts.limits.event_lives, emitted=True)
        portion.writes.append((inbox.ADD, row))


class _Families:
    """Counted where the child is found, in the worker."""

    def admit(self, _lineage: Json) -> bool:
        return True


class _Schedules:
    def ended(self, portion: Portion, execution: Execution, workflow: Workflow | None) -> None:
        after_end(portion, execution, workflow, time_ns() // 1_000)


class _Subflows(Subflows):
    def __init__(self, parts: EngineParts) -> None:
        super().__init__(parts)
        self.end: Ended | None = None

    def ended(self, id_: str, ended: Ended) -> None:
        self.end = ended


class WorkflowParts(EngineParts):
    """The embedded engine's parts, as far as a walk asks for them."""

    writer: Recorder  # type: ignore[assignment]
    subflows: _Subflows

    def __init__(self, around: Surroundings, loaded: Loaded, recorder: Recorder) -> None:
        self.performer, self.vault, self.definitions = around.performer, around.vault, around.definitions
        self.limits, self.writer = loaded.limits, recorder
        stand_ins: Any = (_Slots(), _Inbox(self), _Families(), _Schedules())
        self.slots, self.inbox, self.families, self.schedules = stand_ins
        self.subflows, self.links = _Subflows(self), Links(self)
        self.start = self._born

    def _born(self, execution: Execution) -> None:
        # An awaited child is started by its parent, and ends with it.
        if execution.parent_id is None:
            self.writer.born(execution.id)
