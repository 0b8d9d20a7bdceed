"""What may become of a company or an organization."""

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from penstock.http.edge import Call
from penstock.ids import uuid7
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.companies import queries
from penstock.platform.companies.queries import Company, company_from
from penstock.platform.members import queries as members
from penstock.platform.parts import Parts
from penstock.platform.projects import inside
from penstock.platform.roles import Role
from penstock.platform.texts import slug_from, valid_metadata, valid_name, valid_slug
from penstock.problems import Conflict, NotFound
from penstock.storage import Duplicate, Transaction, now


class NewCompany(Struct, forbid_unknown_fields=True):
    name: str
    slug: str | UnsetType = UNSET
    metadata: dict[str, Any] = {}


class CompanyChange(Struct, forbid_unknown_fields=True):
    name: str | UnsetType = UNSET
    slug: str | UnsetType = UNSET
    metadata: dict[str, Any] | UnsetType = UNSET


async def create(parts: Parts, call: Call, access: Access, body: NewCompany, *, parent_id: str | None) -> Company:
    """Who creates it becomes its owner."""
    name = valid_name(body.name)
    slug = slug_from(name) if body.slug is UNSET else valid_slug(body.slug)
    if parent_id is not None and access.parent_id is not None:
        raise Conflict("an organization cannot hold organizations; create it in the company above")
    what = "organization" if parent_id is not None else "company"
    metadata = valid_metadata(body.metadata)
    async with parts.database.transaction() as tx:
        if parent_id is not None and await tx.one(queries.KEEP, id=parent_id) is None:
            raise NotFound("there is no such company")
        id_ = uuid7()
        try:
            row = await tx.one(
                queries.ADD,
                id=id_,
                parent_id=parent_id,
                name=name,
                slug=slug,
                owner_id=access.caller.id,
                metadata=metadata,
                now=now(),
            )
        except Duplicate as error:
            raise Conflict(f"the slug {slug!r} is taken; choose another") from error
        assert row is not None  # noqa: S101
        await members.add_grant(tx, access.caller.id, Role.OWNER, company_id=id_)
        company = company_from(row)
        await audit.by(
            tx,
            call,
            access,
            f"{what}.create",
            id_,
            audit.changes({}, {"name": name, "slug": slug, "metadata": body.metadata}),
            company_id=parent_id or id_,
            organization_id=id_ if parent_id is not None else None,
        )
    return company


async def read(parts: Parts, id_: str, *, organization: bool) -> Company:
    row = await parts.database.one(queries.FIND, id=id_)
    if row is None or (organization and row[1] is None):
        raise NotFound(f"there is no such {'organization' if organization else 'company'}")
    return company_from(row)


async def update(
    parts: Parts, call: Call, access: Access, id_: str, body: CompanyChange, *, organization: bool
) -> Company:
    async with parts.database.transaction() as tx:
        before = await _to_change(tx, id_, organization=organization)
        name = before.name if body.name is UNSET else valid_name(body.name)
        slug = before.slug if body.slug is UNSET else valid_slug(body.slug)
        metadata = before.metadata if body.metadata is UNSET else body.metadata
        changes = audit.changes(
            {"name": before.name, "slug": before.slug, "metadata": before.metadata},
            {"name": name, "slug": slug, "metadata": metadata},
        )
        if not changes:
            return before
        try:
            row = await tx.one(
                queries.UPDATE, id_=id_, name=name, slug=slug, metadata=valid_metadata(metadata), now=now()
            )
        except Duplicate as error:
            raise Conflict(f"the slug {slug!r} is taken; choose another") from error
        assert row is not None  # noqa: S101
        what = "organization" if before.parent_id is not None else "company"
        await audit.by(tx, call, access, f"{what}.update", id_, changes)
        return company_from(row)


async def delete(parts: Parts, call: Call, access: Access, id_: str, *, organization: bool, force: bool) -> None:
    """Takes all inside with it; not while anything in it is active, unless forced."""
    async with parts.database.transaction() as tx:
        before = await _to_change(tx, id_, organization=organization)
        ended = await inside.bring_to_an_end(tx, "company", id_, force=force)
        what = "organization" if before.parent_id is not None else "company"
        details = {"name": before.name, "slug": before.slug, "force": force, "cancelled": len(ended.executions)}
        await audit.by(tx, call, access, f"{what}.delete", id_, details)
        await tx.run(queries.DELETE, id=id_)
    await inside.tell_engine(parts, ended)


async def _to_change(tx: Transaction, id_: str, *, organization: bool) -> Company:
    """Locked, so that of two changes at once neither writes back what the other one changed."""
    row = await tx.one(queries.FIND_TO_CHANGE, id=id_)
    if row is None or (organization and row[1] is None):
        raise NotFound(f"there is no such {'organization' if organization else 'company'}")
    return company_from(row)
