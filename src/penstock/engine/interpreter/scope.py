"""What expressions can see: the runtime's arguments, and the names that loops and handlers bind."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version
from typing import Any

import msgspec

from penstock.dsl.model import Task, Workflow
from penstock.engine.host import Step
from penstock.engine.tasks.work import Authorization

_ARGUMENTS = frozenset({"input", "context", "output", "workflow", "task", "secrets", "runtime", "authorization"})
RUNTIME = {"name": "penstock", "version": version("penstock"), "metadata": {}}


class Scope(msgspec.Struct, frozen=True, gc=False):
    """Where a task stands: the names bound around it, and which attempt of the innermost `try` it is part of."""

    names: Mapping[str, Any] = {}
    attempt: int = 1
    foreign: bool = False
    """In a function that was found elsewhere. Who wrote that is not who wrote the workflow: whatever it asked for, it
    could send home. So it has no secrets but those that it is given."""

    def bind(self, **names: Any) -> "Scope":
        return Scope({**self.names, **names}, self.attempt, self.foreign)

    def in_attempt(self, attempt: int) -> "Scope":
        return Scope(self.names, attempt, self.foreign)


class Execution:
    """What is the same for all of a walk, but for the context, which tasks export to.

    Exports are counted: where branches are walked again, what was exported last counts, not what is met last.
    """

    def __init__(self, workflow: Workflow, execution_id: str, raw: Any, started_at: int, secrets: Any) -> None:
        self.workflow = workflow
        self.context: Any = {}
        self.exports = 0
        self.secrets = secrets
        self._id = execution_id
        self._raw = raw
        self._started_at = started_at

    def export(self, context: Any) -> None:
        self.context = context
        self.exports += 1

    @property
    def exported(self) -> dict[str, Any]:
        """What a step's state says of the context."""
        return {"context": self.context, "exports": self.exports} if self.exports else {}

    def recall(self, state: Mapping[str, Any]) -> None:
        """The context as a step of an earlier life left it."""
        if (exports := state.get("exports", 0)) > self.exports:
            self.context, self.exports = state["context"], exports

    @cached_property
    def descriptor(self) -> dict[str, Any]:
        """`$workflow`."""
        return {
            "id": self._id,
            "definition": self.workflow.definition,
            "input": self._raw,
            "startedAt": moment(self._started_at),
        }


class Frame(Mapping[str, Any]):
    """The variables of one task's expressions. Made for each task, so it computes only what is asked for."""

    __slots__ = ("authorization", "execution", "input", "output", "raw", "raw_output", "scope", "step", "task")

    def __init__(self, execution: Execution, scope: Scope, task: Task | None = None, step: Step | None = None) -> None:
        self.execution = execution
        self.scope = scope
        self.task = task
        self.step = step
        self.raw: Any = None
        self.input: Any = None
        self.raw_output: Any = None
        self.output: Any = None
        self.authorization: Authorization | None = None

    def __getitem__(self, name: str) -> Any:
        if name in self.scope.names:
            return self.scope.names[name]
        match name:
            case "input":
                return self.input
            case "context":
                return self.execution.context
            case "output":
                return self.output
            case "workflow":
                return self.execution.descriptor
            case "task":
                return self.described
            case "secrets":
                return {} if self.scope.foreign else self.execution.secrets
            case "runtime":
                return RUNTIME
            case "authorization":
                return None if self.authorization is None else msgspec.structs.asdict(self.authorization)
            case _:
                raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.scope.names or name in _ARGUMENTS

    def __iter__(self) -> Iterator[str]:
        yield from {*self.scope.names, *_ARGUMENTS}

    def __len__(self) -> int:
        return len({*self.scope.names, *_ARGUMENTS})

    def within(self, scope: Scope) -> "Frame":
        """The same task's, where other names are bound."""
        frame = Frame(self.execution, scope, self.task, self.step)
        frame.raw, frame.input, frame.authorization = self.raw, self.input, self.authorization
        return frame

    @property
    def described(self) -> dict[str, Any] | None:
        """`$task`; the definition's own members are in it too, as the specification's extensions read them."""
        if self.task is None:
            return None
        started = self.step.started_at if self.step is not None else None
        return {
            **self.task.definition,
            "name": self.task.name,
            "reference": self.task.reference,
            "definition": self.task.definition,
            "input": self.raw,
            "output": self.raw_output,
            "startedAt": moment(started) if started is not None else None,
        }


def moment(at: int) -> dict[str, Any]:
    """A time as the DSL describes it."""
    text = datetime.fromtimestamp(at / 1_000_000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {"iso8601": text, "epoch": {"seconds": at // 1_000_000, "milliseconds": at // 1_000}}
