"""The walk: tasks in sequence, and around each task its condition, input, output, export, timeout and extensions.

What each kind of task does is in `kinds`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec

from penstock.dsl.model import Extension, Task, Tasks
from penstock.dsl.values import Value
from penstock.engine.faults import Fault, runtime, timeout
from penstock.engine.host import Host, Step
from penstock.engine.interpreter.dataflow import DataFlow
from penstock.engine.interpreter.schemas import Schemas
from penstock.engine.interpreter.scope import Execution, Frame, Scope

T = TypeVar("T")
Kind = Callable[["Walk", Any, Step, Frame, Scope], Awaitable["Done"]]
_DIRECTIVES = frozenset({"continue", "exit", "end"})


class Done(msgspec.Struct, frozen=True, gc=False):
    """What a task or a sequence came to. `then`: `continue`, `exit`, `end`, or the name of the task to go to; None
    when nothing was said, so that it is as the task around it says. A task that was skipped says nothing."""

    output: Any
    then: str | None = None


class Walk:
    """One execution on its way."""

    def __init__(self, host: Host, execution: Execution, kinds: Mapping[str, Kind]) -> None:
        self.host = host
        self.execution = execution
        self.flow = DataFlow(host)
        self.schemas = Schemas(host, self.flow)
        self._kinds = kinds

    async def sequence(self, tasks: Tasks, data: Any, scope: Scope, position: str) -> Done:
        """One task after the other. `exit` ends here; `end` is for all around."""
        index, run = 0, 0
        while index < len(tasks):
            done = await self.task(tasks[index], data, scope, f"{position}/{run}")
            data, run = done.output, run + 1
            if done.then is None or done.then == "continue":
                index += 1
            elif done.then in _DIRECTIVES:
                return done
            else:
                index = _named(tasks, done.then)
        return Done(data)

    async def inside(self, tasks: Tasks, data: Any, scope: Scope, position: str) -> Done:
        """A sequence inside a task: an `exit` leaves it, and the task around it is done."""
        done = await self.sequence(tasks, data, scope, position)
        return done if done.then == "end" else Done(done.output)

    async def task(self, task: Task, raw: Any, scope: Scope, position: str) -> Done:
        step = await self.host.begin(position, task, scope.attempt)
        if step.finished:
            return self._as_stored(step)
        before = self.execution.exports
        try:
            done = await self._run(task, step, raw, scope)
            if step.status != "skipped":
                self._keep(step, before)
                if done.then != "continue":
                    step.state = step.state | {"then": done.then}
                self.host.completed(step, done.output)
        except Fault as fault:
            fault = fault.at(task.reference)
            self._keep(step, before)
            self.host.failed(step, fault.error)
            raise fault from None
        except asyncio.CancelledError:
            self.host.cancelled(step)
            raise
        return done

    def _keep(self, step: Step, exports_before: int) -> None:
        """So that a later walk, which does not look inside, has the context that this one has."""
        if self.execution.exports != exports_before:
            step.state = step.state | self.execution.exported

    def _as_stored(self, step: Step) -> Done:
        self.execution.recall(step.state)
        if step.error is not None:
            raise Fault(step.error)
        return Done(step.output, None if step.status == "skipped" else step.state.get("then", "continue"))

    async def _run(self, task: Task, step: Step, raw: Any, scope: Scope) -> Done:
        frame = Frame(self.execution, scope, task, step)
        frame.raw = raw
        flow = self.flow
        begun = step.started_at is not None
        if task.condition is not None and not begun and not await flow.holds(task.condition, raw, frame):
            self.host.skipped(step, raw)
            return Done(raw)
        frame.input = raw
        if task.input.schema is not None:
            await self.schemas.hold(task.input, raw, "The task's input", frame)
        if task.input.transform is not None:
            frame.input = await flow.transform(task.input.transform, raw, frame)
        if not begun:
            self.host.started(step, frame.input)
        if task.timeout is None:
            done = await self._extended(task, step, frame, scope)
        else:
            started = step.started_at if step.started_at is not None else self.host.now()
            done = await self.within(
                task.timeout, started, frame.input, frame, lambda: self._extended(task, step, frame, scope)
            )
        frame.raw_output = frame.output = done.output
        if task.output.transform is not None:
            frame.output = await flow.transform(task.output.transform, done.output, frame)
        if task.output.schema is not None:
            await self.schemas.hold(task.output, frame.output, "The task's output", frame)
        if task.export.transform is not None:
            await self.export(task, frame)
        return Done(frame.output, task.then if done.then is None else done.then)

    async def export(self, task: Task, frame: Frame) -> None:
        if task.export.transform is not None:
            context = await self.flow.transform(task.export.transform, frame.output, frame)
            await self.schemas.hold(task.export, context, "The exported context", frame)
            self.execution.export(context)

    async def within(
        self, limit: Value, started_at: int, data: Any, frame: Frame, work: Callable[[], Awaitable[T]]
    ) -> T:
        """The result, if it comes in time. The time of an earlier life counts."""
        allowed = await self.flow.duration(limit, data, frame)
        left = (started_at + allowed - self.host.now()) / 1_000_000
        late = timeout("Timed out", f"it took longer than {allowed / 1_000_000:g} s")
        if left <= 0:
            # A timer would let through what needs no waiting.
            raise late
        timer = asyncio.timeout(left)
        try:
            async with timer:
                return await work()
        except TimeoutError:
            if not timer.expired():
                raise
            raise late from None

    async def _extended(self, task: Task, step: Step, frame: Frame, scope: Scope) -> Done:
        """The task itself, between what extensions do before and after; they may answer in its place (`exit`)."""
        perform, extensions = self._kinds[task.kind], self.execution.workflow.extensions
        if extensions:
            extensions = tuple(each for each in extensions if task.extends and _extends(each, task))
        if not extensions:
            return await perform(self, task, step, frame, scope)
        # Extensions are the workflow's own, also around what was found elsewhere.
        home = Scope(scope.names, scope.attempt)
        names = home.bind(task=frame.described)
        asked = frame.within(names)
        applied = [
            (number, each)
            for number, each in enumerate(extensions)
            if each.when is None or await self.flow.holds(each.when, frame.input, asked)
        ]
        for number, each in applied:
            done = await self.sequence(each.before, frame.input, names, f"{step.position}/x{number}")
            if done.then == "end":
                return done
            if done.then == "exit":
                return Done(done.output)
        done = await perform(self, task, step, frame, scope)
        frame.raw_output = done.output
        names = home.bind(task=frame.described)
        for number, each in applied:
            after = await self.sequence(each.after, done.output, names, f"{step.position}/y{number}")
            if after.then == "end":
                return after
        return done


def _named(tasks: Tasks, name: str) -> int:
    for index, task in enumerate(tasks):
        if task.name == name:
            return index
    raise runtime("No such task", f"there is no task {name!r} in this list to go on with")


def _extends(extension: Extension, task: Task) -> bool:
    if task.of_extension or extension.extend == "extension":
        return task.of_extension and extension.extend == "extension"
    composite = task.kind in {"do", "fork"}
    return extension.extend in {"all", task.kind} or (extension.extend == "composite" and composite)
