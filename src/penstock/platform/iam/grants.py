"""Role mappings: which names at a provider give which role where, and what they give to whom comes in."""

from typing import Literal, get_args

from msgspec import Struct

from penstock.http.edge import Call
from penstock.ids import is_uuid, uuid7
from penstock.platform import audit
from penstock.platform.access import Access, Resource, resolve
from penstock.platform.iam import queries
from penstock.platform.iam.person import Person
from penstock.platform.iam.queries import Mapping, Stored, mapping_from, stored_from
from penstock.platform.members.queries import KEEP
from penstock.platform.parts import Parts
from penstock.platform.roles import Role, parse_role
from penstock.platform.texts import invalid, valid_text
from penstock.platform.tokens import Caller
from penstock.problems import Conflict, Denied, NotFound
from penstock.storage import Duplicate, Transaction, now

Level = Literal["company", "organization", "project", "workflow"]
_RESOURCE: dict[str, Resource] = {
    "company": "company",
    "organization": "company",
    "project": "project",
    "workflow": "workflow",
}
_COLUMN = {"company": "company_id", "organization": "company_id", "project": "project_id", "workflow": "workflow_id"}
_TOP_DOWN: tuple[Resource, ...] = ("company", "project", "workflow")
_LONGEST_IDENTIFIER = 1024
_MOST = 1000


class NewMapping(Struct, forbid_unknown_fields=True):
    external_identifier: str
    resource_type: str
    resource_id: str
    role: str


async def create(parts: Parts, call: Call, access: Access, provider_id: str, body: NewMapping) -> Mapping:
    """Nobody maps a role above their own, nor one anywhere but inside the provider's company."""
    role = parse_role(body.role)
    identifier = valid_text(body.external_identifier.strip(), "external_identifier", _LONGEST_IDENTIFIER)
    if not identifier:
        raise invalid("external_identifier", "must not be blank")
    if body.resource_type not in get_args(Level):
        raise invalid("resource_type", "expected company, organization, project or workflow")
    async with parts.database.transaction() as tx:
        provider = await _locked(tx, provider_id)
        there = await _inside(tx, access.caller, provider, body.resource_type, body.resource_id.lower())
        if there is None:
            raise invalid("resource_id", f"there is no such {body.resource_type} in the provider's company")
        if there.role is None or role > there.role:
            own = there.role.label if there.role is not None else "none"
            raise Denied(f"you cannot map to {role.label}: your own role there is {own}")
        count = await tx.one(queries.COUNT_MAPPINGS, provider_id=provider_id)
        if count is not None and count[0] >= _MOST:
            raise Conflict(f"a provider has {_MOST} mappings at most; map groups instead of people")
        id_ = uuid7()
        try:
            await tx.run(
                queries.ADD_MAPPING,
                id=id_,
                provider_id=provider_id,
                external_identifier=identifier,
                resource_type=body.resource_type,
                resource_id=body.resource_id.lower(),
                role=int(role),
                now=now(),
            )
        except Duplicate as error:
            raise Conflict("this identifier is mapped on that resource already; delete that mapping first") from error
        row = await tx.one(queries.FIND_MAPPING, id=id_)
        assert row is not None  # noqa: S101
        mapping = mapping_from(row)
        await audit.by(tx, call, access, "iam_mapping.create", id_, _shown(mapping))
    return mapping


async def delete(parts: Parts, call: Call, access: Access, id_: str) -> None:
    """What it granted is gone with it, at once."""
    async with parts.database.transaction() as tx:
        row = await tx.one(queries.FIND_MAPPING, id=id_.lower())
        if row is None:
            raise NotFound("there is no such mapping")
        mapping = mapping_from(row)
        await _locked(tx, mapping.provider_id)
        there = await resolve(tx, access.caller, _RESOURCE[mapping.resource_type], mapping.resource_id)
        # Else an admin would take their role from owners, by deleting what gives it to them.
        if there is not None and (there.role is None or parse_role(mapping.role) > there.role):
            raise Denied(f"the mapping gives {mapping.role}, and your own role there is lower")
        await audit.by(tx, call, access, "iam_mapping.delete", id_, _shown(mapping))
        await tx.run(queries.DELETE_MAPPING, id=id_.lower())


