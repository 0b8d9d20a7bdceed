"""What may become of a workflow's record: created, changed (a changed definition is a new version), deleted."""

import re
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from penstock.dsl.check import Finding, errors
from penstock.dsl.parse import LONGEST
from penstock.http.bodies import storable
from penstock.http.edge import Call
from penstock.http.times import rfc3339
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.members.queries import KEEP
from penstock.platform.parts import Parts
from penstock.platform.projects.inside import Ended, tell_engine
from penstock.platform.texts import invalid, slug_from, valid_name, valid_slug, valid_text
from penstock.platform.workflows import queries
from penstock.platform.workflows.etags import require_match
from penstock.platform.workflows.lists import folded
from penstock.platform.workflows.queries import Record, Validation, Version, Workflow, record_from, version_from
from penstock.problems import Conflict, NotFound, TooLarge
from penstock.storage import Duplicate, Statement, Transaction, now
from penstock.storage.database import Reader

_LONGEST_DESCRIPTION = 10_000
_LAST_VERSION = 2**31 - 1
_NUMBER = re.compile(r"[1-9][0-9]{0,9}")


class NewWorkflow(Struct, forbid_unknown_fields=True):
    name: str
    slug: str | UnsetType = UNSET
    description: str = ""
    config_yaml: str = ""


class WorkflowChange(Struct, forbid_unknown_fields=True):
    name: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    config_yaml: str | UnsetType = UNSET


def id_of(access: Access) -> str:
    """As it is stored, however it was written in the path."""
    assert access.workflow_id is not None  # noqa: S101 - the guard resolved it
    return access.workflow_id


async def create(parts: Parts, call: Call, access: Access, body: NewWorkflow) -> Record:
    name = valid_name(body.name)
    slug = slug_from(name) if body.slug is UNSET else valid_slug(body.slug)
    description = valid_text(body.description, "description", _LONGEST_DESCRIPTION)
    config_yaml = valid_definition(body.config_yaml)
    findings = await parts.checker.findings(config_yaml)
    async with parts.database.transaction() as tx:
        if await tx.one(KEEP["project"], id=access.project_id) is None:
            raise NotFound("there is no such project")
        id_, at = uuid7(), now()
        try:
            await tx.run(
                queries.ADD,
                id=id_,
                project_id=access.project_id,
                name=name,
                slug=slug,
                description=description,
                search=folded(name, slug, description),
                by=access.caller.id,
                now=at,
            )
        except Duplicate as error:
            raise _taken(slug) from error
        await _add_version(tx, access, id_, 1, config_yaml, findings, at)
        await audit.by(tx, call, access, "workflow.create", id_, audit.changes({}, {"name": name, "slug": slug}))
    # As it was written: reading it again would cost a fifth of the request.
    by, found = access.caller.id, errors(findings)
    made = Workflow(
        id=id_,
        project_id=str(access.project_id),
        name=name,
        slug=slug,
        description=description,
        config_yaml=config_yaml,
        version=1,
        status="draft",
        deployed_version=None,
        created_by=by,
        updated_by=by,
        created_at=rfc3339(at),
        updated_at=rfc3339(at),
        validation=Validation(not found, found),
    )
    return Record(made, 1)


async def read(reader: Reader, id_: str) -> Record:
    row = await reader.one(queries.FIND, id=id_)
    if row is None:
        raise NotFound("there is no such workflow")
    return record_from(row)


async def locked(tx: Transaction, id_: str, if_match: str, lock: Statement = queries.LOCK) -> Record:
    """The workflow, ours until the transaction ends, and as the caller last saw it if they said so."""
    await tx.one(lock, id=id_)
    record = await read(tx, id_)
    require_match(if_match, record.revision)
    return record


