"""What starts by itself: every so often, by a calendar, after the last one ended, or when events come.

Runs that were missed while no engine ran are made up for once, not one by one.
"""

import asyncio
import uuid
from contextlib import suppress
from typing import Any

import structlog
from sqlalchemy import bindparam, delete, exists, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from penstock.dsl.model import Workflow
from penstock.engine.embedded.calendar import next_time
from penstock.engine.embedded.execution import Execution, encoded, rfc3339
from penstock.engine.embedded.listener import Offered
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.subflows import born
from penstock.engine.embedded.triggers import Trigger, started_by
from penstock.engine.embedded.writer import Portion
from penstock.engine.faults import Fault
from penstock.engine.host import Json
from penstock.storage import Row, Statement, StorageError, Transaction, now
from penstock.storage.engine_tables import workflow_schedules
from penstock.storage.platform_tables import executions, workflows

log = structlog.get_logger()

_LOOK_EVERY = 1.0
_LOOK_FOR_LOST_EVERY = 30  # looks
_announced = insert(workflow_schedules).values(
    workflow_id=bindparam("workflow_id"),
    version=bindparam("version"),
    next_run_at=None,
    state="{}",
    updated_at=bindparam("now"),
)
_ANNOUNCE = Statement(
    _announced.on_conflict_do_update(
        index_elements=["workflow_id"],
        set_={name: _announced.excluded[name] for name in ("version", "next_run_at", "state", "updated_at")},
        where=workflow_schedules.c.version != _announced.excluded.version,
    )
)
_DROP = Statement(delete(workflow_schedules).where(workflow_schedules.c.workflow_id == bindparam("workflow_id")))
_columns = (
    workflow_schedules.c.workflow_id,
    workflow_schedules.c.version,
    workflow_schedules.c.next_run_at,
    workflow_schedules.c.state,
    workflows.c.project_id,
)
_with_project = select(*_columns).join(workflows, workflows.c.id == workflow_schedules.c.workflow_id)
_DUE = Statement(
    _with_project.where(workflow_schedules.c.next_run_at <= bindparam("now"))
    .order_by(workflow_schedules.c.next_run_at)
    .limit(100)
)
_SOONEST = Statement(select(func.min(workflow_schedules.c.next_run_at)))
_ALL = Statement(_with_project.order_by(workflow_schedules.c.workflow_id))
_CHANGED = Statement(select(func.max(workflow_schedules.c.updated_at), func.count()).select_from(workflow_schedules))
NEXT = Statement(
    update(workflow_schedules)
    .where(workflow_schedules.c.workflow_id == bindparam("id_"), workflow_schedules.c.version == bindparam("version_"))
    .values(next_run_at=bindparam("next_run_at"))
)
_none_runs = ~exists().where(
    executions.c.workflow_id == workflow_schedules.c.workflow_id,
    executions.c.version == workflow_schedules.c.version,
    executions.c.trigger_type == "schedule",
    or_(executions.c.status == "pending", executions.c.status == "running"),
)
# Nobody said when the next one is: of those that run after the end of the last one, it ended, or was deleted; or the
# server that deployed it died before it had worked that out.
FORGOTTEN = Statement(
    select(workflow_schedules.c.workflow_id, workflow_schedules.c.version).where(
        workflow_schedules.c.next_run_at.is_(None), _none_runs
    )
)
_without_plan = (
    workflow_schedules.c.workflow_id == bindparam("id_"),
    workflow_schedules.c.version == bindparam("version_"),
    workflow_schedules.c.next_run_at.is_(None),
)
_plan = update(workflow_schedules).where(*_without_plan).values(next_run_at=bindparam("next_run_at"))
_PLAN = Statement(_plan)
# The end of one that runs says when the next one is.
_PLAN_AFTER = Statement(_plan.where(_none_runs))
_DROP_ANNOUNCED = Statement(delete(workflow_schedules).where(*_without_plan))
NEXT_RUN = Statement(
    select(workflow_schedules.c.next_run_at).where(workflow_schedules.c.workflow_id == bindparam("workflow_id"))
)


