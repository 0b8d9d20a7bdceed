"""The life of one execution inside its workflow: the embedded engine's, with Temporal's clock and no database."""

from collections.abc import Sequence
from typing import Any

import msgspec
from temporalio import workflow

from penstock.dsl.build import NotValid
from penstock.dsl.model import Workflow
from penstock.dsl.parse import NotReadable
from penstock.engine.embedded import statements
from penstock.engine.embedded.links import Followers
from penstock.engine.embedded.pausing import note
from penstock.engine.embedded.run import CANCELLED, Outcome, Run
from penstock.engine.faults import Fault, configuration, runtime
from penstock.engine.interpreter import interpret
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.temporal import passed
from penstock.engine.temporal.host import TemporalHost
from penstock.engine.temporal.listening import Doorbell
from penstock.engine.temporal.parts import Surroundings, WorkflowParts
from penstock.storage import Row

_ENDED_THERE = {
    "terminated": "its workflow was terminated in Temporal, not in Penstock",
    "timed_out": "Temporal ended its workflow, which ran for longer than it may there",
    "failed": "its workflow failed in Temporal; the logs of the workers say why",
}
ENDS = frozenset({"cancel", *_ENDED_THERE})
"""What is asked of executions of which nothing more is to be done."""


def end_of(asked: str | None) -> Outcome | None:
    """How an execution of which this is asked ends; None when it goes on."""
    if asked not in ENDS:
        return None
    if asked == "cancel":
        return CANCELLED
    return Outcome("failed", error=runtime("Ended in Temporal", _ENDED_THERE[asked]).error)


class Life(Run):
    host: TemporalHost | None
    _parts: WorkflowParts

    def __init__(self, loaded: passed.Loaded, parts: WorkflowParts, around: Surroundings, bell: Doorbell) -> None:
        super().__init__(loaded.execution, parts)
        self._loaded = loaded
        self._around = around
        self._bell = bell

    def _now(self) -> int:
        return workflow.time_ns() // 1_000

    async def _walk(self) -> Any:
        execution, loaded = self.execution, self._loaded
        if loaded.error is not None:
            raise Fault(loaded.error)
        self.workflow = definition = self._made_ready()
        host = TemporalHost(execution, definition, Secrets(loaded.secrets), self._parts, self._bell)
        rows: list[Any] = loaded.steps
        host.restore(rows)
        host.stored(loaded.stored)
        self.host = host
        if execution.paused_at is not None:
            host.pause()
        if execution.status == "pending":
            self._begin(definition)
        data = (
            msgspec.json.decode(execution.trigger_data)
            if execution.sealed is None
            else host.sealed.opened(execution.sealed)
        )
        assert execution.started_at is not None  # noqa: S101 - it runs
        try:
            return await interpret(definition, host, data, execution.started_at)
        except RuntimeError as error:
            # The worker ends, and what waits in it is thrown away: no failure, it goes on elsewhere. A walk that still
            # waits for its branches in that moment makes Python say so in this way.
            if "GeneratorExit" in str(error):
                raise GeneratorExit from None
            raise

    def _made_ready(self) -> Workflow:
        try:
            return self._around.workflow(self._loaded)
        except (NotReadable, NotValid) as error:
            raise configuration("Not a valid definition", str(error)) from None

    async def _followers(self, outcome: Outcome, secrets: Secrets) -> Followers:
        data = secrets.mask(outcome.output if outcome.error is None else outcome.error.as_data())
        self._parts.writer.follow = passed.Follow(self.execution, outcome.status, data)
        return Followers()

    async def _definition(self) -> Workflow | None:
        try:
            return None if self._loaded.error is not None else self._made_ready()
        except Fault:
            return None

    async def _stored_steps(self) -> Sequence[Row]:
        rows: list[Any] = self._loaded.steps
        return rows

    @property
    def ready_to_leave(self) -> bool:
        return self.host is not None and self.host.leaving and not self.host.busy

    @property
    def is_apart(self) -> bool:
        return self.host is not None and self.host.is_apart

    @property
    def children(self) -> list[str]:
        """Those that it waits for."""
        return [] if self.host is None else sorted(self.host.children)

    def leave(self) -> None:
        """Nothing more begins: what is under way ends, and the walk goes on in a new history."""
        if self.host is not None:
            self.host.leaving = True

    def pause(self) -> None:
        if self.execution.paused_at is None and not self.ended:
            self.execution.paused_at = self._now()
            if self.host is not None:
                self.host.pause()
            self._note("workflow.suspended", "suspendedAt")
        self._answer("pause")

    def resume(self) -> None:
        if self.execution.paused_at is not None and not self.ended:
            self.execution.paused_at = None
            self._note("workflow.resumed", "resumedAt")
            if self.host is not None:
                self.host.resume()
        self._answer("resume")

    def _note(self, type_: str, when: str) -> None:
        portion = self._parts.writer.of(self.execution.id)
        note(portion, self.execution, self.workflow, type_, when, self._now())

    def _answer(self, what: str) -> None:
        row = {"id_": self.execution.id, "what": what}
        self._parts.writer.of(self.execution.id).writes.append((statements.ANSWERED, row))

    @property
    def done(self) -> bool:
        return self._task is not None and self._task.done()

    @property
    def cancelled(self) -> bool:
        return self._cancelling

    async def finish(self) -> None:
        """All that gathered is durable."""
        await self._parts.writer.flush()
