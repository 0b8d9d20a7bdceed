"""One engine's turn, from taking the lease to losing it or its process's end: what runs, and who is next."""

import asyncio
from collections import Counter
from contextlib import suppress

import structlog

from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, encoded, qualified_name, rfc3339
from penstock.engine.embedded.inbox import Inbox
from penstock.engine.embedded.lease import Lease
from penstock.engine.embedded.links import Links
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.queue import FairQueue
from penstock.engine.embedded.run import Run
from penstock.engine.embedded.schedules import Schedules
from penstock.engine.embedded.slots import Slots
from penstock.engine.embedded.subflows import Subflows
from penstock.engine.embedded.writer import Writer
from penstock.engine.faults import Fault
from penstock.storage import StorageError, now
from penstock.streams import NewEvent

log = structlog.get_logger()

_PAGE = 500
_LOOK_EVERY = 1.0
_LOOK_FOR_LOST_EVERY = 30  # looks
_NO_ID = "00000000-0000-0000-0000-000000000000"
_FLUSH_SECONDS = 5.0


class Tenure:
    def __init__(self, parts: EngineParts, lease: Lease) -> None:
        self._parts = parts
        self._queue = FairQueue()
        self._runs: dict[str, Run] = {}
        self._at_work: Counter[str] = Counter()
        self._admitting = asyncio.Event()
        self._asked = asyncio.Event()
        parts.writer = Writer(parts.database, lease, self._drop)
        parts.slots = Slots(parts.limits.at_once, self._admitting.set)
        parts.inbox = Inbox(parts)
        parts.subflows = Subflows(parts)
        parts.links = Links(parts)
        parts.schedules = Schedules(parts)
        parts.start = self.put

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
            for task in done:
                task.result()
        except asyncio.CancelledError:
            # What was finished is stored; what is under way is begun again, here or elsewhere.
            with suppress(TimeoutError):
                async with asyncio.timeout(_FLUSH_SECONDS):
                    await self._parts.writer.flush()
            raise
        finally:
            await asyncio.gather(*(run.abandon() for run in list(self._runs.values())), return_exceptions=True)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    # Who is next

    def put(self, execution: Execution) -> None:
        if execution.id not in self._runs:
            self._queue.put(execution)
            self._admitting.set()

    async def _admit(self) -> None:
        await self._take_up()
        while True:
            await self._admitting.wait()
            self._admitting.clear()
            while self._parts.slots.free and (execution := self._queue.next()) is not None:
                if await self._may_begin(execution):
                    self._begin(execution)
                else:
                    self._queue.hold(execution)

    async def _may_begin(self, execution: Execution) -> bool:
        """As many of its workflow as the definition allows (`document.metadata.concurrency`)."""
        try:
            workflow = await self._parts.definitions.get(execution.workflow_id, execution.version)
        except (Fault, StorageError):
            return True  # its run says why it cannot be
        return workflow.concurrency is None or self._at_work[execution.workflow_id] < workflow.concurrency

    def _begin(self, execution: Execution) -> None:
        if execution.id in self._runs:
            return
        run = self._runs[execution.id] = Run(execution, self._parts)
        self._at_work[execution.workflow_id] += 1
        self._parts.slots.take()
        run.start(self._done)

    def _done(self, run: Run) -> None:
        execution = run.execution
        self._runs.pop(execution.id, None)
        self._at_work[execution.workflow_id] -= 1
        if not self._at_work[execution.workflow_id]:
            del self._at_work[execution.workflow_id]
        self._queue.let_go(execution.workflow_id)
        self._parts.slots.give_back()

    def _drop(self, execution_id: str) -> None:
        """Its records cannot be stored: it was deleted."""
        run = self._runs.get(execution_id)
        if run is not None:
            self._abandoning = asyncio.ensure_future(run.abandon())

    async def _take_up(self) -> None:
        """What an earlier engine left unended: those that ran go on at once, the others wait for their turn."""
        after, taken = _NO_ID, 0
        while True:
            rows = await self._parts.database.all(statements.UNENDED, after=after, limit=_PAGE)
            for row in rows:
                execution = Execution.from_row(row)
                after = execution.id
                if execution.id in self._runs or execution.id in self._queue:
                    continue
                taken += 1
                if execution.status == "running":
                    self._begin(execution)
                else:
                    self._queue.put(execution)
            await asyncio.sleep(0)
            if len(rows) < _PAGE:
                break
        self._admitting.set()
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
            except StorageError as error:
                log.warning("what was asked of executions waits for the database", error=str(error))

    async def _see_to(self, execution_id: str, what: str) -> None:
        match what:
            case "cancel":
                await self.cancel(execution_id)
            case "pause":
                await self.pause(execution_id)
            case "resume":
                await self.resume(execution_id)
            case _:
                if execution_id not in self._runs and execution_id not in self._queue:
                    row = await self._parts.database.one(statements.FIND, id=execution_id)
                    if row is not None and row["status"] == "pending":
                        self.put(Execution.from_row(row))
                self._parts.writer.of("").writes.append((statements.ANSWERED, {"id_": execution_id}))

    async def cancel(self, execution_id: str) -> None:
        """Ended as cancelled, with all that it started, when this returns."""
        for child in await self._parts.database.all(statements.CHILDREN, id=execution_id):
            await self.cancel(str(child[0]))
        run = self._runs.get(execution_id)
        if run is None:
            row = await self._parts.database.one(statements.FIND, id=execution_id)
            if row is None or row["status"] not in {"pending", "running"}:
                return
            self._queue.take_out(execution_id)
            run = Run(Execution.from_row(row), self._parts)
            await run.end_cancelled()
            return
        run.cancel()
        await run.wait()

    async def pause(self, execution_id: str) -> None:
        run = self._runs.get(execution_id)
        row = await self._parts.database.one(statements.FIND, id=execution_id)
        if row is None or row["status"] not in {"pending", "running"}:
            return
        execution = run.execution if run is not None else Execution.from_row(row)
        if execution.paused_at is None:
            execution.paused_at = now()
            if run is not None and run.host is not None:
                run.host.pause()
            self._note(execution, run, "workflow.suspended", "suspendedAt")
        await self._parts.writer.flush()

    async def resume(self, execution_id: str) -> None:
        run = self._runs.get(execution_id)
        row = await self._parts.database.one(statements.FIND, id=execution_id)
        if row is None or row["status"] not in {"pending", "running"}:
            return
        execution = run.execution if run is not None else Execution.from_row(row)
        if execution.paused_at is not None:
            execution.paused_at = None
            self._note(execution, run, "workflow.resumed", "resumedAt")
            await self._parts.writer.flush()
            if run is not None and run.host is not None:
                run.host.resume()
        await self._parts.writer.flush()

    def _note(self, execution: Execution, run: Run | None, type_: str, when: str) -> None:
        at = now()
        details = execution.details
        details.pop("paused_at", None)
        if execution.paused_at is not None:
            details["paused_at"] = rfc3339(execution.paused_at)
        execution.metadata = encoded(details)
        portion = self._parts.writer.of(execution.id)
        row = {"id_": execution.id, "paused_at": execution.paused_at, "metadata": execution.metadata}
        portion.writes.append((statements.PAUSE_EXECUTION, row))
        workflow = run.workflow if run is not None else None
        name = qualified_name(workflow, execution.id) if workflow is not None else execution.id
        data = {"name": name, when: rfc3339(at)}
        portion.events.append(NewEvent(execution.workflow_id, type_, execution.id, None, data, at))
