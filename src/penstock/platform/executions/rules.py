"""What it takes to start an execution, and to end one."""

import re
from typing import Any

import msgspec
import structlog

from penstock.dsl.check import errors
from penstock.dsl.depth import DEEPEST, too_deep
from penstock.engine.asked import Pending
from penstock.http.edge import Call
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.engine import EngineRefused
from penstock.platform.executions import queries
from penstock.platform.executions.arrivals import Arrival, Unchecked
from penstock.platform.executions.cancelling import end_cancelled
from penstock.platform.executions.queries import Execution, execution_from
from penstock.platform.idempotency import KEY_LIVES
from penstock.platform.parts import Parts
from penstock.platform.texts import invalid
from penstock.problems import BadGateway, Conflict, NotFound, TooLarge, Unprocessable
from penstock.storage import Database, Row, StorageError, Transaction, now
from penstock.storage.database import Reader
from penstock.streams import STATUSES, ExecutionChange, append

log = structlog.get_logger()

_MOST_DATA = 256 * 1024
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


class Trigger(msgspec.Struct, forbid_unknown_fields=True):
    trigger_data: Any = {}


class Triggered(msgspec.Struct, frozen=True):
    execution: Execution
    created: bool


def valid_data(value: Any) -> str:
    """Any JSON, as stored: members sorted, so that the same data is the same text."""
    try:
        encoded = msgspec.json.encode(value, order="sorted")
    except RecursionError:
        raise invalid("trigger_data", f"may be nested {DEEPEST} levels deep") from None
    if len(encoded) > _MOST_DATA:
        raise TooLarge(f"trigger_data may have {_MOST_DATA} bytes at most")
    if too_deep(value, encoded):
        raise invalid("trigger_data", f"may be nested {DEEPEST} levels deep")
    if _NUL.search(encoded):
        raise invalid("trigger_data", "contains a character that cannot be stored")
    return encoded.decode()


async def trigger(parts: Parts, call: Call, access: Access, body: Trigger, key: str | None) -> Triggered:
    """An execution of the deployed version, or of a draft's newest; the one that the key made before, if it did."""
    checked = 0
    while True:
        try:
            return await _triggered(parts, call, access, body, key, checked)
        except Unchecked as draft:
            # Outside the transaction: while a definition is looked at, others write.
            checked = await _require_valid(parts, str(access.workflow_id), draft.version)


async def _require_valid(parts: Parts, workflow_id: str, version: int) -> int:
    row = await parts.database.one(queries.DEFINITION, id=workflow_id, version=version)
    found = errors(await parts.checker.findings(row[0])) if row is not None else []
    if found:
        raise Unprocessable("the newest version is not valid, so it cannot run; see errors", errors=found)
    return version


async def _triggered(
    parts: Parts, call: Call, access: Access, body: Trigger, key: str | None, checked: int
) -> Triggered:
    workflow_id, data = str(access.workflow_id), valid_data(body.trigger_data)
    if key is not None:
        return await _triggered_once(parts, call, access, data, key, checked)
    id_, at = uuid7(), now()

    def audit_entry(version: int) -> dict[str, Any]:
        details = {"workflow_id": workflow_id, "version": version}
        return audit.entry_by(call, access, "execution.trigger", id_, details)

    def version_to_run(workflow: Row | None) -> int:
        return _version_to_run(workflow, checked)

    arrival = Arrival(id_, workflow_id, data, at, access.caller.id, version_to_run, audit_entry)
    version = await parts.arrivals.add(arrival)
    await start(parts, Pending(id_, workflow_id, str(access.project_id), version, "manual", data, at))
    return Triggered(queries.pending(id_, workflow_id, version, data, at), created=True)


