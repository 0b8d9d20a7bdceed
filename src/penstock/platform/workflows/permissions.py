"""Who may do more, or less, at one workflow. The rules of granting are those of members."""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from penstock.http.edge import Call
from penstock.ids import is_uuid
from penstock.platform import audit
from penstock.platform.access import Access
from penstock.platform.members import queries as members
from penstock.platform.members.rules import NewMember, locked, require_above, require_removable, user_named
from penstock.platform.parts import Parts
from penstock.platform.roles import Role, parse_role
from penstock.platform.workflows import permission_queries as queries
from penstock.platform.workflows.permission_queries import Permission, permission_from
from penstock.platform.workflows.rules import id_of
from penstock.problems import Denied, NotFound
from penstock.storage import Transaction, now


class NewPermission(Struct, forbid_unknown_fields=True):
    role: str
    user_id: str | UnsetType = UNSET
    email: str | UnsetType = UNSET


async def put(parts: Parts, call: Call, access: Access, body: NewPermission) -> tuple[Permission, bool]:
    """The permission, and whether it is new: giving one again changes it."""
    role, id_ = parse_role(body.role), id_of(access)
    async with parts.database.transaction() as tx:
        access = await locked(tx, access, "workflow", id_, Role.ADMIN)
        user_id = await user_named(tx, NewMember(body.role, user_id=body.user_id, email=body.email))
        await require_above(tx, access, "workflow", id_, user_id, role)
        before = await _find(tx, id_, user_id)
        if before is None:
            await members.add_grant(tx, user_id, role, workflow_id=id_)
            await audit.by(tx, call, access, "permission.add", user_id, {"role": role.label, "workflow": id_})
        elif before.role != role.label:
            await tx.run(members.SET_ROLE, id_=before.id, role=int(role), now=now())
            changes = audit.changes({"role": before.role}, {"role": role.label})
            await audit.by(tx, call, access, "permission.update", user_id, changes | {"workflow": id_})
        return await _existing(tx, id_, user_id), before is None


async def remove(parts: Parts, call: Call, access: Access, user_id: str) -> None:
    id_ = id_of(access)
    async with parts.database.transaction() as tx:
        access = await locked(tx, access, "workflow", id_, Role.VIEWER)
        if user_id != access.caller.id and access.role is not None and access.role < Role.ADMIN:
            raise Denied("removing others needs the role admin here")
        permission = await _existing(tx, id_, user_id)
        await require_removable(tx, access, "workflow", id_, user_id)
        details = {"role": permission.role, "workflow": id_}
        await audit.by(tx, call, access, "permission.remove", user_id, details)
        await tx.run(members.REMOVE, id=permission.id)


async def _existing(tx: Transaction, id_: str, user_id: str) -> Permission:
    permission = await _find(tx, id_, user_id)
    if permission is None:
        raise NotFound("there is no such permission")
    return permission


async def _find(tx: Transaction, id_: str, user_id: str) -> Permission | None:
    row = await tx.one(queries.FIND, workflow_id=id_, user_id=user_id) if is_uuid(user_id) else None
    return msgspec.structs.replace(permission_from(row), user=UNSET) if row is not None else None
