"""The life of one execution, from the moment it gets its turn to its end, or to the end of this process."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import structlog

from penstock.dsl.depth import DEEPEST, too_deep
from penstock.dsl.model import Workflow
from penstock.engine.behalf import on_behalf_of
from penstock.engine.embedded import metrics, statements
from penstock.engine.embedded.execution import Execution, encoded, qualified_name, rfc3339
from penstock.engine.embedded.host import EmbeddedHost
from penstock.engine.embedded.links import Followers
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import SEAL_OUTPUT, SEALED, Sealed
from penstock.engine.embedded.subflows import Ended
from penstock.engine.embedded.writer import Portion, WriterEnded
from penstock.engine.faults import Error, Fault, runtime
from penstock.engine.interpreter import interpret
from penstock.engine.tasks.secrets import Secrets
from penstock.storage import Row, now
from penstock.streams import ExecutionChange, Level, NewEvent, NewLog

log = structlog.get_logger()

_ENDS = {
    "completed": ("workflow.completed", "completedAt", Level.INFO),
    "failed": ("workflow.faulted", "faultedAt", Level.ERROR),
    "cancelled": ("workflow.cancelled", "cancelledAt", Level.INFO),
}


class Outcome(msgspec.Struct, frozen=True, gc=False):
    status: str
    output: Any = None
    error: Error | None = None


CANCELLED = Outcome("cancelled")


class Run:
    def __init__(self, execution: Execution, parts: EngineParts) -> None:
        self.execution = execution
        self.host: EmbeddedHost | None = None
        self.workflow: Workflow | None = None
        self.ended = False
        self._parts = parts
        self._task: asyncio.Task[None] | None = None
        self._walking = False
        self._cancelling = False
        self._abandoned = False

    def start(self, done: "Callable[[Run], None]", *, at_end: Outcome | None = None) -> None:
        """`at_end`: nothing of it is done any more; this is how it ends."""
        self._task = asyncio.create_task(self._live(at_end))
        self._task.add_done_callback(lambda _: done(self))

    def cancel(self) -> None:
        """End it as cancelled; what is under way is aborted. One that is at its end already ends as it would."""
        if not self._cancelling:
            self._cancelling = True
            if self._walking and self._task is not None:
                self._task.cancel()

    def abandon(self) -> None:
        """Nothing more is done for it here, not even its end: this process, or its turn as the engine, is over, and it
        is taken up elsewhere; or it was deleted."""
        self._abandoned = True
        if self.host is not None:
            self.host.abandoned = True
        if self._task is not None:
            self._task.cancel()

    def _now(self) -> int:
        return now()

    async def wait(self) -> None:
        """Until it has ended, durably, or was abandoned."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _live(self, at_end: Outcome | None) -> None:
        on_behalf_of.set(self.execution.project_id)
        try:
            if self.execution.found and not await self._is_unended():
                self.ended = True
            else:
                await self._end(at_end or (CANCELLED if self._cancelling else await self._outcome()))
        except WriterEnded:
            # It is unended in the database, and found there by the engine that runs.
            pass
        except Exception as error:
            log.error("the engine failed at the end of an execution", execution_id=self.execution.id, exc_info=error)
            await self._end_anyhow()

    async def _end_anyhow(self) -> None:
        """With nothing of its own: it would be walked again, and fail at the same place, for ever."""
        try:
            if not self.ended:
                await self._end(Outcome("failed", error=_internal()))
        except WriterEnded:
            pass
        except Exception as error:
            log.error("an execution cannot be ended", execution_id=self.execution.id, exc_info=error)

    async def _is_unended(self) -> bool:
        row = await self._parts.database.one(statements.ENDED, id=self.execution.id)
        return row is not None and row["completed_at"] is None

    async def _outcome(self) -> Outcome:
        self._walking = True
        try:
            return self._storable(await self._walk())
        except Fault as fault:
            return CANCELLED if self._cancelling else Outcome("failed", error=fault.error)
        except asyncio.CancelledError:
            if not self._cancelling or self._abandoned:
                raise
            return CANCELLED
        except WriterEnded:
            raise
        except Exception as error:
            log.error("the engine failed at an execution", execution_id=self.execution.id, exc_info=error)
            return Outcome("failed", error=_internal())
        finally:
            self._walking = False

    def _storable(self, output: Any) -> Outcome:
        try:
            text = encoded(output)
        except (TypeError, ValueError, RecursionError):
            raise runtime("Not JSON", "the output cannot be stored: it is not JSON") from None
        if too_deep(output, text):
            raise runtime("Too deep", f"the output may be nested {DEEPEST} levels deep")
        if len(text) > self._parts.limits.step_bytes:
            most = self._parts.limits.step_bytes // 1024
            raise runtime("Too much data", f"the output may have {most} KiB at most; keep less with output.as")
        return Outcome("completed", output)

    async def _walk(self) -> Any:
        execution, parts = self.execution, self._parts
        self.workflow = workflow = await parts.definitions.get(execution.workflow_id, execution.version)
        values = (
            await parts.vault.open(parts.database, execution.project_id, workflow.secrets) if workflow.secrets else {}
        )
        host = EmbeddedHost(execution, workflow, Secrets(values), parts)
        if execution.status == "running" or "rerun_of" in execution.details:
            host.restore(list(await parts.database.all(statements.STEPS, execution_id=execution.id)))
        # Not before it knows its steps: whoever cancels it now must find them.
        self.host = host
        if execution.paused_at is not None:
            host.pause()
        if execution.status == "pending":
            self._begin(workflow)
        data = await self._input(host.sealed)
        assert execution.started_at is not None  # noqa: S101 - it runs
        return await interpret(workflow, host, data, execution.started_at)

    async def _input(self, sealed: Sealed) -> Any:
        execution = self.execution
        if execution.unread:
            await self._read_input()
        if execution.found or execution.unread or "rerun_of" in execution.details:
            row = await self._parts.database.one(SEALED, id_=execution.id)
            execution.sealed = None if row is None else row["sealed_input"]
        if execution.sealed is not None:
            return sealed.opened(execution.sealed)
        return msgspec.json.decode(execution.trigger_data)

    async def _read_input(self) -> None:
        # It may have been put to those that wait before it was written.
        await self._parts.writer.flush()
        row = await self._parts.database.one(statements.FIND, id=self.execution.id)
        if row is None:
            raise runtime("Gone", "the execution was deleted before it began")
        self.execution.trigger_data = row["trigger_data"]

    def _begin(self, workflow: Workflow) -> None:
        execution, at = self.execution, self._now()
        execution.status, execution.started_at = "running", at
        portion = self._parts.writer.of(execution.id)
        portion.writes.append((statements.START_EXECUTION, {"id_": execution.id, "started_at": at}))
        portion.changes.append(ExecutionChange(execution.workflow_id, execution.created_at, "pending", "running"))
        document = workflow.document
        data = {
            "name": qualified_name(workflow, execution.id),
            "definition": {"name": document.name, "namespace": document.namespace, "version": document.version},
            "startedAt": rfc3339(at),
        }
        portion.events.append(NewEvent(execution.workflow_id, "workflow.started", execution.id, None, data, at))
        fields = {"version": execution.version, "trigger": execution.trigger_type}
        self._say(portion, Level.INFO, "execution started", fields, at)

    async def _end(self, outcome: Outcome) -> None:
        """Its end, what follows from it (links, schedules), and the steps that were open: all in one batch."""
        execution, parts = self.execution, self._parts
        status, output, error = outcome.status, outcome.output, outcome.error
        secrets = self.host.secrets if self.host is not None else Secrets({})
        followers = await self._followers(outcome, secrets)
        stored = await self._stored_steps() if self.host is None and execution.status == "running" else []
        workflow = self.workflow or await self._definition()
        name = execution.id if workflow is None else qualified_name(workflow, execution.id)
        if self.host is not None:
            self.host.cancel_open_steps()
        at = self._now()  # not before its steps have ended
        portion = parts.writer.of(execution.id)
        self._cancel_stored(portion, stored, name, at)
        shown = secrets.mask(error.as_data()) if error is not None else None
        portion.writes.append(
            (
                statements.END_EXECUTION,
                {
                    "id_": execution.id,
                    "status": status,
                    "output_data": encoded(secrets.mask(output)) if status == "completed" else None,
                    "error_message": secrets.mask_text(error.message) if error is not None else None,
                    "error": encoded(shown) if error is not None else None,
                    "started_at": execution.started_at or at,
                    "completed_at": at,
                },
            )
        )
        if execution.parent_id is not None and self.host is not None:
            self._seal_output(portion, self.host.sealed, output)
        portion.changes.append(ExecutionChange(execution.workflow_id, execution.created_at, execution.status, status))
        self._tell(portion, status, shown, secrets, name, at)
        parts.links.start(portion, followers)
        parts.schedules.ended(portion, execution, workflow)
        execution.status = status
        self.ended = True
        await parts.writer.flush(execution.id)
        metrics.ended[status].inc()
        told = msgspec.convert(shown, Error) if shown is not None else None
        parts.subflows.ended(execution.id, Ended(status, output, told, secrets.learned))

    def _seal_output(self, portion: Portion, sealed: Sealed, output: Any) -> None:
        """For a parent that asks for it in a later life."""
        if (text := sealed.sealed(output)) is not None:
            portion.writes.append((SEAL_OUTPUT, {"id_": self.execution.id, "sealed": text}))

    async def _followers(self, outcome: Outcome, secrets: Secrets) -> Followers:
        """They are given what people see: they may be in another project, whose people may not know our secrets."""
        data = secrets.mask(outcome.output if outcome.error is None else outcome.error.as_data())
        try:
            return await self._parts.links.followers(self.execution, outcome.status, data)
        except Exception as error:
            # It must end all the same, or it would be walked again for ever.
            log.error("links could not be followed", execution_id=self.execution.id, exc_info=error)
            return Followers()

    async def _definition(self) -> Workflow | None:
        """Of one that ends before it began."""
        return await self._parts.definitions.get_if_valid(self.execution.workflow_id, self.execution.version)

    async def _stored_steps(self) -> Sequence[Row]:
        """Of one that began in an earlier life, and is ended before this one has come to it."""
        return await self._parts.database.all(statements.STEPS, execution_id=self.execution.id)

    def _cancel_stored(self, portion: Portion, rows: Sequence[Row], name: str, at: int) -> None:
        execution = self.execution
        for row in rows:
            if row["status"] in {"pending", "running"}:
                changed = {member: row[member] for member in statements.CHANGING[1:]}
                changed |= {"id_": row["id"], "status": "cancelled", "completed_at": at}
                changed["started_at"] = row["started_at"] or at
                values = tuple(changed[member] for member in statements.CHANGING)
                portion.writes.append((statements.CHANGE_STEP, values))
                data = {"workflow": name, "task": row["reference"], "cancelledAt": rfc3339(at)}
                portion.events.append(
                    NewEvent(execution.workflow_id, "task.cancelled", execution.id, row["step_name"], data, at)
                )

    def _tell(self, portion: Portion, status: str, error: Any, secrets: Secrets, name: str, at: int) -> None:
        execution = self.execution
        type_, when, level = _ENDS[status]
        data = {"name": name, when: rfc3339(at)} | ({"error": error} if error is not None else {})
        portion.events.append(NewEvent(execution.workflow_id, type_, execution.id, None, data, at))
        took = (at - (execution.started_at or at)) // 1000
        said = f"execution {status}" + (f": {_said(error)}" if error is not None else "")
        self._say(portion, level, secrets.mask_text(said), {"ms": took}, at)

    def _say(self, portion: Portion, level: Level, message: str, fields: dict[str, Any], at: int) -> None:
        execution = self.execution
        if level >= self._parts.limits.log_level:
            portion.logs.append(NewLog(execution.workflow_id, level, message, "engine", execution.id, fields, at))


def _internal() -> Error:
    return runtime("Internal error", "the server's log says what happened").error


def _said(error: dict[str, Any]) -> str:
    return ": ".join(str(error[name]) for name in ("title", "detail") if error.get(name)) or str(error.get("type"))
