"""Nobody grants above their own role, or touches someone whose role is above; a company keeps an owner."""

from typing import Literal, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType

from penstock.accounts import emails
from penstock.http.edge import Call
from penstock.ids import is_uuid
from penstock.platform import audit
from penstock.platform.access import Access, inherited, resolve
from penstock.platform.members import queries
from penstock.platform.members.queries import Membership, member_from
from penstock.platform.parts import Parts
from penstock.platform.roles import Role, parse_role
from penstock.platform.texts import invalid
from penstock.problems import Conflict, Denied, NotFound
from penstock.storage import Duplicate, Transaction, now
from penstock.storage.database import Reader

Level = Literal["company", "project", "workflow"]


class NewMember(Struct, forbid_unknown_fields=True):
    role: str
    user_id: str | UnsetType = UNSET
    email: str | UnsetType = UNSET


class RoleChange(Struct, forbid_unknown_fields=True):
    role: str | UnsetType = UNSET


async def user_named(reader: Reader, body: NewMember) -> str:
    if (body.user_id is UNSET) == (body.email is UNSET):
        raise invalid("user_id", "send either user_id or email")
    if body.user_id is not UNSET:
        row = await reader.one(queries.USER_BY_ID, id=body.user_id.lower()) if is_uuid(body.user_id) else None
    else:
        email = emails.canonical(body.email if body.email is not UNSET else "")
        row = await reader.one(queries.USER_BY_EMAIL, email=email) if email is not None else None
    if row is None:
        raise NotFound("there is no such user")
    return str(row[0])


async def locked(tx: Transaction, access: Access, level: Level, id_: str, least: Role) -> Access:
    """The caller's access once more, now that nobody else changes grants in this company. The guard looked before:
    whom someone demoted meanwhile must not use what they had."""
    await tx.one(queries.LOCK, id=access.root_id)
    await tx.one(queries.KEEP[level], id=id_)
    current = await resolve(tx, access.caller, level, id_)
    if current is None:
        raise NotFound(f"there is no such {level}")
    if current.role is None or current.role < least:
        raise Denied(f"this needs the role {least.label} here")
    return current


async def require_above(tx: Reader, access: Access, level: Level, id_: str, user_id: str, role: Role | None) -> None:
    """The two rules of granting, at whatever level: not above one's own, not to anyone who is above."""
    own = access.role
    if own is None:
        raise Denied("you have no role here")
    if role is not None and role > own:
        raise Denied(f"you cannot grant {role.label}: your own role here is {own.label}")
    if user_id == access.caller.id:
        return
    theirs = await resolve(tx, access.caller, level, id_, user_id=user_id)
    if theirs is not None and theirs.role is not None and theirs.role > own:
        raise Denied(f"their role here is {theirs.role.label}, above yours")


async def require_removable(tx: Reader, access: Access, level: Level, id_: str, user_id: str) -> None:
    """Anyone may remove themselves; others need admin, and nobody above is touched.

    Where a lower grant held someone down, removing it raises them: nobody lifts anyone above their own role so, nor
    an editor themselves. (From admin on it would stop nobody: they could let a friend in to do it.)
    """
    own, themselves = access.role, user_id == access.caller.id
    if own is None or (own < Role.ADMIN and not themselves):
        raise Denied("removing others needs the role admin here")
    await require_above(tx, access, level, id_, user_id, None)
    after = await inherited(tx, level, id_, user_id)
    if after is not None and after > own and not (themselves and after >= Role.ADMIN):
        raise Denied(f"without this grant their role here would be {after.label}, above yours")


async def find(reader: Reader, level: Level, id_: str, user_id: str) -> Membership | None:
    statements = queries.COMPANY if level == "company" else queries.PROJECT
    row = await reader.one(statements["find"], id=id_, user_id=user_id) if is_uuid(user_id) else None
    return msgspec.structs.replace(member_from(row), user=UNSET) if row is not None else None


