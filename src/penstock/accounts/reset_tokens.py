"""Reset tokens: secret, single use, short-lived; only their hashes are kept."""

import hashlib
import secrets

from sqlalchemy import bindparam, delete, insert, select

from penstock.storage import Statement, Transaction, now
from penstock.storage.database import Reader
from penstock.storage.schema import reset_tokens

_LONGEST = 256
_INSERT = Statement(
    insert(reset_tokens).values(
        token_hash=bindparam("token_hash"), userid=bindparam("userid"), expires_at=bindparam("expires_at")
    )
)
_LIVE = reset_tokens.c.token_hash == bindparam("token_hash"), reset_tokens.c.expires_at > bindparam("now")
_FIND = Statement(select(reset_tokens.c.userid).where(*_LIVE))
# Deleting is the check: of two requests with one token, only one finds it.
_SPEND = Statement(delete(reset_tokens).where(*_LIVE).returning(reset_tokens.c.userid))
_WITHDRAW = Statement(delete(reset_tokens).where(reset_tokens.c.token_hash == bindparam("token_hash")))
_FORGET = Statement(delete(reset_tokens).where(reset_tokens.c.userid == bindparam("userid")))
_SWEEP = Statement(delete(reset_tokens).where(reset_tokens.c.expires_at <= bindparam("now")))


def _hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def issue(tx: Transaction, userid: int, ttl: int) -> str:
    token = secrets.token_urlsafe(32)
    await tx.run(_INSERT, token_hash=_hash(token), userid=userid, expires_at=now() + ttl * 1_000_000)
    return token


async def owner(reader: Reader, token: str) -> int | None:
    """Whose it is, unspent; None when it is unknown, used or expired."""
    if not 0 < len(token) <= _LONGEST:
        return None
    row = await reader.one(_FIND, token_hash=_hash(token), now=now())
    return int(row[0]) if row is not None else None


async def spend(tx: Transaction, token: str) -> bool:
    """False when someone was faster, or it has expired meanwhile."""
    return await tx.one(_SPEND, token_hash=_hash(token), now=now()) is not None


async def withdraw(tx: Transaction, token: str) -> None:
    """A token whose mail never left."""
    await tx.run(_WITHDRAW, token_hash=_hash(token))


async def forget_all(tx: Transaction, userid: int) -> None:
    """Every reset token of a user becomes worthless."""
    await tx.run(_FORGET, userid=userid)


async def sweep(tx: Transaction) -> None:
    await tx.run(_SWEEP, now=now())
