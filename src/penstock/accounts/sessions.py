"""Sessions: a long random cookie of which only the hash is stored, alive for as long as it is used."""

import hashlib
import secrets

import msgspec
from sqlalchemy import bindparam, delete, insert, select, update

from penstock.accounts.users import UserInfo, info_from, methods_of_account
from penstock.ids import uuid7
from penstock.storage import Statement, Transaction, now
from penstock.storage.database import Reader
from penstock.storage.schema import accounts, sessions

COOKIE = "session"
_LONGEST = 256  # no cookie of ours is longer; anything longer is not worth hashing


class Session(msgspec.Struct, frozen=True, gc=False):
    """A live session and whose it is."""

    token_hash: bytes
    expires_at: int
    user: UserInfo


class Visitor(msgspec.Struct, frozen=True, gc=False):
    """Where a session is opened from, shown to its owner later; and the cookie that the caller came with."""

    address: str
    user_agent: str
    cookie: str
    secure: bool
    request_id: str = ""


_INSERT = Statement(
    insert(sessions).values(
        token_hash=bindparam("token_hash"),
        id=bindparam("id"),
        userid=bindparam("userid"),
        ip_address=bindparam("ip_address"),
        user_agent=bindparam("user_agent"),
        created_at=bindparam("now"),
        expires_at=bindparam("expires_at"),
    )
)
_FIND = Statement(
    select(sessions.c.expires_at, accounts.c.userid, accounts.c.email, accounts.c.settings, methods_of_account)
    .join(accounts, accounts.c.userid == sessions.c.userid)
    .where(
        sessions.c.token_hash == bindparam("token_hash"),
        sessions.c.expires_at > bindparam("now"),
        accounts.c.active.is_(True),
    )
)
_EXTEND = Statement(
    update(sessions).where(sessions.c.token_hash == bindparam("hash_")).values(expires_at=bindparam("expires_at"))
)
_END = Statement(delete(sessions).where(sessions.c.token_hash == bindparam("token_hash")))
_END_ALL = Statement(delete(sessions).where(sessions.c.userid == bindparam("userid")))
_SWEEP = Statement(delete(sessions).where(sessions.c.expires_at <= bindparam("now")))


def hash_token(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


async def find(reader: Reader, token: str) -> Session | None:
    """One query by primary key: this is on the path of every request of every application that uses us."""
    if not token or len(token) > _LONGEST:
        return None
    token_hash = hash_token(token)
    row = await reader.one(_FIND, token_hash=token_hash, now=now())
    if row is None:
        return None
    expires_at, *user = row
    return Session(token_hash, expires_at, info_from(*user))


async def is_open(reader: Reader, session: Session) -> bool:
    """Whether a session that was found before some long work has not been ended since."""
    return await reader.one(_FIND, token_hash=session.token_hash, now=now()) is not None


async def open_session(tx: Transaction, userid: int, visitor: Visitor, ttl: int) -> str:
    """A new session, and the end of the one that the caller came with; the cookie's value.

    Always a new value: one that an attacker planted before sign-in (fixation) opens nothing after it.
    """
    await end(tx, visitor.cookie)
    token = secrets.token_urlsafe(48)
    at = now()
    await tx.run(
        _INSERT,
        token_hash=hash_token(token),
        id=uuid7(),
        userid=userid,
        ip_address=visitor.address,
        user_agent=visitor.user_agent[:500],
        now=at,
        expires_at=at + ttl * 1_000_000,
    )
    return token


def wants_renewal(session: Session, ttl: int) -> bool:
    """Sliding expiry without a write on every request: only once a thirtieth of the life is used up."""
    return session.expires_at - now() < ttl * 1_000_000 * 29 // 30


async def renew(tx: Transaction, session: Session, ttl: int) -> None:
    await tx.run(_EXTEND, hash_=session.token_hash, expires_at=now() + ttl * 1_000_000)


async def end(tx: Transaction, token: str) -> None:
    if token and len(token) <= _LONGEST:
        await tx.run(_END, token_hash=hash_token(token))


async def end_all(tx: Transaction, userid: int) -> None:
    await tx.run(_END_ALL, userid=userid)


async def sweep(tx: Transaction) -> None:
    """Forget sessions that have ended by themselves."""
    await tx.run(_SWEEP, now=now())


def set_cookie(token: str, ttl: int, *, secure: bool) -> str:
    return f"{COOKIE}={token}; Max-Age={int(ttl)}; Path=/; HttpOnly; SameSite=Lax" + ("; Secure" if secure else "")


def clear_cookie(*, secure: bool) -> str:
    return set_cookie("", 0, secure=secure)
