"""Deploy, stop, status: the record first, durably, then the engine, which reads the same record when it starts anew."""

from collections.abc import Awaitable

import msgspec
import structlog

from penstock.dsl.check import errors
from penstock.engine.embedded import schedules
from penstock.http.edge import Call
from penstock.http.times import rfc3339
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.engine import EngineRefused
from penstock.platform.executions.cancelling import end_cancelled
from penstock.platform.parts import Parts
from penstock.platform.workflows import queries
from penstock.platform.workflows.queries import Record
from penstock.platform.workflows.rules import count_unended, id_of, locked, read
from penstock.problems import BadGateway, Conflict, Unprocessable
from penstock.storage import StorageError, Transaction, now
from penstock.streams.journal import NewEvent, append

log = structlog.get_logger()


class StopRequest(msgspec.Struct, forbid_unknown_fields=True):
    cancel_running: bool = False


class Status(msgspec.Struct, frozen=True):
    id: str
    status: str
    version: int
    deployed_version: int | None
    running: int
    next_run_at: str | None


async def deploy(parts: Parts, call: Call, access: Access, if_match: str) -> Record:
    """Pin the newest version. Deploying again moves the pin; executions keep the version that they began with."""
    id_ = id_of(access)
    seen = (await read(parts.database, id_)).workflow
    # Checked anew: what is stored may be the word of an earlier release's checker, or of other settings.
    found = errors(await parts.checker.findings(seen.config_yaml))
    async with parts.database.transaction() as tx:
        before = (await locked(tx, id_, if_match)).workflow
        if before.version != seen.version:
            found = before.validation.errors  # written a moment ago
        if found:
            raise Unprocessable(
                f"version {before.version} is not valid, so it cannot be deployed: {found[0].message}",
                errors=found,
            )
        await _set_status(tx, call, access, before, "active", before.version)
        if parts.engine is not None:
            await schedules.announce(tx, id_, before.version)
        event = NewEvent(id_, "workflow.deployed", data={"version": before.version})
        if parts.engine is None:
            await append(tx, events=[event])
        record = await read(tx, id_)
    if parts.engine is not None:
        await _ask(parts, call, access, record, parts.engine.deploy(id_, before.version))
        async with parts.database.transaction() as tx:
            await append(tx, events=[event])
    return record


async def stop(parts: Parts, call: Call, access: Access, if_match: str, request: StopRequest) -> Record:
    """End schedules and triggers. What runs goes on, unless it is to be cancelled. Stopping again changes nothing."""
    id_ = id_of(access)
    async with parts.database.transaction() as tx:
        before = (await locked(tx, id_, if_match)).workflow
        if before.status == "draft":
            raise Conflict("it is a draft: it was never deployed, so there is nothing to stop")
        was_stopped = before.status == "stopped"
        if not was_stopped:
            await _set_status(tx, call, access, before, "stopped", before.deployed_version)
            await schedules.drop(tx, id_)
        event = [] if was_stopped else [NewEvent(id_, "workflow.stopped", data={"version": before.deployed_version})]
        if parts.engine is not None and request.cancel_running and (running := await count_unended(tx, id_)):
            await audit.by(tx, call, access, "execution.cancel", None, {"workflow_id": id_, "count": running})
        if parts.engine is None:
            await append(tx, events=event)
            if request.cancel_running and (unended := await tx.all(queries.LOCK_UNENDED, workflow_id=id_)):
                # Nobody else ends them.
                await end_cancelled(tx, unended, access.caller.id)
                await audit.by(tx, call, access, "execution.cancel", None, {"workflow_id": id_, "count": len(unended)})
        record = await read(tx, id_)
    if parts.engine is not None:
        await _ask(parts, call, access, record, parts.engine.stop(id_, request.cancel_running))
        async with parts.database.transaction() as tx:
            await append(tx, events=event)
    return record


async def status(parts: Parts, access: Access) -> Status:
    workflow = (await read(parts.database, id_of(access))).workflow
    running = await count_unended(parts.database, workflow.id)
    following = await parts.engine.next_run_at(workflow.id) if parts.engine is not None else None
    return Status(
        workflow.id,
        workflow.status,
        workflow.version,
        workflow.deployed_version,
        running,
        rfc3339(following) if following is not None else None,
    )


async def _set_status(
    tx: Transaction, call: Call, access: Access, before: queries.Workflow, status: str, deployed_version: int | None
) -> None:
    await tx.run(
        queries.SET_STATUS,
        id_=before.id,
        status=status,
        deployed_version=deployed_version,
        by=access.caller.id,
        now=now(),
    )
    changes = audit.changes(
        {"status": before.status, "deployed_version": before.deployed_version},
        {"status": status, "deployed_version": deployed_version},
    )
    verb = {"active": "deploy", "stopped": "stop", "error": "refused"}[status]
    await audit.by(tx, call, access, f"workflow.{verb}", before.id, changes)


async def _ask(parts: Parts, call: Call, access: Access, record: Record, asked: Awaitable[None]) -> None:
    """The engine does it, or the workflow's status says that it did not."""
    try:
        await asked
    except StorageError:
        raise  # it is recorded, and the engine finds it when the database is back
    except Exception as error:
        log.error("engine refused", request_id=call.request_id, workflow_id=record.workflow.id, exc_info=error)
        async with parts.database.transaction() as tx:
            now_ = await locked(tx, record.workflow.id, "")
            # Whoever has changed its status since knows better.
            if now_.workflow.status == record.workflow.status:
                await _set_status(tx, call, access, now_.workflow, "error", now_.workflow.deployed_version)
                await schedules.drop(tx, record.workflow.id)
        reason = f": {error}" if isinstance(error, EngineRefused) else "; the server's log says why"
        raise BadGateway(f"the engine refused, so the workflow's status is error{reason}") from error
