"""Runs cases in this process, on the host of `penstock run`."""

from penstock.dsl.build import workflow_of
from penstock.engine.faults import Fault
from penstock.engine.host import Step
from penstock.engine.local import Library, LocalEngine
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel
from tests.conformance.case import Case, Json, Outcome, step_line
from tests.conformance.peers import Address


class Steps:
    """The steps of the workflow itself."""

    def __init__(self) -> None:
        self.all: dict[str, Step] = {}

    def changed(self, step: Step, what: str, within: Step | None) -> None:
        if within is None:
            self.all[step.id] = step

    def said(self, step: Step | None, level: LogLevel, message: str, fields: Json) -> None:
        """Not compared."""

    @property
    def lines(self) -> list[str]:
        steps = sorted(self.all.values(), key=lambda step: step.sequence)
        return [step_line(step.task.name, step.status, step.attempt) for step in steps]


class LocalRunner:
    def __init__(self, performer: Performer) -> None:
        self._performer = performer

    async def run(self, case: Case, address: Address) -> Outcome:
        steps = Steps()
        library = Library(map(workflow_of, case.other_texts(address)))
        engine = LocalEngine(self._performer, library=library, secrets=Secrets(case.secrets), watch=steps)
        for event in case.events:
            engine.bus.publish({"specversion": "1.0", **event})
        try:
            output = await engine.run(workflow_of(case.text(address)), case.input)
        except Fault as fault:
            return Outcome(None, fault.error.as_data(), steps.lines)
        return Outcome(output, None, steps.lines)
