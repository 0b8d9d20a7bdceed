"""Refresh tokens that an authority handed out in place of an earlier one, sealed and stored: many take each only once,
so the one that the workflow's secret holds is worth nothing after its first use.
"""

import base64
from typing import Protocol

import msgspec
import structlog
from sqlalchemy import bindparam, select, update
from sqlalchemy.dialects.postgresql import insert

from penstock.storage import Database, Statement
from penstock.storage.schema import key_values

log = structlog.get_logger()
_PREFIX = "oauth refresh token "
_FIND = Statement(select(key_values.c.value).where(key_values.c.key == bindparam("key")))
_put = insert(key_values).values(key=bindparam("key"), value=bindparam("value"))
_KEEP = Statement(_put.on_conflict_do_update(index_elements=["key"], set_={"value": _put.excluded.value}))


_NEXT = Statement(
    select(key_values.c.key, key_values.c.value)
    .where(key_values.c.key.like(f"{_PREFIX}%"), key_values.c.key > bindparam("after"))
    .order_by(key_values.c.key)
    .limit(100)
)
# Only what is still as it was read: a change by a running server wins.
_RESEAL = Statement(
    update(key_values)
    .where(key_values.c.key == bindparam("key_"), key_values.c.value == bindparam("before"))
    .values(value=bindparam("sealed"))
)


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
        return None if row is None else self._opened(_PREFIX + policy, row[0])

    async def keep(self, policy: str, token: str) -> None:
        key = _PREFIX + policy
        async with self._database.transaction() as tx:
            await tx.run(_KEEP, key=key, value=self._sealed(key, token))

    async def reseal(self) -> int:
        """With the present key; how many. What no key at hand opens stays: the policy's own token counts instead."""
        done, after = 0, ""
        while True:
            async with self._database.transaction() as tx:
                rows = await tx.all(_NEXT, after=after)
                for key, value in rows:
                    after = key
                    if f'"{self._vault.key_id}"' in value:
                        continue
                    if (token := self._opened(key, value)) is not None:
                        done += await tx.run(_RESEAL, key_=key, before=value, sealed=self._sealed(key, token))
            if not rows:
                return done

    def _sealed(self, key: str, token: str) -> str:
        value = base64.b64encode(self._vault.seal("", key, token)).decode()
        return msgspec.json.encode(_Sealed(self._vault.key_id, value)).decode()

    def _opened(self, key: str, value: str) -> str | None:
        try:
            sealed = msgspec.json.decode(value, type=_Sealed)
            return self._vault.unseal("", key, sealed.key_id, base64.b64decode(sealed.value))
        except Exception as error:  # noqa: BLE001 - with a key that is gone it is as good as none: the policy's own counts
            log.warning("a stored refresh token cannot be opened", error=str(error))
            return None
