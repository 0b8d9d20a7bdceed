"""A host whose time is told to it: waiting takes none, and is written down."""

from typing import Any

from penstock.dsl.build import workflow_of
from penstock.engine.faults import Fault
from penstock.engine.host import Step
from penstock.engine.interpreter import interpret
from penstock.engine.local import LocalEngine, LocalHost
from penstock.engine.performing import Performer
from penstock.ids import uuid7
from tests.conformance.local import Steps

SECOND = 1_000_000


class ClockedHost(LocalHost):
    def __init__(self, engine: LocalEngine, text: str, key: str) -> None:
        self.at = 1_700_000_000 * SECOND
        self.waits: list[float] = []
        super().__init__(engine, workflow_of(text), key, None)

    def now(self) -> int:
        return self.at

    async def sleep(self, step: Step, until: int) -> None:
        self.waits.append((until - self.at) / SECOND)
        self.at = max(self.at, until)


class Clocked:
    """What came of a walk, and how long it waited, in seconds."""

    def __init__(self, outcome: Any, waits: list[float], steps: list[str]) -> None:
        self.outcome = outcome
        self.waits = waits
        self.steps = steps


async def clocked(performer: Performer, tasks: str, data: Any = None, key: str | None = None) -> Clocked:
    text = f"document: {{dsl: 1.0.3, namespace: test, name: clocked, version: 1.0.0}}\n{tasks}"
    steps = Steps()
    host = ClockedHost(LocalEngine(performer, watch=steps), text, key or uuid7())
    try:
        outcome: Any = await interpret(workflow_of(text), host, data, host.created_at)
    except Fault as fault:
        outcome = fault.error
    return Clocked(outcome, host.waits, steps.lines)
