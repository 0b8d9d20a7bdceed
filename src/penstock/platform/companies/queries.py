"""What is asked of the table of companies."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, func, insert, select, update

from penstock.http.times import rfc3339
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import companies, grants, projects, workflows


class Company(msgspec.Struct, frozen=True):
    id: str
    parent_id: str | None
    name: str
    slug: str
    owner_id: str
    metadata: dict[str, Any]
    created_at: str
    updated_at: str


COLUMNS = (
    companies.c.id,
    companies.c.parent_id,
    companies.c.name,
    companies.c.slug,
    companies.c.owner_id,
    companies.c.metadata,
    companies.c.created_at,
    companies.c.updated_at,
)


def company_from(row: Row) -> Company:
    id_, parent_id, name, slug, owner_id, metadata, created, updated = row
    return Company(
        id_, parent_id, name, slug, owner_id, msgspec.json.decode(metadata), rfc3339(created), rfc3339(updated)
    )


_find = select(*COLUMNS).where(companies.c.id == bindparam("id"))
FIND = Statement(_find)
# SQLite has one writer at a time, and needs (and knows) no locks on rows.
FIND_TO_CHANGE = Statement(_find.with_for_update(key_share=True))
# Nobody deletes it before what is being put into it is there, and goes with it.
KEEP = Statement(
    select(companies.c.id).where(companies.c.id == bindparam("id")).with_for_update(read=True, key_share=True)
)
ADD = Statement(
    insert(companies)
    .values(
        id=bindparam("id"),
        parent_id=bindparam("parent_id"),
        name=bindparam("name"),
        slug=bindparam("slug"),
        owner_id=bindparam("owner_id"),
        metadata=bindparam("metadata"),
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
    .returning(*COLUMNS)
)
UPDATE = Statement(
    update(companies)
    .where(companies.c.id == bindparam("id_"))
    .values(name=bindparam("name"), slug=bindparam("slug"), metadata=bindparam("metadata"), updated_at=bindparam("now"))
    .returning(*COLUMNS)
)
DELETE = Statement(delete(companies).where(companies.c.id == bindparam("id")))

# The top-level companies in which one has a role anywhere: in it, in an organization, a project or a workflow of it.
_mine = grants.alias()
_place = companies.alias("place")
_ROOTS = (
    select(func.coalesce(_place.c.parent_id, _place.c.id))
    .select_from(_mine.join(_place, _place.c.id == _mine.c.company_id))
    .where(_mine.c.user_id == bindparam("user_id"))
    .union(
        select(func.coalesce(_place.c.parent_id, _place.c.id))
        .select_from(
            _mine.join(projects, projects.c.id == _mine.c.project_id).join(_place, _place.c.id == projects.c.company_id)
        )
        .where(_mine.c.user_id == bindparam("user_id")),
        select(func.coalesce(_place.c.parent_id, _place.c.id))
        .select_from(
            _mine.join(workflows, workflows.c.id == _mine.c.workflow_id)
            .join(projects, projects.c.id == workflows.c.project_id)
            .join(_place, _place.c.id == projects.c.company_id)
        )
        .where(_mine.c.user_id == bindparam("user_id")),
    )
)
ROOTS = Statement(_ROOTS)
_visible = companies.c.id.in_(_ROOTS)
LIST = Statement(
    select(*COLUMNS)
    .where(_visible)
    .order_by(companies.c.created_at.desc(), companies.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT = Statement(select(func.count()).select_from(companies).where(_visible))
LIST_ORGANIZATIONS = Statement(
    select(*COLUMNS)
    .where(companies.c.parent_id == bindparam("parent_id"))
    .order_by(companies.c.created_at.desc(), companies.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT_ORGANIZATIONS = Statement(
    select(func.count()).select_from(companies).where(companies.c.parent_id == bindparam("parent_id"))
)
