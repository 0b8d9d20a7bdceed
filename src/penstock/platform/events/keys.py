"""Which requests have brought their events already, by their `Idempotency-Key`."""

import hashlib
from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, select, tuple_
from sqlalchemy.dialects.postgresql import insert

from penstock.platform.idempotency import KEY_LIVES
from penstock.problems import Conflict
from penstock.storage import Database, Statement, Transaction, now
from penstock.storage.engine_tables import event_keys

_BATCH = 1000
_row = insert(event_keys).values({column.name: bindparam(column.name) for column in event_keys.c})
# Nothing is written while an earlier request has the key.
_TAKE = Statement(
    _row.on_conflict_do_update(
        index_elements=[event_keys.c.project_id, event_keys.c.key],
        set_={"digest": _row.excluded.digest, "received_at": _row.excluded.received_at},
        where=event_keys.c.received_at < bindparam("older_than"),
    )
)
_TAKEN = Statement(
    select(event_keys.c.digest).where(
        event_keys.c.project_id == bindparam("project_id"), event_keys.c.key == bindparam("key")
    )
)
_name = tuple_(event_keys.c.project_id, event_keys.c.key)
_SWEEP = Statement(
    delete(event_keys).where(
        _name.in_(
            select(event_keys.c.project_id, event_keys.c.key)
            .where(event_keys.c.received_at < bindparam("older_than"))
            .limit(_BATCH)
        )
    )
)


async def is_new(tx: Transaction, project_id: str, key: str, events: list[dict[str, Any]]) -> bool:
    """Whether this request is the first with its key; from now on, none is."""
    digest = hashlib.sha256(msgspec.json.encode(events, order="sorted")).hexdigest()
    at = now()
    row = {"project_id": project_id, "key": key, "digest": digest, "received_at": at}
    if await tx.run(_TAKE, **row, older_than=at - KEY_LIVES):
        return True
    taken = await tx.one(_TAKEN, project_id=project_id, key=key)
    if taken is not None and taken[0] != digest:
        raise Conflict("this Idempotency-Key was used with other events; use a new key for new events")
    return False


async def sweep_keys(database: Database) -> None:
    """Those that count no more."""
    deleted = _BATCH
    while deleted == _BATCH:
        async with database.transaction() as tx:
            deleted = await tx.run(_SWEEP, older_than=now() - KEY_LIVES)
