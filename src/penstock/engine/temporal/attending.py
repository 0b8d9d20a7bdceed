"""What a worker sees to that is no execution's own doing: errands, and those who wait for their turn."""

from collections.abc import Callable
from typing import Any

from temporalio import activity

from penstock.engine.embedded import statements
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.pausing import note
from penstock.engine.embedded.writer import Portion, hold_in_place, write_rows
from penstock.engine.temporal import passed
from penstock.engine.temporal.errand import EVENTS, SCHEDULE, SINKS
from penstock.engine.temporal.schedules import Schedules
from penstock.engine.temporal.triggers import Triggers
from penstock.storage import Database, now


class Attending:
    def __init__(self, database: Database, definitions: Definitions, schedules: Schedules, triggers: Triggers) -> None:
        self._database = database
        self._definitions = definitions
        self._schedules = schedules
        self._triggers = triggers

    @property
    def all(self) -> list[Callable[..., Any]]:
        return [self.see_to, self.hold, self.is_asked, self.is_held]

    @activity.defn
    async def see_to(self, errand: passed.Errand) -> bool:
        """Whether there may be more to see to."""
        if errand.kind == SCHEDULE:
            return await self._schedules.keep(errand.of, int(errand.rest) if errand.rest else None)
        if errand.kind == EVENTS:
            return await self._triggers.offer(errand.of)
        if errand.kind == SINKS:
            await self._triggers.send(errand.of, int(errand.rest))
        return False

    @activity.defn
    async def is_asked(self, asked: passed.Hold) -> bool:
        """Still. Who was told late, or twice, is not to do what was taken back since. What has been done is asked, too:
        the walk that did it may have been lost before Temporal heard of it, and this one is to do the same."""
        row = await self._database.one(statements.ENDED, id=asked.execution_id)
        if row is None:
            return False
        done = "pause" if row["paused_at"] is not None else "resume"
        return bool((row["asked"] or done) == asked.what)

    @activity.defn
    async def is_held(self, asked: passed.Load) -> bool:
        """Whether it is stored as paused."""
        row = await self._database.one(statements.ENDED, id=asked.execution_id)
        return row is not None and row["paused_at"] is not None

    @activity.defn
    async def hold(self, asked: passed.Hold) -> None:
        """It is paused, or not any more, before it has begun. Noted apart from what it records once it runs."""
        now_ = await self._database.one(statements.ENDED, id=asked.execution_id)
        row = await self._database.one(statements.FIND, id=asked.execution_id)
        if now_ is None or now_["asked"] != asked.what or row is None or row["status"] != "pending":
            return
        execution, portion, at = Execution.from_row(row), Portion(), now()
        workflow = await self._definitions.get_if_valid(execution.workflow_id, execution.version)
        if asked.what == "pause" and execution.paused_at is None:
            execution.paused_at = at
            note(portion, execution, workflow, "workflow.suspended", "suspendedAt", at)
        elif asked.what == "resume" and execution.paused_at is not None:
            execution.paused_at = None
            note(portion, execution, workflow, "workflow.resumed", "resumedAt", at)
        portion.writes.append((statements.ANSWERED, {"id_": execution.id, "what": asked.what}))
        async with self._database.transaction() as tx:
            await hold_in_place(tx, [portion], [])
            await write_rows(tx, [portion])
