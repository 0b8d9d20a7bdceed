"""What a worker does for its workflows: it reads and writes our database, evaluates, and performs."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec
import structlog
from sqlalchemy import bindparam, select
from temporalio import activity

from penstock.dsl.expressions import ExpressionFailed, NotAnExpression, program
from penstock.engine.behalf import on_behalf_of
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.lineage import MOST_OF_ONE, Families
from penstock.engine.embedded.links import Links
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import SEALED, Sealed
from penstock.engine.embedded.subflows import Subflows
from penstock.engine.faults import Fault, runtime
from penstock.engine.host import ChildOf
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.temporal import ends, passed, written
from penstock.engine.temporal.apart import apart
from penstock.engine.temporal.errand import EVENTS
from penstock.engine.temporal.life import ENDS
from penstock.engine.temporal.places import Places
from penstock.engine.temporal.reach import Reach
from penstock.engine.temporal.restoring import restorable, stored_bytes
from penstock.engine.temporal.schedules import Schedules
from penstock.storage import Duplicate, Refused, Statement, StorageError
from penstock.storage.platform_tables import executions

log = structlog.get_logger()
_TRIES = 3
_ASKED = Statement(select(executions.c.asked).where(executions.c.id == bindparam("id")))


class Near:
    """Local activities: in the process of the workflow, and kept in no history but for their results."""

    def __init__(self, parts: EngineParts, reach: Reach, schedules: Schedules, places: Places) -> None:
        parts.families = Families()
        self._parts = parts
        self._recording = written.Recording(parts.database)
        self._links = Links(parts)
        self._subflows = Subflows(parts)
        self._reach = reach
        self._schedules = schedules
        self._places = places

    @property
    def all(self) -> list[Callable[..., Any]]:
        return [
            self.load, self.record, self.give_up, self.evaluate, self.violations, self.find_child,
        ]  # fmt: skip

    @activity.defn
    async def load(self, asked: passed.Load) -> passed.Found:
        database, definitions = self._parts.database, self._parts.definitions
        row = await database.one(statements.FIND, id=asked.execution_id)
        if row is None or row["status"] not in {"pending", "running"}:
            return passed.Found()
        execution = Execution.from_row(row)
        wanted = await database.one(_ASKED, id=execution.id)
        is_to_end = asked.at_once or (wanted is not None and wanted[0] in ENDS)
        if execution.status == "pending" and not is_to_end and not await self._is_its_turn(execution):
            return passed.Found(waits=True)
        recorded = await written.take_over(database, execution.id, activity.info().workflow_run_id or "")
        text = await database.one(statements.DEFINITION, workflow_id=execution.workflow_id, version=execution.version)
        sealed = await database.one(SEALED, id_=execution.id)
        execution.sealed = None if sealed is None else sealed["sealed_input"]
        steps: list[dict[str, Any]] = []
        stored = 0
        if execution.status == "running" or "rerun_of" in execution.details:
            rows = await database.all(statements.STEPS, execution_id=execution.id)
            steps, stored = restorable(rows), stored_bytes(rows)
        error, secrets = None, {}
        try:
            workflow = await definitions.get(execution.workflow_id, execution.version)
            if workflow.secrets:
                secrets = await self._parts.vault.open(database, execution.project_id, workflow.secrets)
        except Fault as fault:
            error = fault.error
        loaded = passed.Loaded(
            execution=execution,
            definition=str(text[0]) if text is not None else "",
            limits=self._parts.limits,
            recorded=recorded,
            secrets=secrets,
            steps=steps,
            stored=stored,
            asked=None if wanted is None else wanted[0],
            error=error,
        )
        return passed.Found(loaded)

    async def _is_its_turn(self, execution: Execution) -> bool:
        try:
            workflow = await self._parts.definitions.get(execution.workflow_id, execution.version)
        except Fault:
            return True  # it says so when it begins
        return workflow.concurrency is None or await self._places.take(execution)

    @activity.defn
    async def record(self, batch: passed.Batch) -> bool:
        """False when it can never be written: its execution was deleted, or something in it does not fit."""
        try:
            batch = await self._written(batch)
        except written.Apart as error:
            log.warning("a walk begins again, from the steps that are stored", execution_id=batch.execution_id)
            raise apart("it does not go on from what is stored") from error
        except (Refused, Duplicate) as error:
            log.error(
                "an execution cannot be stored and is given up", execution_id=batch.execution_id, error=str(error)
            )
            return False
        self._tell(batch)
        return True

    async def _written(self, batch: passed.Batch) -> passed.Batch:
        """With all that follows from it. A target that was deleted in this moment takes nobody else with it."""
        for _ in range(_TRIES):
            whole = await self._with_followers(batch)
            if whole is batch:
                break
            with suppress(Refused, Duplicate):
                await self._recording.write(whole)
                return whole
        await self._recording.write(batch)
        return batch

    def _tell(self, batch: passed.Batch) -> None:
        """Whom it concerns, now that it is durable. Who is not told, since this worker dies here, is found later."""
        added = (row for name, row in batch.writes if name == written.ADD_EXECUTION)
        workflows = {row["id"]: row["workflow_id"] for row in added if isinstance(row, dict)}
        self._reach.start_soon({id_: workflows[id_] for id_ in batch.born})
        names = {name for name, _ in batch.writes}
        if written.ADD_EVENT_IN in names:
            self._reach.ring_soon(batch.project_id)
            self._reach.errand_soon(EVENTS, batch.project_id)
        if batch.follow is not None:
            self._reach.keep(self._after_end(batch.follow.execution, has_next=written.NEXT_RUN in names))

    async def _after_end(self, ended: Execution, *, has_next: bool) -> None:
        known = self._parts.definitions.known(ended.workflow_id, ended.version)
        try:
            if known is None or known.concurrency is not None:
                await self._places.give(ended.workflow_id)
            if has_next:
                await self._schedules.tell(ended.workflow_id)
        except StorageError as error:
            log.warning("who is next waits for the database", workflow_id=ended.workflow_id, error=str(error))

    @activity.defn
    async def give_up(self, asked: passed.Load) -> None:
        """It cannot be stored what it did: ended as failed, if it is still there."""
        error = runtime("Not storable", "something that it has to remember cannot be stored").error
        await ends.end(self._parts.database, asked.execution_id, "failed", error)

    @activity.defn
    async def evaluate(self, asked: passed.Evaluate) -> passed.Evaluated:
        on_behalf_of.set(asked.project_id)
        try:
            return passed.Evaluated(
                await self._parts.performer.jq.evaluate(program(asked.program), asked.dot, asked.variables)
            )
        except ExpressionFailed as failure:
            return passed.Evaluated(failed=str(failure))

    @activity.defn
    async def violations(self, asked: passed.Violations) -> passed.Evaluated:
        on_behalf_of.set(asked.project_id)
        try:
            return passed.Evaluated(await self._parts.performer.jq.violations(asked.schema, asked.data))
        except NotAnExpression as error:
            return passed.Evaluated(failed=str(error), invalid=True)
        except ExpressionFailed as failure:
            return passed.Evaluated(failed=str(failure))

    @activity.defn
    async def find_child(self, asked: passed.FindChild) -> passed.Child:
        stored = await self._parts.database.one(statements.ENDED, id=asked.execution_id)
        if stored is not None:
            ended = None
            if stored["completed_at"] is not None:
                sealed = Sealed(self._parts.seal, asked.project_id, Secrets({}))
                end = await self._subflows.read(asked.execution_id, stored, sealed)
                ended = passed.EndedChild(
                    status=end.status, output=end.output, error=end.error, hidden=sorted(sealed.secrets.learned)
                )
            return passed.Child(known=True, ended=ended)
        child = ChildOf(asked.namespace, asked.name, asked.version)
        try:
            workflow_id, version = await self._subflows.find(asked.project_id, child)
            if not self._parts.families.admit(asked.lineage):
                raise runtime("Too many executions", f"of one execution, {MOST_OF_ONE:,} others may come at most")
        except Fault as fault:
            return passed.Child(error=fault.error)
        return passed.Child(workflow_id=workflow_id, version=version)

    async def _with_followers(self, batch: passed.Batch) -> passed.Batch:
        """Once written, the batch is never written again, so that it does not matter who finds them anew."""
        if (follow := batch.follow) is None:
            return batch
        try:
            found = await self._links.followers(follow.execution, follow.status, follow.data)
        except StorageError:
            raise
        except Exception as error:
            # It must end all the same.
            log.error("links could not be followed", execution_id=batch.execution_id, exc_info=error)
            return batch
        if not found.executions and not found.logs:
            return batch
        new = [written.born(execution) for execution in found.executions]
        return msgspec.structs.replace(
            batch,
            writes=[*batch.writes, *((written.ADD_EXECUTION, row) for row, _ in new)],
            changes=[*batch.changes, *(change for _, change in new)],
            logs=[*batch.logs, *found.logs],
            born=[*batch.born, *(execution.id for execution in found.executions)],
        )
