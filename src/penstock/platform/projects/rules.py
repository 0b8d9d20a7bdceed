"""What may become of a project."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from penstock.http.edge import Call
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.companies import queries as companies
from penstock.platform.members import queries as members
from penstock.platform.parts import Parts
from penstock.platform.projects import inside, queries
from penstock.platform.projects.queries import Project, project_from
from penstock.platform.roles import Role
from penstock.platform.texts import slug_from, valid_metadata, valid_name, valid_slug, valid_text
from penstock.problems import Conflict, NotFound
from penstock.storage import Duplicate, Transaction, now
from penstock.storage.database import Reader

_LONGEST_DESCRIPTION = 10_000


class NewProject(Struct, forbid_unknown_fields=True):
    name: str
    slug: str | UnsetType = UNSET
    description: str = ""
    metadata: dict[str, Any] = {}


class ProjectChange(Struct, forbid_unknown_fields=True):
    name: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


async def create(parts: Parts, call: Call, access: Access, company_id: str, body: NewProject) -> Project:
    """Who creates it becomes its owner."""
    name = valid_name(body.name)
    slug = slug_from(name) if body.slug is UNSET else valid_slug(body.slug)
    description = valid_text(body.description, "description", _LONGEST_DESCRIPTION)
    metadata = valid_metadata(body.metadata)
    async with parts.database.transaction() as tx:
        if await tx.one(companies.KEEP, id=company_id) is None:
            raise NotFound("there is no such organization")
        id_ = uuid7()
        try:
            row = await tx.one(
                queries.ADD,
                id=id_,
                company_id=company_id,
                name=name,
                slug=slug,
                description=description,
                metadata=metadata,
                now=now(),
            )
        except Duplicate as error:
            raise Conflict(f"the slug {slug!r} is taken here; choose another") from error
        assert row is not None  # noqa: S101
        await members.add_grant(tx, access.caller.id, Role.OWNER, project_id=id_)
        made = {"name": name, "slug": slug, "description": description, "metadata": body.metadata}
        await audit.by(tx, call, access, "project.create", id_, audit.changes({}, made))
        return project_from(row)


async def read(reader: Reader, id_: str) -> Project:
    row = await reader.one(queries.FIND, id=id_)
    if row is None:
        raise NotFound("there is no such project")
    return project_from(row)


async def update(parts: Parts, call: Call, access: Access, id_: str, body: ProjectChange) -> Project:
    async with parts.database.transaction() as tx:
        before = await _to_change(tx, id_)
        after: dict[str, Any] = {
            "name": before.name if body.name is UNSET else valid_name(body.name),
            "slug": before.slug if body.slug is UNSET else valid_slug(body.slug),
            "description": before.description
            if body.description is UNSET
            else valid_text(body.description, "description", _LONGEST_DESCRIPTION),
            "metadata": before.metadata if body.metadata is UNSET else body.metadata,
        }
        changes = audit.changes({name: getattr(before, name) for name in after}, after)
        if not changes:
            return before
        try:
            row = await tx.one(
                queries.UPDATE, id_=id_, now=now(), **(after | {"metadata": valid_metadata(after["metadata"])})
            )
        except Duplicate as error:
            raise Conflict(f"the slug {after['slug']!r} is taken here; choose another") from error
        assert row is not None  # noqa: S101
        await audit.by(tx, call, access, "project.update", id_, changes)
        return project_from(row)


async def delete(parts: Parts, call: Call, access: Access, id_: str, *, force: bool) -> None:
    async with parts.database.transaction() as tx:
        before = await _to_change(tx, id_)
        ended = await inside.bring_to_an_end(tx, "project", id_, force=force)
        details = {"name": before.name, "slug": before.slug, "force": force, "cancelled": len(ended.executions)}
        await audit.by(tx, call, access, "project.delete", id_, details)
        await tx.run(queries.DELETE, id=id_)
    await inside.tell_engine(parts, ended)


async def _to_change(tx: Transaction, id_: str) -> Project:
    """Locked, so that of two changes at once neither writes back what the other one changed."""
    row = await tx.one(queries.FIND_TO_CHANGE, id=id_)
    if row is None:
        raise NotFound("there is no such project")
    return project_from(row)
