"""What is asked of the table of secrets. Only `OPEN` and the two of rotation touch values, and those are sealed."""

import msgspec
from sqlalchemy import Text, bindparam, delete, func, literal, select, update
from sqlalchemy.dialects.postgresql import insert

from penstock.http.times import rfc3339
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import secrets


class Secret(msgspec.Struct, frozen=True):
    """What is told of a secret."""

    name: str
    created_at: str
    updated_at: str
    updated_by: str


_TOLD = (secrets.c.name, secrets.c.created_at, secrets.c.updated_at, secrets.c.updated_by)


def secret_from(row: Row) -> Secret:
    name, created, updated, updated_by = row
    return Secret(name, rfc3339(created), rfc3339(updated), updated_by)


_of_project = secrets.c.project_id == bindparam("project_id")
_this = _of_project, secrets.c.name == bindparam("name")

FIND = Statement(select(*_TOLD).where(*_this))
LIST = Statement(
    select(*_TOLD)
    .where(_of_project)
    .order_by(secrets.c.created_at.desc(), secrets.c.name.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
COUNT = Statement(select(func.count()).select_from(secrets).where(_of_project))
# One statement, so that two who set the same name at once both succeed, and the later stands.
_put = insert(secrets).values(
    project_id=bindparam("project_id"),
    name=bindparam("name"),
    key_id=bindparam("key_id"),
    value=bindparam("value"),
    updated_by=bindparam("updated_by"),
    created_at=bindparam("now"),
    updated_at=bindparam("now"),
)
PUT = Statement(
    _put.on_conflict_do_update(
        index_elements=["project_id", "name"],
        set_={name: _put.excluded[name] for name in ("key_id", "value", "updated_by", "updated_at")},
    ).returning(*_TOLD, (secrets.c.created_at == secrets.c.updated_at).label("is_new"))
)
DELETE = Statement(delete(secrets).where(*_this))
# `_` in a name matches any character here: a superset, of which the vault takes what it wants.
OPEN = Statement(
    select(secrets.c.name, secrets.c.key_id, secrets.c.value).where(
        _of_project,
        bindparam("wanted", type_=Text).like(literal("%|", Text) + secrets.c.name + literal("|%", Text)),
    )
)
COUNT_BY_KEY = Statement(select(secrets.c.key_id, func.count()).group_by(secrets.c.key_id))
SEALED_WITH_ANOTHER_KEY = Statement(
    select(secrets.c.project_id, secrets.c.name, secrets.c.key_id, secrets.c.value)
    .where(
        secrets.c.key_id != bindparam("key_id"),
        (secrets.c.project_id > bindparam("after_project"))
        | ((secrets.c.project_id == bindparam("after_project")) & (secrets.c.name > bindparam("after_name"))),
    )
    .order_by(secrets.c.project_id, secrets.c.name)
    .limit(bindparam("limit"))
)
# Only what still is as it was read: a value that was set meanwhile stays.
RESEAL = Statement(
    update(secrets)
    .where(
        secrets.c.project_id == bindparam("project_id_"),
        secrets.c.name == bindparam("name_"),
        secrets.c.value == bindparam("before"),
    )
    .values(key_id=bindparam("key_id"), value=bindparam("value"))
)
