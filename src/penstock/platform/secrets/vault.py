"""Where secrets are sealed and opened: AES-256-GCM, each value bound to its project and name.

Keys come from the setting `secrets_key`, else from the server's own secret. Every value says which key sealed it, so a
new key can be set at any time: earlier ones (`secrets_key_previous`) still open, and `penstock secrets rotate` seals
everything anew.
"""

import hashlib
import os
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from penstock.platform.secrets import queries
from penstock.settings import Settings
from penstock.storage.database import Reader
from penstock.storage.secret import derive

_NONCE = 12


class NotOpened(Exception):
    """A stored value that no key at hand opens. The message names it, never the value."""


class Vault:
    def __init__(self, settings: Settings, server_secret: bytes) -> None:
        configured = settings.secrets_key.reveal().encode()
        keys = [configured, server_secret] if configured else [server_secret]
        keys += [key.reveal().encode() for key in settings.secrets_key_previous if key]
        self._keys: dict[str, AESGCM] = {}
        for secret in keys:
            key = derive(secret, "penstock.secrets")
            self._keys.setdefault(hashlib.sha256(b"id" + key).hexdigest()[:16], AESGCM(key))
        self.key_id = next(iter(self._keys))
        """Of the key that seals; the others only open."""

    def has(self, key_id: str) -> bool:
        """Whether values that this key sealed can be opened."""
        return key_id in self._keys

    def seal(self, project_id: str, name: str, value: str) -> bytes:
        nonce = os.urandom(_NONCE)
        return nonce + self._keys[self.key_id].encrypt(nonce, value.encode(), _bound_to(project_id, name))

    def unseal(self, project_id: str, name: str, key_id: str, sealed: bytes) -> str:
        key = self._keys.get(key_id)
        if key is None:
            raise NotOpened(
                f"the secret {name} of project {project_id} was sealed with another key; add that key to "
                "secrets_key_previous, or set the secret again"
            )
        try:
            return key.decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound_to(project_id, name)).decode()
        except (InvalidTag, ValueError):
            # A value copied here from another project or name ends up here too.
            raise NotOpened(f"the secret {name} of project {project_id} was tampered with; set it again") from None

    async def open(self, reader: Reader, project_id: str, names: Iterable[str]) -> dict[str, str]:
        """The values of these secrets, for the engine; what does not exist is not in it."""
        wanted = set(names)
        rows = await reader.all(queries.OPEN, project_id=project_id, wanted=f"|{'|'.join(sorted(wanted))}|")
        return {
            name: self.unseal(project_id, name, key_id, bytes(value)) for name, key_id, value in rows if name in wanted
        }


def _bound_to(project_id: str, name: str) -> bytes:
    return f"{project_id}\0{name}".encode()