async def add(
    parts: Parts, call: Call, access: Access, level: Level, id_: str, body: NewMember
) -> tuple[Membership, bool]:
    """The membership, and whether it is new. In a project, adding again changes the role."""
    role = parse_role(body.role)
    async with parts.database.transaction() as tx:
        access = await locked(tx, access, level, id_, Role.ADMIN)
        user_id = await user_named(tx, body)
        await require_above(tx, access, level, id_, user_id, role)
        existing = await find(tx, level, id_, user_id)
        if existing is not None:
            if level == "company":
                raise Conflict("they are a member already; change their role instead")
            await _set_role(tx, call, access, existing, role)
        else:
            try:
                await queries.add_grant(tx, user_id, role, **{f"{level}_id": id_})
            except Duplicate as error:
                raise Conflict("they are a member already; change their role instead") from error
            await audit.by(tx, call, access, "member.add", user_id, {"role": role.label, level: id_})
        return await _existing(tx, level, id_, user_id), existing is None


async def change(
    parts: Parts, call: Call, access: Access, company_id: str, user_id: str, body: RoleChange
) -> Membership:
    async with parts.database.transaction() as tx:
        access = await locked(tx, access, "company", company_id, Role.ADMIN)
        member = await _existing(tx, "company", company_id, user_id)
        if body.role is UNSET:
            return member
        role = parse_role(body.role)
        await require_above(tx, access, "company", company_id, member.user_id, role)
        if member.role == "owner" and role is not Role.OWNER:
            await _keep_an_owner(tx, company_id, member.user_id)
        await _set_role(tx, call, access, member, role)
        return await _existing(tx, "company", company_id, user_id)


async def remove(parts: Parts, call: Call, access: Access, level: Level, id_: str, user_id: str) -> None:
    async with parts.database.transaction() as tx:
        access = await locked(tx, access, level, id_, Role.VIEWER)
        if user_id != access.caller.id and access.role is not None and access.role < Role.ADMIN:
            # Before the look: who may not remove others learns nothing of who is there.
            raise Denied("removing others needs the role admin here")
        member = await _existing(tx, level, id_, user_id)
        await require_removable(tx, access, level, id_, member.user_id)
        if level == "company" and member.role == "owner":
            await _keep_an_owner(tx, id_, member.user_id)
        await audit.by(tx, call, access, "member.remove", member.user_id, {"role": member.role, level: id_})
        await tx.run(queries.REMOVE, id=member.id)
        await _remove_inside(tx, call, access, level, id_, member.user_id)


async def _remove_inside(tx: Transaction, call: Call, access: Access, level: Level, id_: str, user_id: str) -> None:
    """Who is removed from a place keeps no role further in, where nobody would look for it. (What mappings gave goes
    with the mapping.) That, too, touches nobody who is above, and leaves every organization an owner."""
    for row in await tx.all(queries.INSIDE[level], id=id_, user_id=user_id):
        role = Role(row["role"])
        where, place = next((name, row[f"{name}_id"]) for name in get_args(Level) if row[f"{name}_id"] is not None)
        if access.role is not None and role > access.role and user_id != access.caller.id:
            raise Denied(f"they are {role.label} of a {where} in it ({place}), above your role here")
        if where == "company" and role is Role.OWNER:
            await _keep_an_owner(tx, place, user_id)
        await tx.run(queries.REMOVE, id=row["id"])
        action = "permission.remove" if where == "workflow" else "member.remove"
        details = {"role": role.label, where: place}
        await audit.by(tx, call, access, action, user_id, details, organization_id=row["organization_id"])


async def _existing(tx: Transaction, level: Level, id_: str, user_id: str) -> Membership:
    member = await find(tx, level, id_, user_id)
    if member is None:
        raise NotFound("there is no such member")
    return member


async def _set_role(tx: Transaction, call: Call, access: Access, member: Membership, role: Role) -> None:
    if member.role == role.label:
        return
    await tx.run(queries.SET_ROLE, id_=member.id, role=int(role), now=now())
    place = {"project": member.project_id} if member.project_id is not None else {"company": member.company_id}
    changed = audit.changes({"role": member.role}, {"role": role.label})
    await audit.by(tx, call, access, "member.update", member.user_id, changed | place)


async def _keep_an_owner(tx: Transaction, company_id: str, user_id: str) -> None:
    row = await tx.one(queries.OTHER_OWNERS, id=company_id, user_id=user_id)
    if row is None or not row[0]:
        raise Conflict(f"they are the last owner of {company_id}; make someone else an owner first")
