"""What a workflow starts when it ends. Who makes such a link could start the target by hand as well."""

from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from penstock.dsl.expressions import NotAnExpression
from penstock.http.edge import Call
from penstock.ids import is_uuid, uuid7
from penstock.platform import audit
from penstock.platform.access import Access, resolve
from penstock.platform.members.queries import KEEP
from penstock.platform.parts import Parts
from penstock.platform.roles import Role
from penstock.platform.workflows import link_queries as queries
from penstock.platform.workflows.link_queries import Link, link_from
from penstock.platform.workflows.rules import id_of
from penstock.problems import Conflict, Denied, FieldError, Invalid, NotFound
from penstock.storage import Duplicate, now


class LinkConfig(Struct, frozen=True, forbid_unknown_fields=True):
    input: str | UnsetType = UNSET
    """jq over the source's output; left out: the output itself."""


class NewLink(Struct, forbid_unknown_fields=True):
    target_workflow_id: str
    link_type: Literal["completed", "failed", "finished", "dependency"]
    config: LinkConfig = LinkConfig()


async def create(parts: Parts, call: Call, access: Access, body: NewLink) -> Link:
    """A link to itself is allowed: a chain ends 32 links after its first execution."""
    if body.config.input is not UNSET:
        await _require_expression(parts, body.config.input)
    target = await _target(parts, access, body)
    async with parts.database.transaction() as tx:
        # In the order in which everybody locks them: else this and a deletion could wait for each other.
        for id_ in sorted({id_of(access), target}):
            if await tx.one(KEEP["workflow"], id=id_) is None:
                raise NotFound("there is no such workflow any more")
        try:
            row = await tx.one(
                queries.ADD,
                id=uuid7(),
                source=id_of(access),
                target=target,
                link_type=body.link_type,
                config=msgspec.json.encode(body.config).decode(),
                by=access.caller.id,
                now=now(),
            )
        except Duplicate as error:
            raise Conflict("there is such a link already; delete it first to change it") from error
        assert row is not None  # noqa: S101
        link = link_from(row)
        details = {"source_workflow_id": link.source_workflow_id, "target_workflow_id": target, "type": link.link_type}
        await audit.by(tx, call, access, "link.create", link.id, details)
    return link


async def delete(parts: Parts, call: Call, access: Access, link_id: str) -> None:
    async with parts.database.transaction() as tx:
        row = await tx.one(queries.FIND, source=id_of(access), id=link_id.lower()) if is_uuid(link_id) else None
        if row is None:
            raise NotFound("there is no such link")
        link = link_from(row)
        details = {"target_workflow_id": link.target_workflow_id, "type": link.link_type}
        await audit.by(tx, call, access, "link.delete", link.id, details)
        await tx.run(queries.DELETE, id=link.id)


async def _require_expression(parts: Parts, text: str) -> None:
    try:
        await parts.checker.require(text)
    except NotAnExpression as error:
        raise Invalid(f"config.input: {error}", errors=[FieldError("/config/input", str(error))]) from error


async def _target(parts: Parts, access: Access, body: NewLink) -> str:
    """Its id, when the caller may make this link to it. One that starts nothing only has to be visible."""
    target = await resolve(parts.database, access.caller, "workflow", body.target_workflow_id.lower())
    if target is None:
        raise NotFound("there is no such target workflow")
    least = Role.VIEWER if body.link_type == "dependency" else Role.EDITOR
    if target.role is None or target.role < least:
        raise Denied(f"this needs the role {least.label} on the target workflow too")
    return id_of(target)