async def require_reach(tx: Transaction, caller: Caller, provider: Stored, *, keeps_people: bool = False) -> None:
    """Who changes whom a provider lets in, or ends it, has every role that it gives.

    Else an admin would become an owner through a provider of their own, whose word counts for the owners' mapping; or
    take their role from owners. Where its people stay, they could come in as one of them (`keeps_people`).
    """
    here = await resolve(tx, caller, "company", provider.company_id)
    if here is None or here.role is None:
        raise Denied("you have no role in the provider's company any more")
    above = {"provider_id": provider.id, "role": int(here.role)}
    for kind, id_, mapped in await tx.all(queries.MAPPED_ABOVE, **above):
        there = await resolve(tx, caller, _RESOURCE[kind], str(id_))
        if there is not None and (there.role is None or mapped > there.role):
            raise Denied(f"a mapping gives {Role(mapped).label} on the {kind} {id_}, and your own role there is lower")
    places = {"company_id": provider.company_id, "root_id": provider.root_id}
    if keeps_people and await tx.one(queries.PERSON_ABOVE, **above, **places) is not None:
        raise Denied("somebody whose role here is above yours comes in through this provider; ask them to change it")


async def apply(tx: Transaction, provider: Stored, person: Person, caller: Caller) -> list[str]:
    """Give the roles that the mappings have for this person, and take back what they gave before; the mappings' ids.

    A mapping adds: where somebody's role by other ways is higher, it would, being more specific, take from them.
    """
    names = person.identifiers
    matching = [
        mapping
        for mapping in map(mapping_from, await tx.all(queries.MAPPINGS, provider_id=provider.id))
        if mapping.external_identifier in names
        or (person.email_verified and mapping.external_identifier.lower() == person.email)
    ]
    await _keep_places(tx, provider, caller, matching)
    await tx.run(queries.WITHDRAW_FROM, user_id=caller.id, provider_id=provider.id)
    due = []
    for mapping in matching:
        there = await _inside(tx, caller, provider, mapping.resource_type, mapping.resource_id)
        if there is not None and (there.role is None or there.role <= parse_role(mapping.role)):
            due.append(mapping)
    for mapping in due:
        places = {"company_id": None, "project_id": None, "workflow_id": None}
        await tx.run(
            queries.ADD_GRANT,
            id=uuid7(),
            user_id=caller.id,
            mapping_id=mapping.id,
            role=int(parse_role(mapping.role)),
            now=now(),
            **places | {_COLUMN[mapping.resource_type]: mapping.resource_id},
        )
    return [mapping.id for mapping in due]


async def _keep_places(tx: Transaction, provider: Stored, caller: Caller, matching: list[Mapping]) -> None:
    """Nobody deletes what we are about to give a role on, or take one from; who is just doing it is waited for.

    Before anything else is touched, from the top down, each by id: deletions go that way too, and one of us would wait
    for the other for ever.
    """
    places = {(_RESOURCE[mapping.resource_type], mapping.resource_id) for mapping in matching}
    for row in await tx.all(queries.HELD, user_id=caller.id, provider_id=provider.id):
        places |= {(level, str(id_)) for level, id_ in zip(_TOP_DOWN, row, strict=True) if id_ is not None}
    for level in _TOP_DOWN:
        for id_ in sorted(id_ for at, id_ in places if at == level):
            await tx.one(KEEP[level], id=id_)


async def _inside(tx: Transaction, caller: Caller, provider: Stored, kind: str, id_: str) -> Access | None:
    """The caller at a resource of the provider's company; None when it is another's, of another kind, or gone."""
    there = await resolve(tx, caller, _RESOURCE[kind], id_) if is_uuid(id_) else None
    if there is None or provider.company_id not in {there.company_id, there.parent_id}:
        return None
    if kind == "company" and there.parent_id is not None:
        return None
    if kind == "organization" and there.parent_id is None:
        return None
    return there


async def _locked(tx: Transaction, provider_id: str) -> Stored:
    row = await tx.one(queries.LOCK, id=provider_id.lower())
    if row is None:
        raise NotFound("there is no such iam provider")
    return stored_from(row)


def _shown(mapping: Mapping) -> dict[str, str]:
    return {
        "provider_id": mapping.provider_id,
        "external_identifier": mapping.external_identifier,
        mapping.resource_type: mapping.resource_id,
        "role": mapping.role,
    }
