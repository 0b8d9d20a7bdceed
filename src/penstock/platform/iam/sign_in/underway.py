"""A sign-in between leaving for the provider and coming back, sealed in a cookie of the browser that set out."""

import time

import msgspec
from sqlalchemy import bindparam, select

from penstock.accounts import sessions
from penstock.accounts.oauth import Pending
from penstock.platform.iam.sealing import seal, unseal
from penstock.problems import Invalid
from penstock.storage import now
from penstock.storage.database import Reader
from penstock.storage.schema import accounts as accounts_table
from penstock.storage.schema import sessions as sessions_table
from penstock.storage.statement import Statement

LIFETIME = 600
_LONGEST = 3800  # browsers keep 4,096 bytes with name and attributes
_PURPOSE = "iam sign-in under way"
_HOLDER = Statement(
    select(accounts_table.c.userid)
    .join(sessions_table, sessions_table.c.userid == accounts_table.c.userid)
    .where(
        sessions_table.c.token_hash == bindparam("token_hash"),
        sessions_table.c.expires_at > bindparam("now"),
        accounts_table.c.active.is_(True),
    )
)


class Underway(msgspec.Struct, frozen=True, kw_only=True):
    provider_id: str
    expires: int
    next: str = ""
    """Where to go afterwards; "" answers with tokens."""
    pending: Pending | None = None
    """OpenID Connect: what must come back."""
    request_id: str = ""
    """SAML: the request whose answer this browser waits for."""
    links_to: int = 0
    """The account that asked to be linked; 0 for a sign-in."""
    session: bytes = b""
    """The hash of the session with which it asked."""
    by_token: bool = False
    """It asked with an access token, which the browser does not bring to the callback."""


def cookie_name(*, secure: bool) -> str:
    """`__Host-`: no other host of the site's domain can plant one, and with it finish here what it began itself."""
    return "__Host-iam_login" if secure else "iam_login"


def set_cookie(value: str, seconds: int, *, secure: bool) -> str:
    ending = "; Secure" if secure else ""
    return f"{cookie_name(secure=secure)}={value}; Max-Age={seconds}; Path=/; HttpOnly; SameSite=Lax{ending}"


def sealed(key: bytes, underway: Underway) -> str:
    value = seal(key, _PURPOSE, underway)
    if len(value) > _LONGEST:
        raise Invalid("the address to return to is too long")
    return value


def opened(key: bytes, cookie: str, provider_id: str) -> Underway:
    """What this browser set out with, if it was to this provider and not too long ago."""
    text = unseal(key, _PURPOSE, cookie) if 0 < len(cookie) <= _LONGEST else None
    underway = msgspec.json.decode(text, type=Underway) if text is not None else None
    if underway is None or underway.provider_id != provider_id or not time.time() < underway.expires:
        raise Invalid("this sign-in was not begun in this browser, or took too long; please start again")
    return underway


async def holder(reader: Reader, underway: Underway, cookie: str) -> int:
    """Whose account is to be linked, if they are still signed in as when they asked; else 0.

    Who asked with a cookie must come back with it: else somebody who brings another person's browser to our callback
    would have that person's identity linked to an account of their own, and with it their roles.
    """
    if not underway.by_token and (not cookie or sessions.hash_token(cookie) != underway.session):
        return 0
    row = await reader.one(_HOLDER, token_hash=underway.session, now=now())
    return underway.links_to if row is not None and row[0] == underway.links_to else 0
