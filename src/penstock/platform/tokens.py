"""JWTs of the API: an access token for a quarter of an hour, a refresh token that works once.

A family of tokens belongs to a session row; whatever ends that (sign-out, a new password, a deactivated account, at
either door) ends the family, and the next request finds it gone.
"""

import secrets
from collections import OrderedDict
from typing import Any

import jwt
import msgspec
from sqlalchemy import bindparam, delete, insert, select, update

from penstock.ids import is_uuid, uuid7
from penstock.problems import NotSignedIn
from penstock.settings import Settings
from penstock.storage import Statement, Transaction, now
from penstock.storage.database import Reader
from penstock.storage.platform_tables import token_families
from penstock.storage.schema import accounts, sessions

_ALGORITHM = "HS256"
_LONGEST = 4096
_MOST_VERIFIED = 1_000


class TokenPair(msgspec.Struct, frozen=True):
    access_token: str
    refresh_token: str
    token_type: str
    expires_in: int


class Caller(msgspec.Struct, frozen=True, gc=False):
    """Whose token it is; loaded afresh for every request."""

    sid: str
    id: str
    userid: int
    email: str
    session_hash: bytes


class _Family(msgspec.Struct, frozen=True):
    refresh_jti: str
    previous_jti: str | None
    rotated_at: int
    session_hash: bytes
    user_id: str
    email: str


_LIVE = (
    token_families.c.expires_at > bindparam("now"),
    sessions.c.expires_at > bindparam("now"),
    accounts.c.active.is_(True),
)
_JOINED = token_families.join(sessions, sessions.c.token_hash == token_families.c.session_hash).join(
    accounts, accounts.c.userid == sessions.c.userid
)
_CALLER = Statement(
    select(token_families.c.id, accounts.c.id, accounts.c.userid, accounts.c.email, token_families.c.session_hash)
    .select_from(_JOINED)
    .where(token_families.c.id == bindparam("sid"), *_LIVE)
)
_FAMILY = Statement(
    select(
        token_families.c.refresh_jti,
        token_families.c.previous_jti,
        token_families.c.rotated_at,
        token_families.c.session_hash,
        accounts.c.id,
        accounts.c.email,
    )
    .select_from(_JOINED)
    .where(token_families.c.id == bindparam("sid"), *_LIVE)
)
_ADD = Statement(
    insert(token_families).values(
        id=bindparam("id"),
        session_hash=bindparam("session_hash"),
        refresh_jti=bindparam("jti"),
        rotated_at=bindparam("now"),
        expires_at=bindparam("expires_at"),
    )
)
# The condition on the old jti makes rotation atomic: of two uses at once, one changes the row.
_ROTATE = Statement(
    update(token_families)
    .where(token_families.c.id == bindparam("sid"), token_families.c.refresh_jti == bindparam("used"))
    .values(
        refresh_jti=bindparam("fresh"),
        previous_jti=bindparam("used"),
        rotated_at=bindparam("now"),
        expires_at=bindparam("expires_at"),
    )
)
_PROLONG = Statement(
    update(sessions)
    .where(sessions.c.token_hash == bindparam("hash_"), sessions.c.expires_at < bindparam("until"))
    .values(expires_at=bindparam("until"))
)
_END = Statement(delete(sessions).where(sessions.c.token_hash == bindparam("session_hash")))


