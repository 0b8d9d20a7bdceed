"""What hosts do alike: steps by their place in the walk, expressions, and performing tasks."""

import asyncio
import time
import uuid
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from penstock.dsl.expressions import NeedsJq, Program
from penstock.dsl.model import Task, Workflow
from penstock.engine.faults import Error, exhausted
from penstock.engine.host import ChildOf, Host, Json, Listening, Step
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel, Performed, Work
from penstock.engine.turns import FIRST_TURN, turns
from penstock.ids import uuid7

MOST_STEPS = 100_000
T = TypeVar("T")


class Hosting(Host):
    """A host in this process. What becomes of a step is told to `_changed` and `_says`."""

    def __init__(
        self, workflow: Workflow, execution_id: str, created_at: int, secrets: Secrets, performer: Performer
    ) -> None:
        self.execution_id = execution_id
        self.created_at = created_at
        self.secrets = secrets
        self._workflow = workflow
        self._performer = performer
        self._earlier: dict[str, Step] = {}
        """What is remembered of an earlier life, by position."""
        self._left: list[Step] | None = None
        """What was under way when that ended, as far as this one has not come to it; None when nobody asked yet."""
        self._sequence = 0
        self._retries = 0
        self._turn_ends = time.monotonic() + FIRST_TURN

    def now(self) -> int:
        return time.time_ns() // 1_000

    def id_for(self, position: str) -> str:
        return str(uuid.uuid5(uuid.UUID(self.execution_id), position))

    def evaluate_now(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        if self._turn_is_long():
            raise NeedsJq  # and so `evaluate`, which lets others have their turn
        return self._performer.jq.evaluate_now(program, dot, variables)

    async def evaluate(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        await self._breathe()
        return await self._performer.jq.evaluate(program, dot, variables)

    async def violations(self, schema: bytes, data: Any) -> list[str]:
        return await self._performer.jq.violations(schema, data)

    async def begin(self, position: str, task: Task, attempt: int) -> Step:
        if self._turn_is_long():
            await self._breathe()
        # Last: whoever passes begins at once, and is not paused in between.
        if not self._is_under_way(position):
            await self._gate()
        earlier = self._earlier.pop(position, None) if self._earlier else None
        if earlier is not None and earlier.status != "cancelled":
            earlier.task = task
            self._taken_up(earlier)
            return earlier
        self._require_room()
        self._sequence += 1
        step = self._new_step(position, task, attempt)
        self._changed(step, "created")
        return step

    def _is_under_way(self, position: str) -> bool:
        """It began in an earlier life: who is paused lets nothing begin, but finishes what has begun."""
        earlier = self._earlier.get(position)
        return earlier is not None and earlier.status == "running"

    def _turn_is_long(self) -> bool:
        return time.monotonic() > self._turn_ends

    async def _breathe(self) -> None:
        """A long walk without a call would keep everybody else waiting."""
        if self._turn_is_long():
            await turns.end()
            self._turn_ends = time.monotonic() + turns.length

    def _require_room(self) -> None:
        # Retries count: an attempt that is out of time when it begins has no step.
        if self._sequence + self._retries >= MOST_STEPS:
            raise exhausted("Too many steps", f"an execution may have {MOST_STEPS:,} steps and retries at most")

    def _new_step(self, position: str, task: Task, attempt: int) -> Step:
        return Step(position, task, attempt, self._sequence, self._new_id(position, attempt))

    def _new_id(self, _position: str, _attempt: int) -> str:
        return uuid7()

    def _taken_up(self, step: Step) -> None:
        """A step of an earlier life goes on, or has ended there."""

    def known(self, position: str) -> Step | None:
        return self._earlier.get(position)

    def started(self, step: Step, data: Any) -> None:
        step.status, step.started_at, step.input = "running", self.now(), data
        self._changed(step, "started")

    def completed(self, step: Step, output: Any) -> None:
        step.output = output
        self._end(step, "completed")
        self._changed(step, "completed")

    def skipped(self, step: Step, output: Any) -> None:
        step.input = step.output = output
        self._end(step, "skipped")
        self._changed(step, "skipped")

    def failed(self, step: Step, error: Error) -> None:
        step.error = error
        step.output = None
        self._end(step, "failed")
        self._changed(step, "faulted")

    def cancelled(self, step: Step) -> None:
        if not self._abandoned and not step.finished:
            self._end(step, "cancelled")
            self._changed(step, "cancelled")

    def retried(self, step: Step, attempt: int, error: Error, at: int) -> None:
        self._require_room()
        self._retries += 1
        self._changed(step, "retried")
        seconds = round(max(0, at - self.now()) / 1_000_000, 3)
        self._says(step, "warn", f"{step.task.name}: attempt {attempt} in {seconds:g} s, after {error.message}")

    def remembered(self, step: Step) -> None:
        self._changed(step, "remembered")

    def cancel_rest(self) -> None:
        rest, self._earlier = self._earlier, {}
        for step in rest.values():
            if step.status in {"pending", "running"}:
                self.cancelled(step)

    def _end(self, step: Step, status: Any) -> None:
        if self._earlier and self._left != []:
            self._end_inside(step)
        at = self.now()
        step.status, step.completed_at = status, at
        if step.started_at is None:
            step.started_at = at

    def _end_inside(self, step: Step) -> None:
        """What an earlier life had begun inside it, and this one has not come to: its time is over, or it is
        decided."""
        if self._left is None:
            self._left = [each for each in self._earlier.values() if each.status in {"pending", "running"}]
        self._left = [each for each in self._left if each.position in self._earlier]
        for each in self._left:
            if each.position.startswith(f"{step.position}/") and self._earlier.pop(each.position, None) is not None:
                self.cancelled(each)

    @property
    def _abandoned(self) -> bool:
        """The process ends, not the execution: what is under way is left as it is, and taken up elsewhere."""
        return False

    async def perform(self, step: Step, kind: str, arguments: Json) -> Performed:
        await self._settled()
        return await self._performer.perform(kind, arguments, self._work(step))

    async def fetch(self, resource: Json) -> Any:
        return await self._performer.fetch(resource, self._work(None))

    async def read(self, resource: Json) -> str:
        return await self._performer.read(resource, self._work(None))

    async def aside(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    async def find_function(self, place: str, catalog: Json | None) -> Json:
        return await self._performer.find_function(place, catalog, self._work(None))

    def subscribe(self, step: Step, arguments: Json) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        return self._performer.subscribe(arguments, self._work(step))

    def _work(self, step: Step | None) -> Work:
        document = self._workflow.document

        def says(level: LogLevel, message: str, **fields: Any) -> None:
            self._says(step, level, message, **fields)

        return Work(
            key=self.id_for(step.position if step is not None else ""),
            execution_id=self.execution_id,
            workflow=f"{document.namespace}/{document.name}",
            task=step.task.name if step is not None else "",
            secrets=self.secrets,
            says=says,
            tools=self._performer.tools,
            timed=step is not None and step.task.timeout is not None,
        )

    def correlated(self, step: Step, keys: Json) -> None:
        """Nothing to tell, unless a host has somebody to tell it to."""

    @abstractmethod
    async def _gate(self) -> None:
        """Waits while the execution is paused."""

    @abstractmethod
    async def _settled(self) -> None:
        """Returns when all that was done before is durable."""

    @abstractmethod
    def _changed(self, step: Step, what: str) -> None: ...

    @abstractmethod
    def _says(self, step: Step | None, level: LogLevel, message: str, **fields: Any) -> None: ...

    @abstractmethod
    async def sleep(self, step: Step, until: int) -> None: ...

    @abstractmethod
    async def emit(self, step: Step, event: Json) -> None: ...

    @abstractmethod
    def listen(self, step: Step) -> AbstractAsyncContextManager[Listening]: ...

    @abstractmethod
    async def run_workflow(self, step: Step, child: ChildOf, data: Any, *, awaited: bool) -> Any: ...
