"""Direct grants of roles: memberships and workflow permissions. (Grants by mappings are `iam`'s.)"""

from typing import Any

import msgspec
from sqlalchemy import bindparam, case, delete, func, insert, or_, select, update

from penstock.http.times import rfc3339
from penstock.ids import uuid7
from penstock.platform.roles import Role
from penstock.storage import Row, Statement, Transaction, now
from penstock.storage.platform_tables import companies, grants, projects, workflows
from penstock.storage.schema import accounts


class Person(msgspec.Struct, frozen=True):
    id: str
    email: str
    display_name: str


class Membership(msgspec.Struct, frozen=True):
    id: str
    user_id: str
    company_id: str
    project_id: str | None
    role: str
    created_at: str
    updated_at: str
    user: Person | msgspec.UnsetType = msgspec.UNSET


ADD = Statement(
    insert(grants).values(
        id=bindparam("id"),
        user_id=bindparam("user_id"),
        company_id=bindparam("company_id"),
        project_id=bindparam("project_id"),
        workflow_id=bindparam("workflow_id"),
        role=bindparam("role"),
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
)
SET_ROLE = Statement(
    update(grants).where(grants.c.id == bindparam("id_")).values(role=bindparam("role"), updated_at=bindparam("now"))
)
REMOVE = Statement(delete(grants).where(grants.c.id == bindparam("id")))

_MEMBER = (
    grants.c.id,
    grants.c.user_id,
    func.coalesce(grants.c.company_id, projects.c.company_id),
    grants.c.project_id,
    grants.c.role,
    grants.c.created_at,
    grants.c.updated_at,
    accounts.c.email,
    accounts.c.display_name,
)
_PEOPLE = grants.join(accounts, accounts.c.id == grants.c.user_id).outerjoin(
    projects, projects.c.id == grants.c.project_id
)


def member_from(row: Row) -> Membership:
    """As shown in a list: with the person."""
    id_, user_id, company_id, project_id, role, created, updated, email, display_name = row
    return Membership(
        id_,
        user_id,
        company_id,
        project_id,
        Role(role).label,
        rfc3339(created),
        rfc3339(updated),
        Person(user_id, email, display_name),
    )


def _of(level: str) -> dict[str, Statement]:
    """The statements for one level: `company` or `project`."""
    column = grants.c[f"{level}_id"]
    direct = column == bindparam("id"), grants.c.mapping_id.is_(None)
    return {
        "list": Statement(
            select(*_MEMBER)
            .select_from(_PEOPLE)
            .where(*direct)
            .order_by(grants.c.created_at.desc(), grants.c.id.desc())
            .limit(bindparam("limit"))
            .offset(bindparam("offset"))
        ),
        "count": Statement(select(func.count()).select_from(grants).where(*direct)),
        "find": Statement(
            select(*_MEMBER).select_from(_PEOPLE).where(*direct, grants.c.user_id == bindparam("user_id"))
        ),
    }


COMPANY, PROJECT = _of("company"), _of("project")
_above = companies.alias("above")
_inside = (
    select(
        grants.c.id,
        grants.c.role,
        grants.c.company_id,
        grants.c.project_id,
        grants.c.workflow_id,
        case((_above.c.parent_id.is_not(None), _above.c.id)).label("organization_id"),
    )
    .select_from(
        grants.outerjoin(workflows, workflows.c.id == grants.c.workflow_id)
        .outerjoin(projects, projects.c.id == func.coalesce(grants.c.project_id, workflows.c.project_id))
        .join(_above, _above.c.id == func.coalesce(grants.c.company_id, projects.c.company_id))
    )
    .where(grants.c.user_id == bindparam("user_id"), grants.c.mapping_id.is_(None))
    .order_by(grants.c.id)
)
# Someone's direct grants below a place.
INSIDE = {
    "company": Statement(
        _inside.where(
            or_(_above.c.id == bindparam("id"), _above.c.parent_id == bindparam("id")),
            or_(grants.c.company_id.is_(None), grants.c.company_id != bindparam("id")),
        )
    ),
    "project": Statement(_inside.where(workflows.c.project_id == bindparam("id"))),
}
USER_BY_ID = Statement(select(accounts.c.id).where(accounts.c.id == bindparam("id"), accounts.c.active.is_(True)))
USER_BY_EMAIL = Statement(
    select(accounts.c.id).where(accounts.c.email == bindparam("email"), accounts.c.active.is_(True))
)
OTHER_OWNERS = Statement(
    select(func.count())
    .select_from(grants.join(accounts, accounts.c.id == grants.c.user_id))
    .where(
        grants.c.company_id == bindparam("id"),
        grants.c.role == int(Role.OWNER),
        # A mapping's grant ends with the mapping, and who is deactivated cannot act: neither keeps a company going.
        grants.c.mapping_id.is_(None),
        accounts.c.active.is_(True),
        grants.c.user_id != bindparam("user_id"),
    )
)
# Grants in a company change one after the other: of two owners who leave at once, the second finds that they are the
# last; and who was demoted a moment ago grants nothing more.
LOCK = Statement(select(companies.c.id).where(companies.c.id == bindparam("id")).with_for_update(key_share=True))
# Nobody deletes a place between our look at it and a grant in it.
KEEP = {
    level: Statement(select(table.c.id).where(table.c.id == bindparam("id")).with_for_update(read=True, key_share=True))
    for level, table in {"company": companies, "project": projects, "workflow": workflows}.items()
}


async def add_grant(tx: Transaction, user_id: str, role: Role, **target: Any) -> str:
    id_ = uuid7()
    places = {"company_id": None, "project_id": None, "workflow_id": None} | target
    await tx.run(ADD, id=id_, user_id=user_id, role=int(role), now=now(), **places)
    return id_
