"""What a sign-in must remember between leaving for the provider and coming back, and the cookie that carries it.

The cookie is encrypted as well as authenticated: who reads it (a proxy's log, a shared computer) must not learn the
PKCE verifier. Setting, clearing and scoping the cookie is left to the routes.
"""

import base64
import binascii
import os
import time
from collections.abc import Callable

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from penstock.accounts.oauth.errors import Refused

LIFETIME = 600
LARGEST_COOKIE = 3800  # browsers keep 4,096 bytes with name and attributes
SMALLEST_KEY = 16

_PURPOSE = b"penstock oauth pending v1"
_NONCE_BYTES = 12
_START_AGAIN = "this sign-in is no longer valid; please start again"


class Pending(msgspec.Struct, frozen=True):
    """One sign-in under way. `expires` is in unix seconds."""

    provider: str
    state: str
    verifier: str
    nonce: str
    next: str
    expires: int
    redirect_uri: str
    links_to: int = 0
    """The account that asked for this sign-in in order to be linked; 0 when nobody was signed in."""


def seal(pending: Pending, key: bytes) -> str:
    """The value of the cookie. `key` is the server's secret of 16 bytes or more; a key of its own is derived."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + _cipher(key).encrypt(nonce, msgspec.json.encode(pending), _PURPOSE)
    cookie = base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()
    if len(cookie) > LARGEST_COOKIE:
        raise Refused("the address to return to is too long")
    return cookie


def unseal(cookie: str, key: bytes, *, clock: Callable[[], float] = time.time) -> Pending:
    """What `seal` wrote, unless it was touched, made with another key, or is over."""
    if not cookie or len(cookie) > LARGEST_COOKIE or not cookie.isascii():
        raise Refused(_START_AGAIN)
    try:
        sealed = base64.b64decode(cookie + "=" * (-len(cookie) % 4), altchars=b"-_", validate=True)
        text = _cipher(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], _PURPOSE)
        pending = msgspec.json.decode(text, type=Pending)
    except (binascii.Error, InvalidTag, ValueError) as error:
        raise Refused(_START_AGAIN) from error
    require_unexpired(pending, clock())
    return pending


def require_unexpired(pending: Pending, now: float) -> None:
    if not now < pending.expires <= now + LIFETIME:
        raise Refused(_START_AGAIN)


def _cipher(key: bytes) -> AESGCM:
    if len(key) < SMALLEST_KEY:
        raise ValueError(f"a key of {SMALLEST_KEY} bytes or more is needed to seal a sign-in")
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=_PURPOSE).derive(key))