async def announce(tx: Transaction, workflow_id: str, version: int) -> None:
    """With the record of a deployment, whatever its schedule is: if nobody comes to `put` it, it is found forgotten.
    Deployed again as it is, it keeps its plan, and what it has consumed."""
    await tx.run(_ANNOUNCE, workflow_id=workflow_id, version=version, now=now())


async def put(tx: Transaction, workflow_id: str, version: int, workflow: Workflow, at: int) -> None:
    """When what was announced is first due; nothing when another version has taken its place since."""
    write = _first(workflow_id, version, workflow, at, at)
    if write is not None:
        await tx.run(write[0], **write[1])


def make_good(workflow_id: str, version: int, workflow: Workflow, at: int) -> tuple[Statement, Json] | None:
    """What is to be written of one that was forgotten; nothing of one that waits for events."""
    return _first(workflow_id, version, workflow, at, at + (workflow.schedule.after or 0))


def _first(
    workflow_id: str, version: int, workflow: Workflow, at: int, after_end: int
) -> tuple[Statement, Json] | None:
    which, schedule = {"id_": workflow_id, "version_": version}, workflow.schedule
    if all(each is None for each in (schedule.every, schedule.cron, schedule.after, schedule.on)):
        return _DROP_ANNOUNCED, which
    if schedule.after is not None:
        return _PLAN_AFTER, which | {"next_run_at": after_end}
    first = next_run(workflow, at, at)
    return None if first is None else (_PLAN, which | {"next_run_at": first})


async def drop(tx: Transaction, workflow_id: str) -> None:
    await tx.run(_DROP, workflow_id=workflow_id)


def run_id(workflow_id: str, version: int, planned: int) -> str:
    """Named by what it is for, so that it is one execution however often it is started."""
    return str(uuid.uuid5(uuid.UUID(workflow_id), f"schedule {version} {planned}"))


def planned_run(workflow_id: str, project_id: str, version: int, planned: int, at: int) -> Execution:
    """The execution of that plan, whoever starts it, and however often."""
    return Execution(
        run_id(workflow_id, version, planned),
        workflow_id,
        project_id,
        version,
        "schedule",
        "{}",
        "pending",
        at,
        metadata=encoded({"planned_for": rfc3339(planned)}),
    )


def next_run(workflow: Workflow, planned: int, at: int) -> int | None:
    """When it is next after the run that was planned for then. Whatever was missed meanwhile is not made up for."""
    schedule = workflow.schedule
    if schedule.every is not None:
        late = max(0, at - planned) // schedule.every
        return planned + (late + 1) * schedule.every
    if schedule.cron is not None:
        return next_time(schedule.cron, workflow.timezone, max(planned, at))
    return None


def after_end(portion: Portion, execution: Execution, workflow: Workflow | None, at: int) -> bool:
    """Whether the end of this one, at this time, says when the next one is."""
    pause = workflow.schedule.after if workflow is not None else None
    if pause is None or execution.trigger_type != "schedule":
        return False
    row = {"id_": execution.workflow_id, "version_": execution.version, "next_run_at": at + pause}
    portion.writes.append((NEXT, row))
    return True


