"""What starts by itself at a time. Our calendar says when, Temporal's Schedules ring then, and a worker starts it.

A schedule there holds the next few times, and is told further ones before they run out: Temporal's own calendars treat
changes of the clock, and days that are given twice, in other ways than ours. What the table says counts; a schedule
that was told wrongly, or not at all, is only late.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import structlog
from sqlalchemy import bindparam, select, update
from temporalio.client import (
    Client,
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleRange,
    ScheduleSpec,
    ScheduleUpdate,
)
from temporalio.service import RPCError, RPCStatusCode

from penstock.dsl.model import Workflow
from penstock.engine.embedded import schedules, statements
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.writer import Portion, hold_in_place, write_rows
from penstock.engine.faults import Fault
from penstock.engine.temporal import written
from penstock.engine.temporal.connection import RPC, TASK
from penstock.engine.temporal.errand import ERRAND, SCHEDULE, errand_id
from penstock.engine.temporal.fairness import turn_of
from penstock.storage import Database, Row, Statement, now
from penstock.storage.engine_tables import workflow_schedules
from penstock.storage.platform_tables import workflows

log = structlog.get_logger()
_SECOND = 1_000_000
_TOLD = 20  # times at once
_CLOCKS = 2 * _SECOND  # by which this machine's may be behind the cluster's
_LATE = 3 * _SECOND
_PAGE = 100

_ONE = Statement(
    select(
        workflow_schedules.c.version,
        workflow_schedules.c.next_run_at,
        workflows.c.project_id,
    )
    .join(workflows, workflows.c.id == workflow_schedules.c.workflow_id)
    .where(workflow_schedules.c.workflow_id == bindparam("workflow_id"))
)
_LATE_ONES = Statement(
    select(workflow_schedules.c.workflow_id)
    .where(workflow_schedules.c.next_run_at < bindparam("before"))
    .order_by(workflow_schedules.c.next_run_at)
    .limit(_PAGE)
)
# Whoever moves it on from this time starts the run that was planned for it; nobody else does.
_MOVE_ON = Statement(
    update(workflow_schedules)
    .where(
        workflow_schedules.c.workflow_id == bindparam("id_"),
        workflow_schedules.c.version == bindparam("version_"),
        workflow_schedules.c.next_run_at == bindparam("planned"),
    )
    .values(next_run_at=bindparam("next_run_at"))
)


class Schedules:
    def __init__(
        self,
        database: Database,
        client: Client,
        task_queue: str,
        definitions: Definitions,
        start: Callable[[Mapping[str, str]], None],
    ) -> None:
        self._database = database
        self._client = client
        self._task_queue = task_queue
        self._definitions = definitions
        self._start = start

    async def deploy(self, workflow_id: str, version: int, workflow: Workflow) -> None:
        async with self._database.transaction() as tx:
            # Temporal's schedules know whole seconds.
            await schedules.put(tx, workflow_id, version, workflow, _ceiling(now()) * _SECOND)
        await self.tell(workflow_id)

    async def drop(self, workflow_id: str) -> None:
        async with self._database.transaction() as tx:
            await schedules.drop(tx, workflow_id)
        await self._forget(workflow_id)

    async def keep(self, workflow_id: str, told: int | None) -> bool:
        """Start what is due; whether there may be more of it. `told` is the last time that Temporal knows of."""
        row = await self._database.one(_ONE, workflow_id=workflow_id)
        if row is None:
            # Stopped or deleted, by somebody who could not tell Temporal.
            await self._forget(workflow_id)
            return False
        if row["next_run_at"] is None:
            return False
        planned = int(row["next_run_at"])
        if 0 < (early := planned - now()) < _CLOCKS:
            await asyncio.sleep(early / _SECOND)
        if planned > now():
            await self._tell_in_time(workflow_id, planned, told)
            return False
        following = await self._run(workflow_id, row, planned)
        if following is not None:
            await self._tell_in_time(workflow_id, following, told)
        return following is not None and following <= now()

    async def late(self) -> list[str]:
        """Those for which nobody rang: Temporal was not told, or not in time."""
        rows = await self._database.all(_LATE_ONES, before=now() - _LATE)
        return [str(row[0]) for row in rows]

    async def make_good(self) -> None:
        """Those of which nobody said when they run next."""
        for workflow_id, version in await self._database.all(schedules.FORGOTTEN):
            try:
                workflow = await self._definitions.get(str(workflow_id), int(version))
                write = schedules.make_good(str(workflow_id), int(version), workflow, now())
            except Fault:
                continue
            if write is not None:
                async with self._database.transaction() as tx:
                    await tx.run(write[0], **write[1])
                await self.tell(str(workflow_id))

    async def _run(self, workflow_id: str, row: Row, planned: int) -> int | None:
        """One run for all that was missed. When it is next, if that is known."""
        version, at = int(row["version"]), now()
        portion = Portion()
        execution: Execution | None = None
        try:
            workflow = await self._definitions.get(workflow_id, version)
            following = schedules.next_run(workflow, planned, at)
        except Fault as fault:
            log.error("a schedule cannot be kept", workflow_id=workflow_id, error=str(fault))
            following = None
        else:
            execution = schedules.planned_run(workflow_id, str(row["project_id"]), version, planned, at)
            if await self._database.one(statements.ENDED, id=execution.id) is None:
                added, change = written.born(execution)
                portion.writes.append((statements.ADD_EXECUTION, added))
                portion.changes.append(change)
        async with self._database.transaction() as tx:
            await hold_in_place(tx, [portion], [])
            moved = {"id_": workflow_id, "version_": version, "planned": planned, "next_run_at": following}
            if not await tx.run(_MOVE_ON, **moved):
                return None  # another worker did, or it was deployed anew
            await write_rows(tx, [portion])
        if execution is not None:
            self._start({execution.id: workflow_id})
        return following

    # What Temporal is told

    async def tell(self, workflow_id: str) -> None:
        """When it is next, and some times after that."""
        row = await self._database.one(_ONE, workflow_id=workflow_id)
        if row is None or row["next_run_at"] is None:
            await self._forget(workflow_id)
            return
        try:
            workflow = await self._definitions.get(workflow_id, int(row["version"]))
            times = _times(workflow, int(row["next_run_at"]))
        except Fault as fault:
            log.error("a schedule cannot be kept", workflow_id=workflow_id, error=str(fault))
            return
        try:
            await self._put(workflow_id, times)
        except (RPCError, RuntimeError) as error:
            log.warning("a schedule is told to Temporal later", workflow_id=workflow_id, error=str(error))

    async def _tell_in_time(self, workflow_id: str, following: int, told: int | None) -> None:
        if told is None or _ceiling(following) >= told:
            await self.tell(workflow_id)

    async def _put(self, workflow_id: str, times: Sequence[int]) -> None:
        id_ = errand_id(SCHEDULE, workflow_id)
        schedule = Schedule(
            action=ScheduleActionStartWorkflow(
                ERRAND,
                id=errand_id(SCHEDULE, workflow_id, str(times[-1])),
                task_queue=self._task_queue,
                priority=turn_of(workflow_id),
                task_timeout=TASK,
            ),
            spec=ScheduleSpec(calendars=[_calendar(time) for time in times]),
        )
        try:
            await self._client.create_schedule(id_, schedule, rpc_timeout=RPC)
        except ScheduleAlreadyRunningError:
            await self._client.get_schedule_handle(id_).update(lambda _: ScheduleUpdate(schedule), rpc_timeout=RPC)

    async def _forget(self, workflow_id: str) -> None:
        try:
            await self._client.get_schedule_handle(errand_id(SCHEDULE, workflow_id)).delete(rpc_timeout=RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                log.warning("a schedule that ended rings once more", workflow_id=workflow_id, error=str(error))
        except RuntimeError as error:
            log.warning("a schedule that ended rings once more", workflow_id=workflow_id, error=str(error))


def _times(workflow: Workflow, first: int) -> list[int]:
    """In seconds. `after` has one: the next depends on the end of that run."""
    times: list[int] = []
    following: int | None = first
    while following is not None and len(times) < _TOLD:
        times.append(_ceiling(following))
        following = schedules.next_run(workflow, following, following)
    return times


def _ceiling(at: int) -> int:
    return -(-at // _SECOND)


def _calendar(seconds: int) -> ScheduleCalendarSpec:
    at = datetime.fromtimestamp(seconds, UTC)
    second, minute, hour, day, month, year = (
        (ScheduleRange(each),) for each in (at.second, at.minute, at.hour, at.day, at.month, at.year)
    )
    return ScheduleCalendarSpec(second=second, minute=minute, hour=hour, day_of_month=day, month=month, year=year)
