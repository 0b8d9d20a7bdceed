"""What is asked of the table of links between workflows."""

from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, func, insert, select

from penstock.http.times import rfc3339
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import workflow_links as links


class Link(msgspec.Struct, frozen=True):
    id: str
    source_workflow_id: str
    target_workflow_id: str
    link_type: str
    config: dict[str, Any]
    created_by: str
    created_at: str


_COLUMNS = (
    links.c.id,
    links.c.source_workflow_id,
    links.c.target_workflow_id,
    links.c.link_type,
    links.c.config,
    links.c.created_by,
    links.c.created_at,
)


def link_from(row: Row) -> Link:
    id_, source, target, link_type, config, created_by, created = row
    return Link(id_, source, target, link_type, msgspec.json.decode(config), created_by, rfc3339(created))


_of_source = links.c.source_workflow_id == bindparam("source")
ADD = Statement(
    insert(links)
    .values(
        id=bindparam("id"),
        source_workflow_id=bindparam("source"),
        target_workflow_id=bindparam("target"),
        link_type=bindparam("link_type"),
        config=bindparam("config"),
        created_by=bindparam("by"),
        created_at=bindparam("now"),
    )
    .returning(*_COLUMNS)
)
FIND = Statement(select(*_COLUMNS).where(_of_source, links.c.id == bindparam("id")))
LIST = Statement(
    select(*_COLUMNS)
    .where(_of_source)
    .order_by(links.c.created_at.desc(), links.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT = Statement(select(func.count()).select_from(links).where(_of_source))
DELETE = Statement(delete(links).where(links.c.id == bindparam("id")))
