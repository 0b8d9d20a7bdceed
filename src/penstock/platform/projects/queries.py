"""What is asked of the table of projects."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, exists, func, insert, literal, or_, select, update

from penstock.http.times import rfc3339
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import executions, projects, workflows


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


FIND = Statement(select(*COLUMNS).where(projects.c.id == bindparam("id")))
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
COUNT = Statement(select(func.count()).select_from(projects).where(projects.c.company_id == bindparam("company_id")))
ANYTHING_ACTIVE = Statement(
    select(literal(1)).where(
        or_(
            exists(select(literal(1)).where(workflows.c.project_id == bindparam("id"), workflows.c.status == "active")),
            exists(
                select(literal(1))
                .select_from(workflows.join(executions, executions.c.workflow_id == workflows.c.id))
                .where(workflows.c.project_id == bindparam("id"), executions.c.completed_at.is_(None))
            ),
        )
    )
)
