"""Events that came in, offered to the workflows that start by them (`schedule.on`), and sent on to sinks.

A project's events are seen to by one worker at a time, in their order. What an event does is one transaction with the
note that it was handled: who finds that another worker did it meanwhile does nothing.
"""

from collections.abc import Awaitable, Callable, Mapping

import structlog
from sqlalchemy import bindparam, false, select, true, update

from penstock.engine.behalf import on_behalf_of
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.inbox import is_too_late, opened
from penstock.engine.embedded.listener import Offered
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import SEAL_INPUT
from penstock.engine.embedded.sinks import Sinks
from penstock.engine.embedded.triggers import Trigger, started_by
from penstock.engine.embedded.writer import Portion, hold_in_place, write_rows
from penstock.engine.faults import Fault
from penstock.engine.temporal import written
from penstock.storage import Database, Duplicate, Refused, Row, Statement, StorageError, now
from penstock.storage.engine_tables import inbox, workflow_schedules
from penstock.storage.platform_tables import workflows

log = structlog.get_logger()
_PAGE = 50
_PROJECTS = 100

_UNHANDLED = Statement(
    select(inbox.c.id, inbox.c.event, inbox.c.emitted, inbox.c.received_at, inbox.c.expires_at)
    .where(inbox.c.project_id == bindparam("project_id"), inbox.c.handled == false())
    .order_by(inbox.c.id)
    .limit(_PAGE)
)
_WAITING = Statement(
    select(inbox.c.project_id)
    .where(inbox.c.handled == false(), inbox.c.received_at < bindparam("before"))
    .distinct()
    .limit(_PROJECTS)
)
_ONE = Statement(select(inbox.c.event).where(inbox.c.id == bindparam("id")))
_HANDLED = Statement(
    update(inbox).where(inbox.c.id == bindparam("id_"), inbox.c.handled == false()).values(handled=true())
)
_OF_PROJECT = Statement(
    select(
        workflow_schedules.c.workflow_id,
        workflow_schedules.c.version,
        workflow_schedules.c.state,
    )
    .join(workflows, workflows.c.id == workflow_schedules.c.workflow_id)
    # Those that have a time are no triggers.
    .where(workflows.c.project_id == bindparam("project_id"), workflow_schedules.c.next_run_at.is_(None))
    .order_by(workflow_schedules.c.workflow_id)
)

SendOn = Callable[[str, int], Awaitable[None]]
"""That this event of the project is to be sent to the sinks: once this returns, it is not forgotten."""


async def waiting(database: Database, before: int) -> list[str]:
    """Projects with events that came before then, and that nobody has seen to."""
    return [str(row[0]) for row in await database.all(_WAITING, before=before)]


class Triggers:
    def __init__(self, parts: EngineParts, start: Callable[[Mapping[str, str]], None], send_on: SendOn) -> None:
        self._parts = parts
        self._start = start
        self._send_on = send_on
        self._sinks = Sinks(parts)
        self._refused: set[int] = set()

    async def offer(self, project_id: str) -> bool:
        """What has come, to whom it may start; whether there may be more."""
        on_behalf_of.set(project_id)
        rows = await self._parts.database.all(_UNHANDLED, project_id=project_id)
        if not rows:
            return False
        # After the events: what a trigger knows already of them, it does not take again.
        triggers = await self._triggers(project_id)
        for row in rows:
            if not await self._handle(project_id, triggers, row):
                return True
        return len(rows) == _PAGE

    async def send(self, project_id: str, number: int) -> None:
        """To every sink, or until it has refused often enough."""
        row = await self._parts.database.one(_ONE, id=number)
        if row is not None and (offered := opened(self._parts.seal, number, project_id, str(row[0]))) is not None:
            await self._sinks.send(offered.received.event)

    async def _triggers(self, project_id: str) -> list[Trigger]:
        triggers = []
        for row in await self._parts.database.all(_OF_PROJECT, project_id=project_id):
            workflow_id, version = str(row["workflow_id"]), int(row["version"])
            try:
                workflow = await self._parts.definitions.get(workflow_id, version)
            except Fault as fault:
                log.error("a schedule cannot be read", workflow_id=workflow_id, error=str(fault))
                continue
            if workflow.schedule.on is not None:
                triggers.append(Trigger(self._parts, workflow_id, project_id, version, workflow, str(row["state"])))
        return triggers

    async def _handle(self, project_id: str, triggers: list[Trigger], row: Row) -> bool:
        """False when what the triggers know is not so any more: to be read again."""
        number, portion, started = int(row["id"]), Portion(), list[Execution]()
        offered = opened(self._parts.seal, number, project_id, str(row["event"]))
        if offered is not None and number not in self._refused and not is_too_late(row, now()):
            started = await self._decide(triggers, offered, portion)
        if row["emitted"] and self._parts.limits.sinks:
            await self._send_on(project_id, number)
        try:
            is_first = await self._write(number, portion)
        except (Refused, Duplicate) as error:
            # A workflow was deleted in this moment, most likely; if not, the next ones are not to wait for it for ever.
            log.warning("an event could not be offered", number=number, project_id=project_id, error=str(error))
            self._refused.add(number)
            return False
        self._refused.discard(number)
        if is_first:
            self._start({execution.id: execution.workflow_id for execution in started})
        return is_first

    async def _decide(self, triggers: list[Trigger], offered: Offered, portion: Portion) -> list[Execution]:
        started = []
        for trigger in triggers:
            try:
                events = await trigger.offer(offered)
            except StorageError:
                raise
            except Exception as error:
                # It would be the same the next time, and the next events wait for this one.
                log.error(
                    "an event could not be offered", workflow_id=trigger.workflow_id,
                    number=offered.received.number, exc_info=error,
                )  # fmt: skip
                continue
            if events is None:
                continue
            execution = started_by(self._parts, portion, trigger, offered, events)
            if execution is not None and not await self._parts.exists(execution.id):
                _born(portion, execution)
                started.append(execution)
        return started

    async def _write(self, number: int, portion: Portion) -> bool:
        async with self._parts.database.transaction() as tx:
            await hold_in_place(tx, [portion], [])
            if not await tx.run(_HANDLED, id_=number):
                return False
            await write_rows(tx, [portion])
            return True


def _born(portion: Portion, execution: Execution) -> None:
    row, change = written.born(execution)
    portion.writes.append((statements.ADD_EXECUTION, row))
    if execution.sealed is not None:
        portion.writes.append((SEAL_INPUT, {"id_": execution.id, "sealed": execution.sealed}))
    portion.changes.append(change)
