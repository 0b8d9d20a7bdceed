"""The life of one execution, from the moment it gets its turn to its end, or to the end of this process."""

import asyncio
from typing import Any

import msgspec
import structlog

from penstock.dsl.model import Workflow
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, encoded, qualified_name, rfc3339
from penstock.engine.embedded.host import EmbeddedHost
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.writer import Portion
from penstock.engine.faults import Error, Fault, runtime
from penstock.engine.interpreter import interpret
from penstock.engine.tasks.secrets import Secrets
from penstock.storage import StorageError, now
from penstock.streams import ExecutionChange, Level, NewEvent, NewLog

log = structlog.get_logger()

_ENDS = {
    "completed": ("workflow.completed", "completedAt", Level.INFO),
    "failed": ("workflow.faulted", "faultedAt", Level.ERROR),
    "cancelled": ("workflow.cancelled", "cancelledAt", Level.INFO),
}


class Run:
    def __init__(self, execution: Execution, parts: EngineParts) -> None:
        self.execution = execution
        self.host: EmbeddedHost | None = None
        self.workflow: Workflow | None = None
        self.ended = False
        self._parts = parts
        self._task: asyncio.Task[None] | None = None
        self._cancelling = False

    def start(self, done: Any) -> None:
        self._task = asyncio.create_task(self._live())
        self._task.add_done_callback(lambda _: done(self))

    def cancel(self) -> None:
        """End it as cancelled; what is under way is aborted."""
        self._cancelling = True
        if self._task is not None and not self.ended:
            self._task.cancel()

    async def abandon(self) -> None:
        """This process, or its turn as the engine, ends: the execution is taken up elsewhere."""
        if self.host is not None:
            self.host.abandoned = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def wait(self) -> None:
        """Until it has ended, durably."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def end_cancelled(self) -> None:
        """One that has not begun here."""
        rows = await self._parts.database.all(statements.STEPS, execution_id=self.execution.id)
        at = now()
        portion = self._parts.writer.of(self.execution.id)
        for row in rows:
            if row["status"] in {"pending", "running"}:
                changed = {name: row[name] for name in statements.CHANGING[1:]}
                changed |= {"id_": row["id"], "status": "cancelled", "completed_at": at}
                portion.writes.append((statements.CHANGE_STEP, changed))
        await self._end("cancelled")

    async def _live(self) -> None:
        try:
            output = await self._walk()
        except Fault as fault:
            await self._end("failed", error=fault.error)
        except asyncio.CancelledError:
            if not self._cancelling or (self.host is not None and self.host.abandoned):
                raise
            await self._end("cancelled")
        except StorageError as error:
            # Nothing is lost: it is unended in the database, and the next look finds it.
            log.warning("an execution waits for the database", execution_id=self.execution.id, error=str(error))
            raise
        except Exception as error:
            log.error("the engine failed at an execution", execution_id=self.execution.id, exc_info=error)
            internal = runtime("Internal error", "the server's log says what happened")
            await self._end("failed", error=internal.error)
        else:
            await self._end("completed", output=output)

    async def _walk(self) -> Any:
        execution, parts = self.execution, self._parts
        self.workflow = workflow = await parts.definitions.get(execution.workflow_id, execution.version)
        values = (
            await parts.vault.open(parts.database, execution.project_id, workflow.secrets) if workflow.secrets else {}
        )
        self.host = host = EmbeddedHost(execution, workflow, Secrets(values), parts)
        if execution.paused_at is not None:
            host.pause()
        if execution.status == "running" or "rerun_of" in execution.details:
            host.restore(list(await parts.database.all(statements.STEPS, execution_id=execution.id)))
        if execution.status == "pending":
            self._begin(workflow)
        data = msgspec.json.decode(execution.trigger_data)
        assert execution.started_at is not None  # noqa: S101 - it runs
        return await interpret(workflow, host, data, execution.started_at)

    def _begin(self, workflow: Workflow) -> None:
        execution, at = self.execution, now()
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

    async def _end(self, status: str, *, output: Any = None, error: Error | None = None) -> None:
        """Its end, what follows from it (links, schedules), and the steps that were open: all in one batch."""
        execution, parts = self.execution, self._parts
        if status == "completed" and len(encoded(output)) > parts.limits.step_bytes:
            status, output = "failed", None
            most = parts.limits.step_bytes // 1024
            error = runtime("Too much data", f"the output may have {most} KiB at most; keep less with output.as").error
        secrets = self.host.secrets if self.host is not None else Secrets({})
        started = await parts.links.followers(execution, status, output, error)
        at = now()
        if self.host is not None:
            self.host.cancel_open_steps()
        portion = parts.writer.of(execution.id)
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
        portion.changes.append(ExecutionChange(execution.workflow_id, execution.created_at, execution.status, status))
        self._tell(portion, status, shown, secrets, at)
        parts.links.start(portion, started)
        parts.schedules.ended(portion, execution)
        execution.status = status
        self.ended = True
        await parts.writer.flush()
        parts.subflows.ended(execution.id, status, output, error)

    def _tell(self, portion: Portion, status: str, error: Any, secrets: Secrets, at: int) -> None:
        execution = self.execution
        type_, when, level = _ENDS[status]
        name = qualified_name(self.workflow, execution.id) if self.workflow is not None else execution.id
        data = {"name": name, when: rfc3339(at)} | ({"error": error} if error is not None else {})
        portion.events.append(NewEvent(execution.workflow_id, type_, execution.id, None, data, at))
        took = (at - (execution.started_at or at)) // 1000
        said = f"execution {status}" + (f": {_said(error)}" if error is not None else "")
        self._say(portion, level, secrets.mask_text(said), {"ms": took}, at)

    def _say(self, portion: Portion, level: Level, message: str, fields: dict[str, Any], at: int) -> None:
        execution = self.execution
        if level >= self._parts.limits.log_level:
            portion.logs.append(NewLog(execution.workflow_id, level, message, "engine", execution.id, fields, at))


def _said(error: dict[str, Any]) -> str:
    return ": ".join(str(error[name]) for name in ("title", "detail") if error.get(name)) or str(error.get("type"))