async def update(parts: Parts, call: Call, access: Access, body: WorkflowChange, if_match: str) -> Record:
    config_yaml = None if body.config_yaml is UNSET else valid_definition(body.config_yaml)
    findings = [] if config_yaml is None else await parts.checker.findings(config_yaml)
    id_ = id_of(access)
    async with parts.database.transaction() as tx:
        record = await locked(tx, id_, if_match)
        before = record.workflow
        # The definition itself may be long and may hold what should not be in a log; its versions keep it.
        is_new = config_yaml is not None and config_yaml != before.config_yaml
        after: dict[str, Any] = {
            "name": before.name if body.name is UNSET else valid_name(body.name),
            "slug": before.slug if body.slug is UNSET else valid_slug(body.slug),
            "description": before.description
            if body.description is UNSET
            else valid_text(body.description, "description", _LONGEST_DESCRIPTION),
            "version": before.version + is_new,
        }
        changes = audit.changes({name: getattr(before, name) for name in after}, after)
        if not changes:
            return record
        at = now()
        search = folded(after["name"], after["slug"], after["description"])
        try:
            await tx.run(queries.UPDATE, id_=id_, search=search, by=access.caller.id, now=at, **after)
        except Duplicate as error:
            raise _taken(after["slug"]) from error
        if is_new:
            await _add_version(tx, access, id_, after["version"], config_yaml or "", findings, at)
        await audit.by(tx, call, access, "workflow.update", id_, changes)
    changed = msgspec.structs.replace(before, **after, updated_by=access.caller.id, updated_at=rfc3339(at))
    if is_new:
        found = errors(findings)
        changed = msgspec.structs.replace(
            changed, config_yaml=config_yaml or "", validation=Validation(not found, found)
        )
    return Record(changed, record.revision + 1)


async def delete(parts: Parts, call: Call, access: Access, if_match: str, *, force: bool) -> None:
    """Not while it is active or an execution runs, unless forced: then they are cancelled first."""
    id_ = id_of(access)
    async with parts.database.transaction() as tx:
        workflow = (await locked(tx, id_, if_match, queries.LOCK_WHOLLY)).workflow
        running = [str(row[0]) for row in await tx.all(queries.LOCK_UNENDED, workflow_id=id_)]
        if not force and (workflow.status == "active" or running):
            raise Conflict("it is active or an execution runs; stop it, or delete with ?force=true")
        details = {"name": workflow.name, "slug": workflow.slug, "force": force, "cancelled": len(running)}
        await audit.by(tx, call, access, "workflow.delete", id_, details)
        await tx.run(queries.DELETE, id=id_)
    await tell_engine(parts, Ended([id_] if workflow.status == "active" else [], running))


async def count_unended(reader: Reader, id_: str) -> int:
    row = await reader.one(queries.COUNT_UNENDED, workflow_id=id_)
    return int(row[0]) if row is not None else 0


async def version(reader: Reader, id_: str, number: str) -> Version:
    row = None
    if number == "latest":
        row = await reader.one(queries.LATEST_VERSION, workflow_id=id_)
    elif _NUMBER.fullmatch(number) and int(number) <= _LAST_VERSION:
        row = await reader.one(queries.FIND_VERSION, workflow_id=id_, version=int(number))
    if row is None:
        raise NotFound("there is no such version; it is a number from 1, or latest")
    return version_from(row)


def valid_definition(text: str) -> str:
    """A draft may be anything that can be stored."""
    if len(text.encode()) > LONGEST:
        raise TooLarge(f"config_yaml may have {LONGEST} bytes at most")
    if not storable(text):
        raise invalid("config_yaml", "contains a character that cannot be stored")
    return text


async def _add_version(
    tx: Transaction, access: Access, id_: str, number: int, config_yaml: str, findings: list[Finding], at: int
) -> None:
    await tx.run(
        queries.ADD_VERSION,
        workflow_id=id_,
        version=number,
        config_yaml=config_yaml,
        findings=msgspec.json.encode(findings).decode(),
        by=access.caller.id,
        now=at,
    )


def _taken(slug: str) -> Conflict:
    return Conflict(f"the slug {slug!r} is taken in this project; choose another")
