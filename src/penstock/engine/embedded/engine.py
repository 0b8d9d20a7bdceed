"""The engine of this process: it waits for the lease, takes up what is unended, and runs executions as they come.

On a database with several servers only one of them runs executions; the others write what is asked into the database,
and the one that runs sees to it.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import structlog

from penstock.engine.asked import EngineRefused, Pending
from penstock.engine.embedded import inbox, metrics, schedules, statements
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import Execution, encoded
from penstock.engine.embedded.lease import Lease, LeaseLost
from penstock.engine.embedded.parts import EngineLimits, EngineParts, MayStart, Vault
from penstock.engine.embedded.patience import PatientDatabase, patiently
from penstock.engine.embedded.signals import Signals
from penstock.engine.embedded.tenure import Tenure
from penstock.engine.embedded.writer import WriterEnded
from penstock.engine.faults import Fault
from penstock.engine.jq import Jq
from penstock.engine.performing import Performer
from penstock.storage import Database, Row, StorageError, Transaction, now

log = structlog.get_logger()

_PATIENCE = 5.0
_LOOK_EVERY = 0.05
_AT_ONCE = 50  # executions that are cancelled


class EmbeddedEngine:
    def __init__(
        self, database: Database, performer: Performer, limits: EngineLimits, vault: Vault, may_start: MayStart
    ) -> None:
        self._database = database
        self._performer = performer
        self._limits = limits
        self._vault = vault
        self._may_start = may_start
        self._definitions = Definitions(PatientDatabase(database))
        self._lease = Lease(database)
        self._tenure: Tenure | None = None
        self._signals = Signals(database, self._heard)
        self._main: asyncio.Task[None] | None = None

    # Its own life

    def start(self) -> None:
        self._signals.start()
        self._main = asyncio.create_task(self._live())

    async def close(self) -> None:
        if self._main is not None:
            self._main.cancel()
            with suppress(asyncio.CancelledError):
                await self._main
        await self._signals.close()

    @property
    def trouble(self) -> str | None:
        """Why executions do not go on at present; None when they do."""
        if self._main is not None and self._main.done():
            return "the engine has ended; the server's log says why"
        return self._tenure.trouble if self._tenure is not None else None

    @property
    def jq(self) -> Jq:
        """Its processes for expressions, also for whoever only wants to know whether one compiles."""
        return self._performer.jq

    @property
    def runs(self) -> bool:
        """Whether this one is the engine that runs, or one that waits to."""
        return self._tenure is not None

    @property
    def waits(self) -> bool:
        """Whether it has seen another one that runs. One that begins neither runs nor waits yet."""
        return self._lease.is_anothers

    @property
    def taken_up(self) -> int | None:
        """How many unended executions it found when it began to run; None while it waits, or still looks."""
        return self._tenure.taken_up if self._tenure is not None else None

    async def _live(self) -> None:
        while True:
            await self._lease.acquire()
            log.info("the engine runs", fence=self._lease.fence)
            tenure = self._tenure = Tenure(self._parts(), self._lease)
            metrics.watch(tenure)
            try:
                await tenure.run()
            except LeaseLost:
                log.warning("another engine has taken over; this one waits")
                self._tenure = None
                await self._hand_over(tenure.left)
            except asyncio.CancelledError:
                await self._lease.let_go()
                raise
            except Exception as error:
                log.error("the engine failed and starts anew", exc_info=error)
                await asyncio.sleep(1.0)
            finally:
                self._tenure = None
                metrics.watch(None)

    async def _hand_over(self, execution_ids: list[str]) -> None:
        """What was triggered here after another engine had taken over, and before this one knew."""
        try:
            async with self._database.transaction() as tx:
                await tx.run_many(statements.ASK_TO_START, [{"id_": id_} for id_ in execution_ids])
            await self._signals.send()
        except StorageError as error:
            log.warning("what was begun here is found by the other engine somewhat later", error=str(error))

    def _parts(self) -> EngineParts:
        async def may_start(user_id: str, workflow_id: str) -> bool:
            return await patiently(lambda: self._may_start(user_id, workflow_id))

        parts = EngineParts()
        parts.database, parts.performer = PatientDatabase(self._database), self._performer
        parts.limits, parts.vault = self._limits, self._vault
        parts.may_start, parts.definitions = may_start, self._definitions
        return parts

    def _heard(self) -> None:
        if self._tenure is not None:
            self._tenure.look()

    # What is asked of it

    async def deploy(self, workflow_id: str, version: int) -> None:
        try:
            workflow = await self._definitions.get(workflow_id, version)
            async with self._database.transaction() as tx:
                await schedules.put(tx, workflow_id, version, workflow, now())
        except Fault as fault:
            raise EngineRefused(fault.error.message) from None
        await self._wake()

    async def stop(self, workflow_id: str, cancel_running: bool) -> None:
        async with self._database.transaction() as tx:
            await schedules.drop(tx, workflow_id)
        if cancel_running:
            rows = await self._database.all(statements.UNENDED_OF, workflow_id=workflow_id)
            places = asyncio.Semaphore(_AT_ONCE)

            async def cancel(execution_id: str) -> None:
                async with places:
                    await self.cancel(execution_id)

            await asyncio.gather(*(cancel(str(row[0])) for row in rows))
        await self._wake()

    async def trigger(self, pending: Pending) -> None:
        if self._tenure is None:
            await self._ask(pending.id, "start")
            return
        self._tenure.put(
            Execution(
                pending.id,
                pending.workflow_id,
                pending.project_id,
                pending.version,
                pending.trigger_type,
                pending.trigger_data,
                "pending",
                pending.created_at,
                metadata=pending.metadata,
            )
        )

    async def cancel(self, execution_id: str) -> None:
        # Written down first: should this engine end before the execution has, the next one sees to it.
        await self._ask(execution_id, "cancel")
        if not await self._here(lambda tenure: tenure.cancel(execution_id)):
            await self._until(execution_id, lambda row: row["completed_at"] is not None)

    async def pause(self, execution_id: str) -> None:
        await self._ask_and_see_to(execution_id, "pause")

    async def resume(self, execution_id: str) -> None:
        await self._ask_and_see_to(execution_id, "resume")

    async def _ask_and_see_to(self, execution_id: str, what: str) -> None:
        # Written down first: it is in the place of what was asked before, elsewhere, and not seen to yet.
        await self._ask(execution_id, what)
        if not await self._here(lambda tenure: tenure.see_to_pause(execution_id)):
            await self._until(execution_id, lambda row: row["asked"] is None)

    async def receive(self, tx: Transaction, project_id: str, events: list[dict[str, Any]]) -> None:
        lives = self._limits.event_lives
        rows = [inbox.row_of(project_id, encoded(event), lives, emitted=False) for event in events]
        await statements.lock_events_in(tx)
        await tx.run_many(inbox.ADD, rows)

    async def received(self) -> None:
        await self._wake()

    async def next_run_at(self, workflow_id: str) -> int | None:
        row = await self._database.one(schedules.NEXT_RUN, workflow_id=workflow_id)
        return None if row is None or row[0] is None else int(row[0])

    async def _here(self, see_to: Callable[[Tenure], Awaitable[None]]) -> bool:
        """False when this is not the engine that runs, or has just ceased to be."""
        if self._tenure is None:
            return False
        try:
            await see_to(self._tenure)
        except WriterEnded:
            return False
        return True

    async def _ask(self, execution_id: str, what: str) -> None:
        """Written down for the engine that runs, elsewhere or soon."""
        async with self._database.transaction() as tx:
            await tx.run(statements.ASK, id_=execution_id, what=what)
        await self._signals.send()

    async def _wake(self) -> None:
        if self._tenure is not None:
            self._tenure.look()
        else:
            await self._signals.send()

    async def _until(self, execution_id: str, done: Any) -> None:
        """Until the engine elsewhere has seen to it, or for as long as anybody would wait."""
        patience = time.monotonic() + _PATIENCE
        while time.monotonic() < patience:
            row: Row | None = await self._database.one(statements.ENDED, id=execution_id)
            if row is None or done(row):
                return
            await asyncio.sleep(_LOOK_EVERY)
