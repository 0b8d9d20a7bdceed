"""The workflow that Temporal runs: one for each execution, under the execution's id."""

import asyncio
from contextlib import suppress

from temporalio import workflow
from temporalio.exceptions import FailureError

from penstock.engine.embedded.run import CANCELLED
from penstock.engine.embedded.writer import WriterEnded
from penstock.engine.temporal import passed
from penstock.engine.temporal.calls import is_apart, near
from penstock.engine.temporal.host import EXECUTION
from penstock.engine.temporal.life import Life, end_of
from penstock.engine.temporal.listening import Doorbell
from penstock.engine.temporal.parts import Surroundings, WorkflowParts, surroundings
from penstock.engine.temporal.recorder import Recorder

_LOOKED_UP = "what is asked is looked up"


@workflow.defn(name=EXECUTION)
class ExecutionWorkflow:
    def __init__(self) -> None:
        self._bell = Doorbell()
        self._life: Life | None = None
        self._asked: list[str] = []
        self._one_by_one = asyncio.Lock()
        self._looks = 0
        self._may_begin = False
        self._is_to_end = False
        """It was cancelled before it began."""
        self._is_to_leave = False
        """It goes on in a new history, from what is stored."""
        self._is_apart = False
        """From what is stored: that, or Temporal, was restored to an older moment. It begins again from there."""

    @workflow.run
    async def run(self) -> passed.EndedChild | None:
        info = workflow.info()
        around = surroundings[info.task_queue]
        found = await self._found(info.workflow_id)
        if (loaded := found.loaded) is None:
            return None  # it has ended, or was deleted
        execution = loaded.execution
        recorder = Recorder(execution.id, execution.project_id, loaded.recorded, self._record)
        parts = WorkflowParts(around, loaded, recorder)
        writing = asyncio.create_task(recorder.run())
        self._life = life = Life(loaded, parts, around, self._bell)
        try:
            life.start(lambda _: None, at_end=CANCELLED if self._is_to_end else end_of(loaded.asked))
            self._see_to_asked(loaded.asked)
            await self._lived(life, around, writing)
            with suppress(WriterEnded):
                await life.finish()
            await self._looked()
            if self._is_apart:
                workflow.continue_as_new()
            if recorder.ended:
                await near("give_up", passed.Load(execution_id=execution.id), type(None))
                await self._looked()
                return None
        finally:
            writing.cancel()
        if not life.ended:
            workflow.continue_as_new()
        if life.cancelled and parts.subflows.end is not None and parts.subflows.end.status == "cancelled":
            raise asyncio.CancelledError
        return _ended(parts)

    async def _found(self, execution_id: str) -> passed.Found:
        """When it is its turn."""
        try:
            while True:
                self._may_begin, told = False, len(self._asked)
                found = await near("load", passed.Load(execution_id=execution_id), passed.Found)
                if not found.waits:
                    # What was told before is stored, and found. Told late, or twice, it may not be the last any more.
                    del self._asked[:told]
                    return found
                await self._turn_of(execution_id)
        except asyncio.CancelledError:
            self._is_to_end = True
            return await near("load", passed.Load(execution_id=execution_id, at_once=True), passed.Found)

    async def _turn_of(self, execution_id: str) -> None:
        while not self._may_begin:
            await workflow.wait_condition(lambda: self._may_begin or bool(self._asked))
            for what in self._asked:
                await near("hold", passed.Hold(execution_id=execution_id, what=what), type(None))
            self._asked.clear()

    async def _lived(self, life: Life, around: Surroundings, writing: "asyncio.Task[None]") -> None:
        """Until it has ended, or its history is as long as it should be."""
        while not life.done:
            try:
                await workflow.wait_condition(lambda: _has_failed(writing) or self._is_to_act(life, around))
            except asyncio.CancelledError:
                if workflow.cancellation_reason() is None:
                    raise  # it is only to leave this worker's memory
                life.cancel()
                continue
            if _has_failed(writing):
                writing.result()  # nothing can be done without it: it is tried again, and the worker's log says why
            if life.ready_to_leave:
                life.abandon()
                await life.wait()
                return
            if not life.done:
                life.leave()

    def _is_to_act(self, life: Life, around: Surroundings) -> bool:
        is_to_leave = self._is_apart or self._is_to_leave or life.is_apart or _is_long(around)
        return life.done or life.ready_to_leave or (is_to_leave and not self._leaving(life))

    async def _record(self, batch: passed.Batch) -> bool:
        try:
            return await near("record", batch, bool)
        except FailureError as error:
            self._is_apart = is_apart(error)
            if not self._is_apart:
                raise
            return False

    def _leaving(self, life: Life) -> bool:
        return life.host is None or life.host.leaving

    @workflow.signal
    def place_free(self) -> None:
        self._may_begin = True

    @workflow.signal
    async def begin_again(self) -> None:
        """Temporal was restored to an older moment: more has been stored than this history knows of."""
        if self._life is None:
            self._may_begin = True
            return
        self._is_to_leave = True
        # Who is waited for may have ended since.
        for child in self._life.children:
            with suppress(FailureError):
                await workflow.get_external_workflow_handle(child).signal("begin_again")

    @workflow.signal
    def events_came(self) -> None:
        self._bell.ring()

    @workflow.signal
    def message(self, message: passed.Message) -> None:
        self._bell.bring(message)

    @workflow.signal(unfinished_policy=workflow.HandlerUnfinishedPolicy.ABANDON)
    async def asked(self, what: str) -> None:
        """`pause` or `resume`. To cancel is Temporal's own."""
        if self._life is None:
            self._asked.append(what)
            return
        if workflow.patched(_LOOKED_UP):
            await self._look_up(self._life, what)
        else:
            _see_to(self._life, what)

    async def _look_up(self, life: Life, what: str) -> None:
        self._looks += 1
        try:
            async with self._one_by_one:
                if not await near("is_asked", passed.Hold(execution_id=life.execution.id, what=what), bool):
                    return
                if what == "resume" and life.execution.paused_at is None:
                    # A walk that was lost may have paused it, and stored that.
                    with suppress(WriterEnded):
                        await life.finish()
                    if await near("is_held", passed.Load(execution_id=life.execution.id), bool):
                        life.execution.paused_at = workflow.time_ns() // 1_000
                _see_to(life, what)
        finally:
            self._looks -= 1

    async def _looked(self) -> None:
        """Nothing may come after the end of a history, and what is being looked up does."""
        while self._looks:
            try:
                await workflow.wait_condition(lambda: not self._looks)
            except asyncio.CancelledError:
                if workflow.cancellation_reason() is None:
                    raise

    def _see_to_asked(self, loaded: str | None) -> None:
        assert self._life is not None  # noqa: S101
        for what in [*([loaded] if loaded else []), *self._asked]:
            _see_to(self._life, what)


def _see_to(life: Life, what: str) -> None:
    match what:
        case "pause":
            life.pause()
        case "resume":
            life.resume()


def _has_failed(task: "asyncio.Task[None]") -> bool:
    return task.done() and task.exception() is not None


def _is_long(around: Surroundings) -> bool:
    info = workflow.info()
    return info.is_continue_as_new_suggested() or info.get_current_history_length() > around.most_history


def _ended(parts: WorkflowParts) -> passed.EndedChild | None:
    end = parts.subflows.end
    if end is None:
        return None
    return passed.EndedChild(status=end.status, output=end.output, error=end.error, hidden=sorted(end.hidden))
