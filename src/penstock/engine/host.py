"""What the interpreter asks for: everything that is not in the definition or the data.

A host performs, sleeps, listens, starts other workflows and remembers. The interpreter walks the definition; where
the host remembers that a step was finished in an earlier life, it takes what was stored and goes on.
"""

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from penstock.dsl.expressions import Program
from penstock.dsl.model import Task
from penstock.engine.faults import Error
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Performed

Status = Literal["pending", "running", "completed", "failed", "skipped", "cancelled"]
Json = dict[str, Any]
T = TypeVar("T")


class Step(msgspec.Struct, eq=False, gc=False):
    """One run of one task. `position` is its place in the walk: the same whenever the execution is walked again."""

    position: str
    task: Task
    attempt: int
    sequence: int
    id: str
    status: Status = "pending"
    started_at: int | None = None
    completed_at: int | None = None
    input: Any = None
    output: Any = None
    error: Error | None = None
    state: Json = {}
    """What a walk needs besides the output: the branch taken, the context, which attempt is next."""
    row: Any = None
    """As the host stores it."""

    @property
    def finished(self) -> bool:
        return self.status in {"completed", "skipped", "failed"}


class Received(msgspec.Struct, frozen=True):
    """An event that came in. `number` grows with every event of the project."""

    number: int
    event: Json


class Listening(Protocol):
    """A listener while it listens. What it consumed in an earlier life comes first, as `consumed`."""

    consumed: list[Received]

    def __aiter__(self) -> AsyncIterator[Received]:
        """Events that it may consume, in their order; each is offered once."""

    async def consume(self, received: Received) -> None:
        """Durable when it returns: no later listener is offered the event, and this one is never again."""


class ChildOf(msgspec.Struct, frozen=True):
    """The workflow that a step starts."""

    namespace: str
    name: str
    version: str


class Host(Protocol):
    execution_id: str
    created_at: int
    secrets: Secrets

    def now(self) -> int:
        """Microseconds since 1970."""

    def id_for(self, position: str) -> str:
        """A UUID that is always the same for this place of this execution."""

    def evaluate_now(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        """The value, when that takes microseconds; else raises `NeedsJq`."""

    async def evaluate(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any: ...

    async def violations(self, schema: bytes, data: Any) -> list[str]:
        """What of the data a JSON Schema does not allow, bounded in time. Raises `NotAnExpression` when it is none."""

    async def begin(self, position: str, task: Task, attempt: int) -> Step:
        """The step at this place: a new one, or as it was left in an earlier life. Waits while paused."""

    def known(self, position: str) -> Step | None:
        """The step at this place as it was left in an earlier life, when this walk has not come to it yet."""

    def started(self, step: Step, data: Any) -> None: ...

    def completed(self, step: Step, output: Any) -> None: ...

    def skipped(self, step: Step, output: Any) -> None: ...

    def failed(self, step: Step, error: Error) -> None: ...

    def cancelled(self, step: Step) -> None: ...

    def retried(self, step: Step, attempt: int, error: Error, at: int) -> None:
        """What is in the `try` step's state is remembered with it."""

    def remembered(self, step: Step) -> None:
        """What is in the step's state is stored, before whatever comes after it."""

    def cancel_rest(self) -> None:
        """The walk is over: what was under way in an earlier life, and was not come to again, is cancelled."""

    async def perform(self, step: Step, kind: str, arguments: Json) -> Performed:
        """At least once: performed again, with the same key, when the power went before the step was stored."""

    async def fetch(self, resource: Json) -> Any:
        """A document that the definition names (an external resource), parsed."""

    async def read(self, resource: Json) -> str:
        """The same, as text."""

    async def aside(self, work: Callable[[], T]) -> T:
        """What the work gives; nobody stands still while it is done."""

    async def find_function(self, place: str, catalog: Json | None) -> Json:
        """The task that a catalog, or an address, has for a function."""

    def subscribe(self, step: Step, arguments: Json) -> AbstractAsyncContextManager[AsyncIterator[Any]]: ...

    async def sleep(self, step: Step, until: int) -> None: ...

    async def emit(self, step: Step, event: Json) -> None:
        """Reaches listeners when, and only when, the step is stored."""

    def listen(self, step: Step) -> AbstractAsyncContextManager[Listening]: ...

    def correlated(self, step: Step, keys: Json) -> None: ...

    async def run_workflow(self, step: Step, child: ChildOf, data: Any, *, awaited: bool) -> Any: ...