async def _triggered_once(parts: Parts, call: Call, access: Access, data: str, key: str, checked: int) -> Triggered:
    workflow_id = str(access.workflow_id)
    async with parts.database.transaction() as tx:
        workflow = await tx.one(queries.WORKFLOW_ALONE, id=workflow_id)
        if workflow is not None and (before := await _made_before(tx, workflow_id, key, data)) is not None:
            return Triggered(before, created=False)
        version = _version_to_run(workflow, checked)
        id_, at = uuid7(), now()
        row = await tx.one(
            queries.ADD,
            id=id_,
            workflow_id=workflow_id,
            version=version,
            trigger_type="manual",
            trigger_data=data,
            idempotency_key=key,
            now=at,
            metadata="{}",
            triggered_by=access.caller.id,
        )
        assert row is not None  # noqa: S101
        await audit.by(tx, call, access, "execution.trigger", id_, {"workflow_id": workflow_id, "version": version})
        await append(tx, executions=[ExecutionChange(workflow_id, at, None, "pending")])
    await start(parts, Pending(id_, workflow_id, str(access.project_id), version, "manual", data, at))
    return Triggered(execution_from(row), created=True)


async def _made_before(tx: Transaction, workflow_id: str, key: str, data: str) -> Execution | None:
    row = await tx.one(queries.SAME_KEY, workflow_id=workflow_id, idempotency_key=key, since=now() - KEY_LIVES)
    if row is None:
        return None
    if row["trigger_data"] != data:
        raise Conflict("this Idempotency-Key was used with other trigger_data; use a new key for a new execution")
    return execution_from(row)


def _version_to_run(workflow: Row | None, checked: int) -> int:
    if workflow is None:
        raise NotFound("there is no such workflow")
    status, newest, deployed = workflow
    if status == "active":
        return int(deployed)
    if status != "draft":
        raise Conflict(f"the workflow is in status {status}; deploy it first")
    if newest != checked:
        raise Unchecked(int(newest))
    return int(newest)


async def start(parts: Parts, pending: Pending) -> None:
    """It is durable as pending: an engine that cannot take it now finds it there later."""
    if parts.engine is None:
        return
    try:
        await parts.engine.trigger(pending)
    except (EngineRefused, StorageError) as error:
        log.warning("the engine did not take an execution; it stays pending", execution_id=pending.id, error=str(error))


async def read(reader: Reader, id_: str, *, starter: bool = False) -> Execution:
    row = await reader.one(queries.FIND_WITH_STARTER if starter else queries.FIND, id=id_)
    if row is None:
        raise NotFound("there is no such execution")
    return execution_from(row)


async def listed(
    database: Database, workflow_id: str, values: dict[str, Any], bounds: dict[str, int], *, starter: bool
) -> tuple[list[Execution], int]:
    """A page of those of one workflow, and how many there are. `values`: the filters that were given."""
    items, count = queries.listing(frozenset(values), starter=starter)
    params = values | {"workflow_id": workflow_id}
    if values.keys() <= {"status"}:
        counts = queries.counts_from(await database.all(queries.COUNTS, workflow_id=workflow_id))
        total = sum(counts.get(status, 0) for status in STATUSES if values.get("status") in {None, status})
    else:
        total = (await database.slow(count, **params))[0][0]
    rows = await database.all(items, **params, **bounds)
    return [execution_from(row) for row in rows], total


async def cancel(parts: Parts, call: Call, access: Access, id_: str) -> Execution:
    async with parts.database.transaction() as tx:
        if await tx.one(queries.WORKFLOW, id=access.workflow_id) is None:
            raise NotFound("there is no such execution")
        unended = await tx.all(queries.UNENDED, id=id_)
        if not unended:
            ended = await read(tx, id_)
            raise Conflict(f"the execution has ended; its status is {ended.status}")
        await audit.by(tx, call, access, "execution.cancel", id_, {"workflow_id": access.workflow_id})
        if parts.engine is None:
            await end_cancelled(tx, unended, access.caller.id)
    if parts.engine is not None:
        try:
            await parts.engine.cancel(id_)
        except EngineRefused as error:
            raise BadGateway(f"the engine did not cancel the execution: {error}") from error
    return await read(parts.database, id_)
