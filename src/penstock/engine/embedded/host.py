"""The host of one execution: every change of a step goes to the writer, as a row, events and log lines."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import msgspec

from penstock.dsl.depth import DEEPEST, too_deep
from penstock.dsl.model import Task, Workflow
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, encoded, qualified_name, quoted, rfc3339
from penstock.engine.embedded.lineage import marked
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import Sealed
from penstock.engine.embedded.writer import Portion, StepRow
from penstock.engine.faults import Error, exhausted, runtime
from penstock.engine.host import ChildOf, Json, Listening, Step
from penstock.engine.hosting import Hosting
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel
from penstock.storage import Row
from penstock.streams import Level, NewEvent, NewLog

_LEVELS = {"debug": Level.DEBUG, "info": Level.INFO, "warn": Level.WARN, "error": Level.ERROR}
_LONGEST_NAP = 300.0  # seconds; a clock that was set is noticed after that long
# In the words of the specification: what happened, and the member that says when.
_HAPPENED = {
    "created": ("task.created", "createdAt"),
    "started": ("task.started", "startedAt"),
    "completed": ("task.completed", "completedAt"),
    "faulted": ("task.faulted", "faultedAt"),
    "cancelled": ("task.cancelled", "cancelledAt"),
    "retried": ("task.retried", "retriedAt"),
}
_TAKES, _GIVES = frozenset({"started", "skipped"}), frozenset({"completed", "skipped"})


class EmbeddedHost(Hosting):
    def __init__(self, execution: Execution, workflow: Workflow, secrets: Secrets, parts: EngineParts) -> None:
        super().__init__(workflow, execution.id, execution.created_at, secrets, parts.performer)
        self.execution = execution
        self.abandoned = False
        self._parts = parts
        self.name = qualified_name(workflow, execution.id)
        self._told_of = f'{{"workflow":{encoded(self.name)},"task":'
        self.sealed = Sealed(parts.seal, execution.project_id, secrets)
        self._stored_bytes = 0
        self._steps: dict[str, Step] = {}
        self._emitted: dict[str, Json] = {}
        self._going_on = asyncio.Event()
        self._going_on.set()
        # What one task gives out, the next one takes in: mostly the same object, and encoded once.
        self._encoded: tuple[Any, str] = (None, "null")

    # What is remembered

    def restore(self, rows: list[Row]) -> None:
        """The steps of an earlier life."""
        for row in rows:
            step = self._step_of(row)
            self._count(row["input_data"], row["output_data"], row["state"])
            self._earlier[step.position] = step
            self._sequence = max(self._sequence, step.sequence)
            if not step.finished:
                step.row = StepRow(*(row[name] for name in statements.STEP_MEMBERS))
                step.row.stored = True

    def _step_of(self, row: Row) -> Step:
        task = Task(name=row["step_name"], reference=row["reference"], kind=row["step_type"], definition={})
        state: Json = msgspec.json.decode(row["state"]) if row["state"] else {}
        output = msgspec.json.decode(row["output_data"]) if row["output_data"] else None
        error = state.pop("error", None)
        if (sealed := state.pop("sealed", None)) is not None:
            opened = self.sealed.opened(sealed)
            output, state = opened["output"], state | opened["state"]
        return Step(
            row["position"],
            task,
            row["attempt"],
            row["sequence_num"],
            row["id"],
            row["status"],
            row["started_at"],
            row["completed_at"],
            None,
            output,
            msgspec.convert(error, Error) if error is not None else None,
            state,
        )

    def _taken_up(self, step: Step) -> None:
        if not step.finished:
            self._steps[step.id] = step

    # What is written

    @property
    def _portion(self) -> Portion:
        return self._parts.writer.of(self.execution_id)

    def _new_step(self, position: str, task: Task, attempt: int) -> Step:
        id_, sequence = self._new_id(position, attempt), self._sequence
        row = StepRow(
            id_,
            self.execution_id,
            task.name,
            task.kind,
            task.reference,
            sequence,
            attempt,
            "pending",
            None,
            None,
            None,
            None,
            None,
            "{}",
            position,
            None,
        )
        step = self._steps[id_] = Step(position, task, attempt, sequence, id_, row=row)
        return step

    def _count(self, *texts: str | None) -> None:
        for text in texts:
            if text is not None:
                self._stored_bytes += len(text)

    def _require_room(self) -> None:
        super()._require_room()
        if self._stored_bytes > self._parts.limits.execution_bytes:
            most = self._parts.limits.execution_bytes // 1024
            raise exhausted("Too much data", f"an execution may store {most:,} KiB at most; keep less with output.as")

    def completed(self, step: Step, output: Any) -> None:
        if len(self._encode(output)) > self._parts.limits.step_bytes:
            most = self._parts.limits.step_bytes // 1024
            raise runtime(
                "Too much data", f"the output of a step may have {most} KiB at most; keep less with output.as"
            )
        super().completed(step, output)

    def _changed(self, step: Step, what: str) -> None:
        portion, row = self._portion, step.row
        portion.steps[step.id] = row
        row.status, row.started_at, row.completed_at = step.status, step.started_at, step.completed_at
        if what in _TAKES:
            row.input_data = self._encode(self.secrets.mask(step.input))
            self._stored_bytes += len(row.input_data)
        if what in _GIVES:
            row.output_data = self._encode(self.secrets.mask(step.output))
            self._stored_bytes += len(row.output_data)
        if step.error is not None:
            row.error_message = self.secrets.mask_text(step.error.message)
        if step.state or step.error is not None or (what == "completed" and self.secrets.hides):
            row.state = self._state(step)
            self._count(row.state)
        if what in _HAPPENED:
            self._tell(portion, step, what)
        if step.completed_at is not None:
            self._log(portion, step, what)
            self._ended(portion, step)

    def _ended(self, portion: Portion, step: Step) -> None:
        portion.ended += 1
        self._steps.pop(step.id, None)
        if step.task.kind == "run" and step.status in {"failed", "cancelled"}:
            self._leave_child(portion, step)
        # With the end of its step: it is not emitted again by a walk that finds the step unended.
        if self._emitted and (event := self._emitted.pop(step.id, None)) is not None and step.status != "cancelled":
            event = marked(event, self.execution)
            self._parts.inbox.emit(portion, self.execution.project_id, event, self.sealed)

    def _leave_child(self, portion: Portion, step: Step) -> None:
        """One that was begun in an earlier life: its step may end before this walk has come to it."""
        child = {"id_": self.id_for(step.position), "parent": self.execution_id}
        portion.writes.append((statements.ASK_CHILD_TO_END, child))

    def _state(self, step: Step) -> str | None:
        """What a later walk needs. People see data with its secrets masked; the walk must not."""
        state = dict(step.state)
        if step.error is not None:
            state["error"] = self.secrets.mask(step.error.as_data())
        sealed = self.sealed.sealed({"output": step.output, "state": step.state})
        if sealed is not None:
            state = {"error": state["error"]} if step.error is not None else {}
            state["sealed"] = sealed
        return encoded(state) if state else None

    def _tell(self, portion: Portion, step: Step, what: str) -> None:
        type_, when = _HAPPENED[what]
        at = step.started_at if what == "started" else step.completed_at
        if at is None:
            at = self.now()
        # By hand: there are three for each step, and they are all alike.
        data = f'{self._told_of}{quoted(step.task.reference)},"{when}":"{rfc3339(at)}"'
        if what == "faulted" and step.error is not None:
            data = f'{data},"error":{encoded(self.secrets.mask(step.error.as_data()))}'
        portion.events.append(
            NewEvent(self.execution.workflow_id, type_, self.execution_id, step.task.name, data + "}", at)
        )

    def _log(self, portion: Portion, step: Step, what: str) -> None:
        if what == "faulted":
            assert step.error is not None  # noqa: S101
            message = f"{step.task.name} failed: {step.error.message}"
            self._put_log(portion, Level.ERROR, message, "engine", {"task": step.task.reference})
        elif self._parts.limits.log_level <= Level.DEBUG:
            took = ((step.completed_at or 0) - (step.started_at or 0)) // 1000
            self._put_log(
                portion, Level.DEBUG, f"{step.task.name} {what}", "engine", {"task": step.task.reference, "ms": took}
            )

    def _says(self, step: Step | None, level: LogLevel, message: str, **fields: Any) -> None:
        module = step.task.name if step is not None else "engine"
        self._put_log(self._portion, _LEVELS[level], message, module, fields)

    def _put_log(self, portion: Portion, level: Level, message: str, module: str, fields: Json) -> None:
        if level >= self._parts.limits.log_level:
            self._count(message)
            portion.logs.append(
                NewLog(
                    self.execution.workflow_id,
                    level,
                    self.secrets.mask_text(message),
                    module,
                    self.execution_id,
                    self.secrets.mask(fields),
                    self.now(),
                )
            )

    def _encode(self, data: Any) -> str:
        known, text = self._encoded
        if data is not known or data is None:
            try:
                text = encoded(data)
            except (TypeError, ValueError, RecursionError):
                raise runtime("Not JSON", "the data of a step cannot be stored: it is not JSON") from None
            if too_deep(data, text):
                raise runtime("Too deep", f"the data of a step may be nested {DEEPEST} levels deep")
            self._encoded = (data, text)
        return text

    @property
    def _abandoned(self) -> bool:
        return self.abandoned

    def cancel_open_steps(self) -> None:
        """Of an execution that ends: nothing of it stays `running`."""
        self.cancel_rest()
        for step in list(self._steps.values()):
            self.cancelled(step)

    # What is waited for

    async def _settled(self) -> None:
        await self._parts.writer.flush(self.execution_id)

    async def _gate(self) -> None:
        while not self._going_on.is_set():  # it may be paused anew before it has gone on
            with self._parts.slots.lent(self.execution_id):
                await self._going_on.wait()

    def pause(self) -> None:
        self._going_on.clear()

    def resume(self) -> None:
        self._going_on.set()

    async def sleep(self, step: Step, until: int) -> None:
        with self._parts.slots.lent(self.execution_id):
            while (left := (until - self.now()) / 1_000_000) > 0:  # noqa: ASYNC110 - time is what it waits for
                await asyncio.sleep(min(left, _LONGEST_NAP))

    async def emit(self, step: Step, event: Json) -> None:
        self._emitted[step.id] = event

    def listen(self, step: Step) -> AbstractAsyncContextManager[Listening]:
        return self._parts.inbox.listen(self, step)

    def correlated(self, step: Step, keys: Json) -> None:
        if "correlated" in step.state:
            return  # told in an earlier life, which ended before the step did
        step.state = step.state | {"correlated": True}
        self.remembered(step)
        at = self.now()
        data = {"name": self.name, "completedAt": rfc3339(at), "correlationKeys": self.secrets.mask(keys)}
        self._portion.events.append(
            NewEvent(
                self.execution.workflow_id,
                "workflow.correlation-completed",
                self.execution_id,
                step.task.name,
                data,
                at,
            )
        )

    async def run_workflow(self, step: Step, child: ChildOf, data: Any, *, awaited: bool) -> Any:
        id_ = self.id_for(step.position)
        self._count(self._encode(data))
        try:
            return await self._parts.subflows.run(self.execution, self.sealed, id_, child, data, awaited=awaited)
        except asyncio.CancelledError:
            # Nobody waits for it any more: a timeout, another branch that won, or the end of this execution.
            if awaited and not self.abandoned:
                # Written before its steps end: who takes over in between begins none of them again.
                self._leave_child(self._portion, step)
                await self._parts.cancel(id_)
            raise
