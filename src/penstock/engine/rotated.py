"""Refresh tokens that an authority handed out in place of an earlier one, sealed and stored: many take each only once,
so the one that the workflow's secret holds is worth nothing after its first use.
"""

import base64
from typing import Any, Protocol

import msgspec
import structlog
from sqlalchemy import bindparam, select
from sqlalchemy.dialects.postgresql import insert

from penstock.storage import Database, Statement
from penstock.storage.schema import key_values

log = structlog.get_logger()
_PREFIX = "oauth refresh token "
_FIND = Statement(select(key_values.c.value).where(key_values.c.key == bindparam("key")))
_put = insert(key_values).values(key=bindparam("key"), value=bindparam("value"))
_KEEP = Statement(_put.on_conflict_do_update(index_elements=["key"], set_={"value": _put.excluded.value}))


class Seals(Protocol):
    """The vault, as far as it is needed here."""

    key_id: str

    def seal(self, project_id: str, name: str, value: str) -> bytes: ...

    def unseal(self, project_id: str, name: str, key_id: str, sealed: bytes) -> str: ...


class _Sealed(msgspec.Struct):
    key_id: str
    value: str


class StoredTokens:
    """By the hash of the policy that they belong to, which holds all its credentials: others have other ones."""

    def __init__(self, database: Database, vault: Seals) -> None:
        self._database = database
        self._vault = vault

    async def find(self, policy: str) -> str | None:
        row = await self._database.one(_FIND, key=_PREFIX + policy)
        if row is None:
            return None
        try:
            sealed = msgspec.json.decode(row[0], type=_Sealed)
            return self._vault.unseal("", _PREFIX + policy, sealed.key_id, base64.b64decode(sealed.value))
        except Exception as error:  # noqa: BLE001 - with a key that is gone it is as good as none: the policy's own counts
            log.warning("a stored refresh token cannot be opened", error=str(error))
            return None

    async def keep(self, policy: str, token: str) -> None:
        value = base64.b64encode(self._vault.seal("", _PREFIX + policy, token)).decode()
        stored: dict[str, Any] = {"key": _PREFIX + policy, "value": _text(_Sealed(self._vault.key_id, value))}
        async with self._database.transaction() as tx:
            await tx.run(_KEEP, **stored)


def _text(sealed: _Sealed) -> str:
    return msgspec.json.encode(sealed).decode()
