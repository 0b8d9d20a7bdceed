"""One engine's turn, from taking the lease to losing it or its process's end: what runs, and who is next."""

import asyncio
from collections import Counter
from contextlib import suppress

import structlog

from penstock.dsl.model import Workflow
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.inbox import Inbox
from penstock.engine.embedded.lease import Lease
from penstock.engine.embedded.lineage import Families
from penstock.engine.embedded.links import Links
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.pausing import note
from penstock.engine.embedded.preparing import Preparing
from penstock.engine.embedded.queue import FairQueue
from penstock.engine.embedded.run import CANCELLED, Outcome, Run
from penstock.engine.embedded.schedules import Schedules
from penstock.engine.embedded.slots import Slots
from penstock.engine.embedded.subflows import Ended, Subflows
from penstock.engine.embedded.writer import Writer, WriterEnded
from penstock.engine.faults import runtime
from penstock.storage import StorageError, now

log = structlog.get_logger()

_PAGE = 500
_AT_ONCE = 10  # executions that begin before others get their turn
_LOOK_EVERY = 1.0
_LOOK_FOR_LOST_EVERY = 30  # looks
_NO_ID = "00000000-0000-0000-0000-000000000000"
_FLUSH_SECONDS = 5.0


class Tenure:
    def __init__(self, parts: EngineParts, lease: Lease) -> None:
        self._parts = parts
        self._queue = FairQueue()
        self._runs: dict[str, Run] = {}
        self._begun = 0
        self._at_work: Counter[str] = Counter()
        self._admitting = asyncio.Event()
        self._asked = asyncio.Event()
        self._preparing = Preparing(parts.definitions, self._prepared)
        self._dropping: dict[str, asyncio.Task[None]] = {}
        self._cancelling: dict[str, asyncio.Task[None]] = {}
        self._all_taken_up = asyncio.Event()
        self._pausing = asyncio.Lock()
        self.taken_up: int | None = None
        """How many it found unended when it began; None until it has looked."""
        self.left: list[str] = []
        """What had not ended when this turn did."""
        parts.writer = Writer(parts.database, lease, self._drop)
        parts.slots = Slots(parts.limits.at_once, self._admitting.set, begun=parts.limits.begun)
        parts.inbox = Inbox(parts)
        parts.families = Families()
        parts.subflows = Subflows(parts)
        parts.links = Links(parts)
        parts.schedules = Schedules(parts)
        parts.start = self.put
        parts.cancel = self.cancel

    @property
    def trouble(self) -> str | None:
        return self._parts.writer.trouble

    @property
    def running(self) -> int:
        return len(self._runs)

    @property
    def waiting(self) -> int:
        return len(self._queue)

    async def run(self) -> None:
        """Until it is cancelled, or raises `LeaseLost`."""
        loops = (
            self._parts.writer.run(),
            self._admit(),
            self._attend(),
            self._parts.inbox.run(),
            self._parts.schedules.run(),
        )
        tasks = [asyncio.create_task(loop) for loop in loops]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            # In their order: when the writer's turn is over, the others only know that it is.
            for task in [each for each in tasks if each in done]:
                task.result()
        finally:
            # Nobody begins or is asked for anything any more; the writer writes until the others are done.
            writing, *others = tasks
            await _ended([*others, *self._cancelling.values()])
            await self._wind_up()
            await _ended([writing])
            self._all_taken_up.set()  # whoever still waits for it learns that this turn is over

    async def _wind_up(self) -> None:
        """What is under way is left, and begun again, here or elsewhere; then what was finished is stored."""
        self._preparing.close()
        runs = list(self._runs.values())
        self.left = [run.execution.id for run in runs] + self._queue.ids
        for run in runs:
            run.abandon()
        await asyncio.gather(*(run.wait() for run in runs))
        with suppress(TimeoutError, WriterEnded):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._parts.writer.flush()

    # Who is next

    def put(self, execution: Execution) -> None:
        if execution.id not in self:
            self._queue.put(execution)
            self._admitting.set()

    def __contains__(self, execution_id: str) -> bool:
        """Whether it runs, or is to run."""
        return execution_id in self._runs or self._waiting_one(execution_id) is not None

    def _waiting_one(self, execution_id: str) -> Execution | None:
        return self._queue.get(execution_id)

    async def _admit(self) -> None:
        await self._take_up()
        while True:
            await self._admitting.wait()
            self._admitting.clear()
            while (execution := self._queue.next(self._has_slot)) is not None:
                if not self._preparing.knows(execution):
                    self._queue.hold(execution)
                    self._preparing.begin(execution)
                elif self._may_begin(execution):
                    self._begin(execution)
                    await self._let_others()
                else:
                    self._queue.hold(execution)

    def _has_slot(self, execution: Execution) -> bool:
        return self._parts.slots.free_for(execution.project_id, child=execution.trigger_type == "subflow")

    def _prepared(self, workflow_id: str) -> None:
        self._queue.let_go(workflow_id)
        self._admitting.set()

    def _may_begin(self, execution: Execution) -> bool:
        """As many of its workflow as the definition allows (`document.metadata.concurrency`)."""
        most = self._preparing.most(execution)
        return most is None or self._at_work[execution.workflow_id] < most

    def _begin(self, execution: Execution, *, at_end: Outcome | None = None) -> Run:
        if (known := self._runs.get(execution.id)) is not None:
            return known
        run = self._runs[execution.id] = Run(execution, self._parts)
        self._at_work[execution.workflow_id] += 1
        self._parts.slots.take(execution.id, execution.project_id)
        run.start(self._done, at_end=at_end)
        return run

    async def _let_others(self) -> None:
        """Each that begins has something to read and to do first: thousands at once would keep requests waiting."""
        self._begun += 1
        if self._begun % _AT_ONCE == 0:
            await asyncio.sleep(0)

    def _done(self, run: Run) -> None:
        execution = run.execution
        self._runs.pop(execution.id, None)
        self._at_work[execution.workflow_id] -= 1
        if not self._at_work[execution.workflow_id]:
            del self._at_work[execution.workflow_id]
        self._queue.let_go(execution.workflow_id)
        self._parts.slots.give_back(execution.id)

    def _drop(self, execution_id: str) -> None:
        """Its records cannot be stored. It goes no step further; what becomes of it is seen to when it has stopped."""
        run = self._runs.get(execution_id)
        if run is not None:
            run.abandon()
        if execution_id not in self._dropping:
            self._dropping[execution_id] = asyncio.create_task(self._after_drop(execution_id, run))
            self._dropping[execution_id].add_done_callback(lambda _: self._dropping.pop(execution_id, None))

    async def _after_drop(self, execution_id: str, run: Run | None) -> None:
        if run is not None:
            await run.wait()
        row = await self._parts.database.one(statements.FIND, id=execution_id)
        if row is None:
            # It was deleted. Whoever waits for its end must not wait for ever.
            self._parts.subflows.ended(execution_id, Ended("cancelled"))
        elif row["status"] in {"pending", "running"} and (run is None or not run.ended):
            error = runtime("Not storable", "something that it has to remember cannot be stored").error
            await self._begin(Execution.from_row(row), at_end=Outcome("failed", error=error)).wait()

    async def _take_up(self) -> None:
        """What an earlier engine left unended: those that ran go on at once, the others wait for their turn."""
        after, taken = _NO_ID, 0
        while True:
            rows = await self._parts.database.all(statements.UNENDED, after=after, limit=_PAGE)
            for row in rows:
                execution = Execution.from_row(row)
                after = execution.id
                if execution.id in self:
                    continue
                taken += 1
                execution.found = True
                if execution.status == "running":
                    self._begin(execution)
                    await self._let_others()
                else:
                    self._queue.put(execution)
            await asyncio.sleep(0)
            if len(rows) < _PAGE:
                break
        self._admitting.set()
        self._asked.set()
        if self.taken_up is None:
            self.taken_up = taken
        self._all_taken_up.set()
        if taken:
            log.info("unended executions taken up", count=taken)

    # What is asked of executions

    def look(self) -> None:
        """Somebody has asked for something, here or in another process."""
        self._asked.set()
        self._parts.inbox.wake()
        self._parts.schedules.wake()

    async def _attend(self) -> None:
        looks = 0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_EVERY):
                    await self._asked.wait()
            self._asked.clear()
            looks += 1
            try:
                for execution_id, what in await self._parts.database.all(statements.ASKED):
                    await self._see_to(str(execution_id), str(what))
                if looks % _LOOK_FOR_LOST_EVERY == 0:
                    await self._take_up()
            except (StorageError, WriterEnded) as error:
                log.warning("what was asked of executions waits for the database", error=str(error))

    async def _see_to(self, execution_id: str, what: str) -> None:
        match what:
            case "cancel":
                self._cancel_aside(execution_id)
            case "pause" | "resume":
                await self.see_to_pause(execution_id)
            case _:
                if execution_id not in self and (execution := await self._find(execution_id)) is not None:
                    self.put(execution)
                self._answered(execution_id, what)

    def _cancel_aside(self, execution_id: str) -> None:
        """What is under way may take its time to end; others that are asked for something do not wait for it."""
        if execution_id not in self._cancelling:
            self._cancelling[execution_id] = asyncio.create_task(self._cancel_as_asked(execution_id))
            self._cancelling[execution_id].add_done_callback(lambda _: self._cancelling.pop(execution_id, None))

    async def _cancel_as_asked(self, execution_id: str) -> None:
        try:
            await self.cancel(execution_id)
            self._answered(execution_id, "cancel")
        except (StorageError, WriterEnded) as error:
            log.warning("a cancellation waits for the database", execution_id=execution_id, error=str(error))

    def _answered(self, execution_id: str, what: str) -> None:
        answered = {"id_": execution_id, "what": what}
        self._parts.writer.of("").writes.append((statements.ANSWERED, answered))

    async def cancel(self, execution_id: str) -> None:
        """Ended as cancelled, with all that it waits for, when this returns."""
        run = self._runs.get(execution_id)
        if run is None:
            # What is put, but not yet written, is known to the queue alone.
            execution = self._waiting_one(execution_id) or await self._find(execution_id)
            if execution is None:
                return
            self._queue.take_out(execution_id)
            run = self._begin(execution, at_end=CANCELLED)
        run.cancel()
        await run.wait()
        if not run.ended:
            # It was left as it was, with all that ran here: the next engine finds it, and is asked.
            raise WriterEnded
        # The end of what began in an earlier life, and had not come to the child again.
        for child in await self._parts.database.all(statements.CHILDREN, id=execution_id):
            await self.cancel(str(child[0]))
        # Its end may not have been written: whoever has taken over meanwhile is asked then.
        self._parts.writer.require_open()

    async def _find(self, execution_id: str) -> Execution | None:
        row = await self._parts.database.one(statements.FIND, id=execution_id)
        if row is None or row["status"] not in {"pending", "running"}:
            return None
        execution = Execution.from_row(row)
        execution.found = True
        return execution

    def _known(self, execution_id: str) -> Execution | None:
        run = self._runs.get(execution_id)
        return run.execution if run is not None else self._waiting_one(execution_id)

    async def see_to_pause(self, execution_id: str) -> None:
        """Pause it, or let it go on, as was asked last. When this returns, it is so."""
        # Until then, what was read of it may be of the moment before.
        await self._all_taken_up.wait()
        async with self._pausing:
            row = await self._parts.database.one(statements.ENDED, id=execution_id)
            what = None if row is None else row["asked"]
            found = await self._find(execution_id)
            if found is not None and what in {"pause", "resume"}:
                workflow = await self._parts.definitions.get_if_valid(found.workflow_id, found.version)
                if execution_id not in self and found.status == "pending":
                    self.put(found)  # that it starts was asked, too
                if (execution := self._known(execution_id)) is not None and execution.status in {"pending", "running"}:
                    await (self._pause if what == "pause" else self._resume)(execution, workflow)
                self._answered(execution_id, what)
            await self._parts.writer.flush()

    async def _pause(self, execution: Execution, workflow: Workflow | None) -> None:
        if execution.paused_at is None:
            execution.paused_at = now()
            if (run := self._runs.get(execution.id)) is not None and run.host is not None:
                run.host.pause()
            self._note(execution, workflow, "workflow.suspended", "suspendedAt")

    async def _resume(self, execution: Execution, workflow: Workflow | None) -> None:
        if execution.paused_at is not None:
            execution.paused_at = None
            self._note(execution, workflow, "workflow.resumed", "resumedAt")
            await self._parts.writer.flush()
            if (run := self._runs.get(execution.id)) is not None and run.host is not None:
                run.host.resume()

    def _note(self, execution: Execution, workflow: Workflow | None, type_: str, when: str) -> None:
        note(self._parts.writer.of(execution.id), execution, workflow, type_, when, now())


async def _ended(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
