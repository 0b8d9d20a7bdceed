"""What is asked of the table of projects."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, func, insert, select, update

from penstock.http.times import rfc3339
from penstock.platform.workflows.lists import PROJECTS_SEEN
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import projects


class Project(msgspec.Struct, frozen=True):
    id: str
    company_id: str
    name: str
    slug: str
    description: str
    metadata: dict[str, Any]
    created_at: str
    updated_at: str


COLUMNS = (
    projects.c.id,
    projects.c.company_id,
    projects.c.name,
    projects.c.slug,
    projects.c.description,
    projects.c.metadata,
    projects.c.created_at,
    projects.c.updated_at,
)


def project_from(row: Row) -> Project:
    id_, company_id, name, slug, description, metadata, created, updated = row
    return Project(
        id_, company_id, name, slug, description, msgspec.json.decode(metadata), rfc3339(created), rfc3339(updated)
    )


_find = select(*COLUMNS).where(projects.c.id == bindparam("id"))
FIND = Statement(_find)
FIND_TO_CHANGE = Statement(_find.with_for_update(key_share=True))
ADD = Statement(
    insert(projects)
    .values(
        id=bindparam("id"),
        company_id=bindparam("company_id"),
        name=bindparam("name"),
        slug=bindparam("slug"),
        description=bindparam("description"),
        metadata=bindparam("metadata"),
        created_at=bindparam("now"),
        updated_at=bindparam("now"),
    )
    .returning(*COLUMNS)
)
UPDATE = Statement(
    update(projects)
    .where(projects.c.id == bindparam("id_"))
    .values(
        name=bindparam("name"),
        slug=bindparam("slug"),
        description=bindparam("description"),
        metadata=bindparam("metadata"),
        updated_at=bindparam("now"),
    )
    .returning(*COLUMNS)
)
DELETE = Statement(delete(projects).where(projects.c.id == bindparam("id")))
LIST = Statement(
    select(*COLUMNS)
    .where(projects.c.company_id == bindparam("company_id"))
    .order_by(projects.c.created_at.desc(), projects.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
_seen = PROJECTS_SEEN.cte("seen")
LIST_MINE = Statement(
    select(*COLUMNS)
    .join(_seen, _seen.c.project_id == projects.c.id)
    .order_by(projects.c.created_at.desc(), projects.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT_MINE = Statement(select(func.count()).select_from(_seen))
COUNT = Statement(select(func.count()).select_from(projects).where(projects.c.company_id == bindparam("company_id")))
