"""Direct grants on one workflow. (Grants by mappings are `iam`'s.)"""

import msgspec
from sqlalchemy import bindparam, func, select

from penstock.http.times import rfc3339
from penstock.platform.members.queries import Person
from penstock.platform.roles import Role
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import grants
from penstock.storage.schema import accounts


class Permission(msgspec.Struct, frozen=True):
    id: str
    workflow_id: str
    user_id: str
    role: str
    created_at: str
    updated_at: str
    user: Person | msgspec.UnsetType = msgspec.UNSET


def permission_from(row: Row) -> Permission:
    """As shown in a list: with the person."""
    id_, workflow_id, user_id, role, created, updated, email, display_name = row
    person = Person(user_id, email, display_name)
    return Permission(id_, workflow_id, user_id, Role(role).label, rfc3339(created), rfc3339(updated), person)


_direct = grants.c.workflow_id == bindparam("workflow_id"), grants.c.mapping_id.is_(None)
_found = (
    select(
        grants.c.id,
        grants.c.workflow_id,
        grants.c.user_id,
        grants.c.role,
        grants.c.created_at,
        grants.c.updated_at,
        accounts.c.email,
        accounts.c.display_name,
    )
    .select_from(grants.join(accounts, accounts.c.id == grants.c.user_id))
    .where(*_direct)
)
LIST = Statement(
    _found.order_by(grants.c.created_at.desc(), grants.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT = Statement(select(func.count()).select_from(grants).where(*_direct))
FIND = Statement(_found.where(grants.c.user_id == bindparam("user_id")))
