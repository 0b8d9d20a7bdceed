"""The host of one execution inside its workflow: time, chance and everything else come from Temporal."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import (
    ChildWorkflowError,
    FailureError,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)
from temporalio.workflow import ChildWorkflowCancellationType, ParentClosePolicy

from penstock.dsl.expressions import ExpressionFailed, NotAnExpression, Program
from penstock.dsl.model import Task, Workflow
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.host import EmbeddedHost
from penstock.engine.embedded.lineage import passed_on
from penstock.engine.embedded.subflows import Ended, outcome
from penstock.engine.embedded.writer import Portion
from penstock.engine.faults import Fault
from penstock.engine.host import ChildOf, Json, Listening, Step
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Performed
from penstock.engine.temporal import passed
from penstock.engine.temporal.calls import far, is_apart, near, uncancelled
from penstock.engine.temporal.connection import TASK
from penstock.engine.temporal.fairness import turn_of
from penstock.engine.temporal.listening import Doorbell, listening
from penstock.engine.temporal.parts import WorkflowParts
from penstock.ids import uuid7_of

T = TypeVar("T")
EXECUTION = "Execution"
_STEPS_AT_ONCE = 100  # before they are written: Temporal gives a workflow that computes for long to another worker
_CHILD_LOOKS = 1.0
_CHANCE = (1 << 80) - 1


class TemporalHost(EmbeddedHost):
    _parts: WorkflowParts

    def __init__(
        self, execution: Execution, definition: Workflow, secrets: Secrets, parts: WorkflowParts, bell: Doorbell
    ) -> None:
        super().__init__(execution, definition, secrets, parts)
        self.busy = 0
        """Calls, children and subscriptions under way: none of them is to be left behind."""
        self.leaving = False
        """The walk is to go on in a new history: nothing more begins in this one."""
        self.is_apart = False
        """What is to be done has been done, by what is stored: Temporal has forgotten it."""
        self.children: set[str] = set()
        """Executions that are waited for."""
        self._bell = bell
        self._steps_begun = 0

    def stored(self, count: int) -> None:
        """Bytes of all that it has stored in earlier histories."""
        self._stored_bytes = count

    # Time and chance

    def now(self) -> int:
        return workflow.time_ns() // 1_000

    def _new_id(self, position: str, attempt: int) -> str:
        """The same for a step that a walk begins again, whose row an earlier one has written."""
        chance = uuid.UUID(self.id_for(f"{position} {attempt}")).int & _CHANCE
        return uuid7_of(self.execution.created_at // 1_000, chance)

    def _turn_is_long(self) -> bool:
        return False  # a clock must not decide here: steps are counted

    async def begin(self, position: str, task: Task, attempt: int) -> Step:
        self._steps_begun += 1
        if self._steps_begun % _STEPS_AT_ONCE == 0:
            await self._settled()
        if self._is_under_way(position):
            await self.stay()
        return await super().begin(position, task, attempt)

    async def _gate(self) -> None:
        await super()._gate()
        await self.stay()

    @property
    def portion(self) -> Portion:
        return self._portion

    async def settled(self) -> None:
        await self._settled()

    async def stay(self) -> None:
        """Never returns when the walk is to go on elsewhere."""
        if self.leaving:
            await workflow.wait_condition(lambda: not self.leaving)

    # Expressions and schemas: what is not trusted runs outside

    async def evaluate(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        if program.refused is not None:
            raise ExpressionFailed(program.refused)
        wanted = {name: variables[name] for name in sorted(program.variables & variables.keys())}
        asked = passed.Evaluate(project_id=self.execution.project_id, program=program.text, dot=dot, variables=wanted)
        try:
            evaluated = await near("evaluate", asked, passed.Evaluated)
        except (UnicodeEncodeError, RecursionError, TypeError, OverflowError) as error:
            raise ExpressionFailed(f"the expression's input cannot be written as JSON: {error}") from error
        if evaluated.failed is not None:
            raise ExpressionFailed(evaluated.failed)
        return evaluated.value

    async def violations(self, schema: bytes, data: Any) -> list[str]:
        asked = passed.Violations(project_id=self.execution.project_id, schema=schema, data=data)
        found = await near("violations", asked, passed.Evaluated)
        if found.failed is not None:
            raise NotAnExpression(found.failed) if found.invalid else ExpressionFailed(found.failed)
        violations: list[str] = found.value
        return violations

    async def aside(self, work: Callable[[], T]) -> T:
        return work()

    # What is performed

    async def perform(self, step: Step, kind: str, arguments: Json) -> Performed:
        await self._settled()
        performed = await self._far(step, kind, arguments)
        return Performed(performed.output, performed.authorization)

    async def fetch(self, resource: Json) -> Any:
        return (await self._far(None, "fetch", resource)).output

    async def read(self, resource: Json) -> str:
        return str((await self._far(None, "read", resource)).output)

    async def find_function(self, place: str, catalog: Json | None) -> Json:
        found: Json = (await self._far(None, "find_function", {"place": place, "catalog": catalog})).output
        return found

    async def _far(self, step: Step | None, kind: str, arguments: Json) -> passed.Performed:
        async with self.of_what_is_stored():
            with self._at_work():
                performed = await far(self._asked(step, kind, arguments))
        self._learn(performed)
        return performed

    @asynccontextmanager
    async def of_what_is_stored(self) -> AsyncIterator[None]:
        """Around what is refused to a walk that is apart from it, which is left then."""
        try:
            yield
        except FailureError as error:
            if not is_apart(error):
                raise
            self.is_apart = True
            await workflow.wait_condition(lambda: False)
            raise

    def _learn(self, performed: passed.Performed) -> None:
        self.secrets.learn(*performed.hidden)
        self._stored_bytes += performed.logged
        if performed.error is not None:
            raise Fault(performed.error)

    def _asked(self, step: Step | None, kind: str, arguments: Json) -> passed.Perform:
        document = self._workflow.document
        position = step.position if step is not None else ""
        return passed.Perform(
            execution_id=self.execution_id,
            workflow_id=self.execution.workflow_id,
            project_id=self.execution.project_id,
            kind=kind,
            arguments=arguments,
            key=self.id_for(position),
            workflow=f"{document.namespace}/{document.name}",
            task=step.task.name if step is not None else "",
            timed=step is not None and step.task.timeout is not None,
            secrets=sorted(self._workflow.secrets),
            hidden=sorted(self.secrets.learned),
            position=position,
            step=step.id if step is not None else "",
        )

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self.busy += 1
        try:
            yield
        finally:
            self.busy -= 1

    def subscribe(self, step: Step, arguments: Json) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        return self._subscribe(step, arguments)

    @asynccontextmanager
    async def _subscribe(self, step: Step, arguments: Json) -> AsyncIterator[AsyncIterator[Any]]:
        await self._settled()
        messages = self._bell.messages(step.position)
        with self._at_work():
            receiving = asyncio.create_task(far(self._asked(step, "subscribe", arguments), activity="subscribe"))
            receiving.add_done_callback(lambda _: messages.put_nowait(None))
            try:
                yield self._received(messages, receiving)
            finally:
                receiving.cancel()
                await asyncio.gather(receiving, return_exceptions=True)
                self._bell.forget(step.position)

    async def _received(
        self, messages: "asyncio.Queue[passed.Message | None]", receiving: "asyncio.Task[passed.Performed]"
    ) -> AsyncIterator[Any]:
        last = -1
        while (message := await messages.get()) is not None or not receiving.done():
            if message is not None and message.number > last:
                last = message.number
                yield message.data
        self._learn(receiving.result())

    # What is waited for

    async def sleep(self, step: Step, until: int) -> None:
        while (left := (until - self.now()) / 1_000_000) > 0:  # noqa: ASYNC110 - time is what it waits for
            await asyncio.sleep(left)

    def listen(self, step: Step) -> AbstractAsyncContextManager[Listening]:
        return listening(self, step, self._parts.seal, self._bell)

    async def run_workflow(self, step: Step, child: ChildOf, data: Any, *, awaited: bool) -> Any:
        id_ = self.id_for(step.position)
        self._count(self._encode(data))
        with self._at_work():
            found = await self._find(id_, child)
            if found.ended is not None and awaited:
                return self._of_child(found.ended)
            if not found.known:
                target = (found.workflow_id, found.version)
                self._parts.subflows.start(self.execution, self.sealed, id_, target, data, awaited=awaited)
                await self._settled()
            if not awaited:
                return None
            self.children.add(id_)
            try:
                return await self._child(id_, child, found.workflow_id)
            except asyncio.CancelledError:
                if not self.abandoned:
                    # Temporal cancels one that it has started; one that it has not would be taken for lost, and begin.
                    self.portion.writes.append((statements.ASK, {"id_": id_, "what": "cancel"}))
                raise
            finally:
                self.children.discard(id_)

    def _leave_child(self, portion: Portion, step: Step) -> None:
        """Temporal has it in its history, and ends it with who waits for it."""

    async def _find(self, id_: str, child: ChildOf) -> passed.Child:
        found = await near(
            "find_child",
            passed.FindChild(
                execution_id=id_,
                project_id=self.execution.project_id,
                lineage=passed_on(self.execution),
                namespace=child.namespace,
                name=child.name,
                version=child.version,
            ),
            passed.Child,
        )
        if found.error is not None:
            raise Fault(found.error)
        return found

    async def _child(self, id_: str, child: ChildOf, workflow_id: str) -> Any:
        with uncancelled():
            try:
                # A task of its own: while a child starts, the SDK takes back what cancels the one that waits for it.
                ended: passed.EndedChild | None = await asyncio.create_task(
                    workflow.execute_child_workflow(
                        EXECUTION,
                        id=id_,
                        result_type=passed.EndedChild,
                        priority=turn_of(workflow_id or None),
                        task_timeout=TASK,
                        cancellation_type=ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
                        parent_close_policy=ParentClosePolicy.REQUEST_CANCEL,
                        id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY,
                    )
                )
            except WorkflowAlreadyStartedError:
                ended = await self._end_of(id_, child)
            except ChildWorkflowError as error:
                # One that was ended in Temporal, by hand, has an end in our table, too, once that is seen.
                ended = passed.EndedChild(status="cancelled") if is_cancelled_exception(error) else None
            if ended is None:
                # Or its last task was done again: the second time, it had ended.
                ended = await self._stored_end(id_, child)
        return self._of_child(ended)

    async def _stored_end(self, id_: str, child: ChildOf) -> passed.EndedChild:
        try:
            found = await self._find(id_, child)
        except Fault:
            return passed.EndedChild(status="cancelled")  # it was deleted with its workflow
        if not found.known:
            return passed.EndedChild(status="cancelled")
        return found.ended if found.ended is not None else await self._end_of(id_, child)

    async def _end_of(self, id_: str, child: ChildOf) -> passed.EndedChild:
        """Of one that this workflow did not start itself, in this history."""
        try:
            while (found := await self._find(id_, child)).ended is None:  # noqa: ASYNC110 - the database does not ring
                await asyncio.sleep(_CHILD_LOOKS)
        except asyncio.CancelledError:
            if not self.abandoned:
                # Temporal does not know that it is a child, and would let it go on.
                with suppress(FailureError):
                    await workflow.get_external_workflow_handle(id_).cancel()
            raise
        return found.ended

    def _of_child(self, ended: passed.EndedChild) -> Any:
        # What it may have told of its own secrets.
        self.sealed.learn(ended.hidden)
        return outcome(Ended(ended.status, ended.output, ended.error))
