"""The engine as an API server sees it: what is asked is stored first, and then sent to the cluster."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from temporalio.client import Client

from penstock.engine.asked import EngineRefused, Pending
from penstock.engine.embedded import inbox, statements
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import encoded
from penstock.engine.embedded.parts import EngineLimits
from penstock.engine.embedded.schedules import NEXT_RUN
from penstock.engine.faults import Fault
from penstock.engine.jq import Jq
from penstock.engine.temporal.errand import EVENTS, SCHEDULE
from penstock.engine.temporal.reach import Reach
from penstock.engine.temporal.schedules import Schedules
from penstock.engine.temporal.standing import Standing
from penstock.engine.temporal.sweeper import Sweeper
from penstock.storage import Database, Row, Transaction

_PATIENCE = 12.0  # a task that a worker took with it when it ended is given to another after ten
_LOOK_EVERY = 0.05
_AT_ONCE = 20


class TemporalEngine:
    unready = "Temporal does not answer"
    """What `/readyz` says while there is trouble."""

    def __init__(self, database: Database, client: Client, task_queue: str, limits: EngineLimits, jq: Jq) -> None:
        self.jq = jq
        self._database = database
        self._limits = limits
        self._definitions = Definitions(database)
        self._reach = Reach(database, client, task_queue)
        self._sweeper = Sweeper(database, self._reach)
        self._schedules = Schedules(database, client, task_queue, self._definitions, self._reach.start_soon)
        self._standing = Standing(client, task_queue, self._reach)
        self._main: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._main = asyncio.create_task(self._sweeper.run())
        self._watching = asyncio.create_task(self._standing.run())

    async def close(self) -> None:
        for task in (self._main, self._watching):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        await self._reach.close()

    @property
    def trouble(self) -> str | None:
        if self._main is not None and self._main.done():
            return "the engine has ended; the server's log says why"
        return self._reach.trouble

    @property
    def notice(self) -> str | None:
        return self._standing.notice

    # What is asked of it

    async def deploy(self, workflow_id: str, version: int) -> None:
        try:
            workflow = await self._definitions.get(workflow_id, version)
            await self._schedules.deploy(workflow_id, version, workflow)
        except Fault as fault:
            raise EngineRefused(fault.error.message) from None
        if workflow.schedule.after is not None:
            self._reach.errand_soon(SCHEDULE, workflow_id)

    async def stop(self, workflow_id: str, cancel_running: bool) -> None:
        await self._schedules.drop(workflow_id)
        if cancel_running:
            rows = await self._database.all(statements.UNENDED_OF, workflow_id=workflow_id)
            places = asyncio.Semaphore(_AT_ONCE)

            async def cancel(execution_id: str) -> None:
                async with places:
                    await self.cancel(execution_id)

            await asyncio.gather(*(cancel(str(row[0])) for row in rows))

    async def trigger(self, pending: Pending) -> None:
        self._reach.start_soon({pending.id: pending.workflow_id})

    async def cancel(self, execution_id: str) -> None:
        await self._ask(execution_id, "cancel", lambda row: row["completed_at"] is not None)

    async def pause(self, execution_id: str) -> None:
        await self._ask(execution_id, "pause", lambda row: row["asked"] is None)

    async def resume(self, execution_id: str) -> None:
        await self._ask(execution_id, "resume", lambda row: row["asked"] is None)

    async def receive(self, tx: Transaction, project_id: str, events: list[dict[str, Any]]) -> None:
        lives = self._limits.event_lives
        rows = [inbox.row_of(project_id, encoded(event), lives, emitted=False) for event in events]
        await statements.lock_events_in(tx)
        await tx.run_many(inbox.ADD, rows)
        tx.after_commit(lambda: self._tell_of_events(project_id))

    def _tell_of_events(self, project_id: str) -> None:
        if self._standing.notice is not None:
            # Nobody would hear; a worker that comes finds them. A history has room for so many signals.
            return
        self._reach.ring_soon(project_id)
        self._reach.errand_soon(EVENTS, project_id)

    async def received(self) -> None:
        """Whoever listens is told with the commit."""

    async def next_run_at(self, workflow_id: str) -> int | None:
        row = await self._database.one(NEXT_RUN, workflow_id=workflow_id)
        return None if row is None or row[0] is None else int(row[0])

    async def _ask(self, execution_id: str, what: str, done: Callable[[Row], bool]) -> None:
        """Stored, so that it is not forgotten, whoever dies; then sent; then waited for, as long as anybody would."""
        async with self._database.transaction() as tx:
            await tx.run(statements.ASK, id_=execution_id, what=what)
        if not await self._reach.ask(execution_id, what) and self._reach.trouble is None:
            await self._reach.start(execution_id)
        patience = time.monotonic() + _PATIENCE
        while time.monotonic() < patience and self._reach.trouble is None:
            row: Row | None = await self._database.one(statements.ENDED, id=execution_id)
            if row is None or done(row):
                return
            await asyncio.sleep(_LOOK_EVERY)
