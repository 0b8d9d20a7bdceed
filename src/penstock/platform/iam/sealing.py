"""A provider's configuration at rest, in the vault as a whole, since a custom type may keep a secret anywhere in it;
and what a sign-in under way hands to the browser to bring back."""

import base64
import binascii
import os
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.platform.secrets.vault import NotOpened, Vault
from penstock.problems import Conflict

_NONCE_BYTES = 12
_CONFIG = "iam config"


def seal(key: bytes, purpose: str, value: Any) -> str:
    """`purpose` is part of the lock: what was sealed for one opens for no other."""
    nonce = os.urandom(_NONCE_BYTES)
    sealed = nonce + AESGCM(key).encrypt(nonce, msgspec.json.encode(value), purpose.encode())
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def unseal(key: bytes, purpose: str, text: str) -> bytes | None:
    """What was sealed, as JSON; None when it was touched, or sealed with another key or for another purpose."""
    try:
        sealed = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
        return AESGCM(key).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], purpose.encode())
    except (binascii.Error, InvalidTag, ValueError):
        return None


def seal_config(vault: Vault, provider_id: str, config: dict[str, Any]) -> str:
    """As stored: which key sealed it, and the sealed text."""
    sealed = vault.seal(provider_id, _CONFIG, msgspec.json.encode(config).decode())
    return f"{vault.key_id}:{base64.b64encode(sealed).decode()}"


def resealed(vault: Vault, provider_id: str, text: str) -> str | None:
    """The same config under the present key; None when that is what sealed it. Raises NotOpened."""
    key_id, _, sealed = text.partition(":")
    if key_id == vault.key_id:
        return None
    opened = vault.unseal(provider_id, _CONFIG, key_id, base64.b64decode(sealed))
    return f"{vault.key_id}:{base64.b64encode(vault.seal(provider_id, _CONFIG, opened)).decode()}"


def open_config(vault: Vault, provider_id: str, text: str) -> dict[str, Any]:
    key_id, _, sealed = text.partition(":")
    try:
        opened = vault.unseal(provider_id, _CONFIG, key_id, base64.b64decode(sealed))
    except (NotOpened, binascii.Error, ValueError) as error:
        raise Conflict("the provider's config was sealed with another key (secrets_key); send it anew") from error
    return msgspec.json.decode(opened, type=dict[str, Any])