class Schedules:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._something = asyncio.Event()
        self._seen: tuple[Any, ...] = ()
        self._triggers: dict[str, Trigger] = {}
        self._versions: dict[str, int] = {}
        """What was looked at, whether events start it or not: thousands are not read again because of one."""
        self._looking = asyncio.Lock()

    def wake(self) -> None:
        self._something.set()

    async def run(self) -> None:
        looks = 0
        while True:
            pause = _LOOK_EVERY
            try:
                await self.refresh()
                if looks % _LOOK_FOR_LOST_EVERY == 0:
                    await self._look_for_forgotten()
                looks += 1
                while rows := await self._parts.database.all(_DUE, now=now()):
                    for row in rows:
                        await self._start(row)
                    await self._parts.writer.flush()
                soonest = await self._parts.database.one(_SOONEST)
                if soonest is not None and soonest[0] is not None:
                    pause = min(pause, max(0.0, (int(soonest[0]) - now()) / 1_000_000))
            except StorageError as error:
                log.warning("schedules wait for the database", error=str(error))
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._something.wait()
            self._something.clear()

    async def refresh(self) -> None:
        """Know what is deployed now. Whoever offers events asks for it, too: one thing at a time."""
        async with self._looking:
            await self._look_for_changes()

    async def _look_for_forgotten(self) -> None:
        for workflow_id, version in await self._parts.database.all(FORGOTTEN):
            try:
                workflow = await self._parts.definitions.get(str(workflow_id), int(version))
                write = make_good(str(workflow_id), int(version), workflow, now())
            except Fault:
                continue
            if write is not None:
                self._parts.writer.of(str(workflow_id)).writes.append(write)
        await self._parts.writer.flush()

    async def _look_for_changes(self) -> None:
        row = await self._parts.database.one(_CHANGED)
        seen = tuple(row) if row is not None else ()
        if seen == self._seen:
            return
        rows = {str(row["workflow_id"]): row for row in await self._parts.database.all(_ALL)}
        self._triggers = {id_: each for id_, each in self._triggers.items() if id_ in rows}
        self._versions = {id_: version for id_, version in self._versions.items() if id_ in rows}
        for id_, row in rows.items():
            await self._take_in(id_, row)
        self._seen = seen

    async def _take_in(self, workflow_id: str, row: Row) -> None:
        version = int(row["version"])
        if self._versions.get(workflow_id) == version:
            return
        try:
            workflow = await self._parts.definitions.get(workflow_id, version)
        except Fault as fault:
            log.error("a schedule cannot be read", workflow_id=workflow_id, error=str(fault))
            return
        self._versions[workflow_id] = version
        self._triggers.pop(workflow_id, None)
        if workflow.schedule.on is not None:
            self._triggers[workflow_id] = Trigger(
                self._parts, workflow_id, str(row["project_id"]), version, workflow, str(row["state"])
            )

    async def _start(self, row: Row) -> None:
        workflow_id, version, planned = str(row["workflow_id"]), int(row["version"]), int(row["next_run_at"])
        at, portion_of = now(), workflow_id
        try:
            workflow = await self._parts.definitions.get(workflow_id, version)
            following = next_run(workflow, planned, at)
        except Fault as fault:
            log.error("a schedule cannot be kept", workflow_id=workflow_id, error=str(fault))
            following = None
        except (ValueError, ArithmeticError) as error:
            # A defect of ours; all others must not wait for it.
            log.error("a schedule cannot be kept", workflow_id=workflow_id, exc_info=error)
            following = None
        else:
            execution = planned_run(workflow_id, str(row["project_id"]), version, planned, at)
            if not await self._parts.exists(execution.id):
                portion_of = execution.id
                born(self._parts, execution)
        # With the execution, or not at all.
        self._parts.writer.of(portion_of).writes.append(
            (NEXT, {"id_": workflow_id, "version_": version, "next_run_at": following})
        )

    def ended(self, portion: Portion, execution: Execution, workflow: Workflow | None) -> None:
        """`after`: the next one is due so long after the end of this one."""
        if after_end(portion, execution, workflow, now()):
            self._something.set()

    async def offer(self, project_id: str, offered: Offered) -> None:
        """An event came: which workflows does it start? One project's events come one at a time."""
        for trigger in list(self._triggers.values()):
            if trigger.project_id == project_id and (events := await trigger.offer(offered)) is not None:
                await self._start_by(trigger, offered, events)

    async def _start_by(self, trigger: Trigger, offered: Offered, events: list[Json]) -> None:
        id_ = trigger.run_id(offered)
        starts = bool(events) and not await self._parts.exists(id_)
        # All in one batch: an event that is consumed has its execution.
        portion = self._parts.writer.of(id_)
        execution = started_by(self._parts, portion, trigger, offered, events if starts else [])
        if execution is not None:
            born(self._parts, execution)