class Tokens:
    def __init__(self, settings: Settings, secret: bytes) -> None:
        self._settings = settings
        self._secret = secret
        # Verifying takes a tenth of a millisecond, and a client sends the same token for a quarter of an hour.
        self._verified: OrderedDict[str, dict[str, Any]] = OrderedDict()

    async def open(self, tx: Transaction, *, session_hash: bytes, user_id: str, email: str) -> TokenPair:
        """A new family for a session that exists."""
        sid, jti, at = uuid7(), secrets.token_urlsafe(16), now()
        await tx.run(
            _ADD,
            id=sid,
            session_hash=session_hash,
            jti=jti,
            now=at,
            expires_at=at + self._settings.refresh_ttl * 1_000_000,
        )
        return self._pair(sid, jti, at, user_id, email)

    async def refresh(self, tx: Transaction, token: str) -> tuple[TokenPair | None, str]:
        """The successors, and whose they are. None when the token was used before: then its session is ended, which
        must be committed."""
        claims = self._claims(token, "refresh")
        row = await tx.one(_FAMILY, sid=claims["sid"], now=now())
        if row is None:
            raise NotSignedIn("the refresh token is not valid any more; sign in again")
        family, sid, used, at = _Family(*row), claims["sid"], claims["jti"], now()
        if used == family.refresh_jti:
            fresh = secrets.token_urlsafe(16)
            until = at + self._settings.refresh_ttl * 1_000_000
            if await tx.run(_ROTATE, sid=sid, used=used, fresh=fresh, now=at, expires_at=until):
                await tx.run(_PROLONG, hash_=family.session_hash, until=until)
                return self._pair(sid, fresh, at, family.user_id, family.email), family.user_id
        elif used == family.previous_jti and at - family.rotated_at < self._settings.refresh_grace * 1_000_000:
            pair = self._pair(sid, family.refresh_jti, family.rotated_at, family.user_id, family.email)
            return pair, family.user_id
        await tx.run(_END, session_hash=family.session_hash)
        return None, family.user_id

    async def caller(self, reader: Reader, authorization: str) -> Caller | None:
        """Who sent this `Authorization` header; None when there is none."""
        scheme, _, token = authorization.partition(" ")
        if not authorization:
            return None
        if scheme.lower() != "bearer":
            raise NotSignedIn("send the access token as Authorization: Bearer …")
        claims = self._claims(token.strip(), "access")
        row = await reader.one(_CALLER, sid=claims["sid"], now=now())
        if row is None:
            raise NotSignedIn("the session has ended; sign in again")
        caller = Caller(*row)
        if caller.id != claims["sub"]:
            raise NotSignedIn("the token is not valid")
        return caller

    async def end(self, tx: Transaction, caller: Caller) -> None:
        await tx.run(_END, session_hash=caller.session_hash)

    def _pair(self, sid: str, jti: str, at: int, user_id: str, email: str) -> TokenPair:
        """The refresh token is the same for the same arguments, so that a repeated answer is a repeated token."""
        ttl = self._settings.access_ttl
        issued = at // 1_000_000
        base = {"sub": user_id, "email": email, "sid": sid, "iss": self._settings.jwt_issuer}
        seconds = now() // 1_000_000
        access = base | {"type": "access", "jti": secrets.token_urlsafe(16), "iat": seconds, "exp": seconds + ttl}
        refresh = base | {"type": "refresh", "jti": jti, "iat": issued, "exp": issued + self._settings.refresh_ttl}
        return TokenPair(self._sign(access), self._sign(refresh), "Bearer", int(ttl))

    def _sign(self, claims: dict[str, Any]) -> str:
        return jwt.encode(claims, self._secret, algorithm=_ALGORITHM)

    def _claims(self, token: str, kind: str) -> dict[str, Any]:
        """Verified claims of a token of this kind."""
        claims = self._verified.get(token)
        if claims is None or claims["exp"] * 1_000_000 <= now():
            claims = self._verified[token] = self._verify(token)
            if len(self._verified) > _MOST_VERIFIED:
                self._verified.popitem(last=False)
        if claims["type"] != kind or not isinstance(claims["sid"], str) or not isinstance(claims["jti"], str):
            raise NotSignedIn(f"expected a token of type {kind}")
        if not is_uuid(claims["sid"]):
            raise NotSignedIn("the token is not valid")
        return claims

    def _verify(self, token: str) -> dict[str, Any]:
        """One algorithm: `none` and public-key ones are not even looked at."""
        try:
            claims: dict[str, Any] = jwt.decode(
                token if len(token) <= _LONGEST else "",
                self._secret,
                algorithms=[_ALGORITHM],
                issuer=self._settings.jwt_issuer,
                options={"require": ["exp", "iat", "sub", "sid", "jti", "type", "iss"], "verify_aud": False},
            )
        except jwt.ExpiredSignatureError as error:
            raise NotSignedIn("the token has expired") from error
        except jwt.InvalidTokenError as error:
            raise NotSignedIn("the token is not valid") from error
        return claims
