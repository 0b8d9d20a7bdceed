"""Data with secrets in it: shown masked, stored sealed, so that a walk after a restart has what it needs."""

import base64
from typing import Any, Protocol

import msgspec

from penstock.engine.host import Json
from penstock.engine.tasks.secrets import Secrets


class Seal(Protocol):
    """The platform's vault. A value is bound to its project and name."""

    def seal(self, project_id: str, name: str, value: str) -> bytes: ...

    def unseal(self, project_id: str, name: str, key_id: str, sealed: bytes) -> str: ...

    @property
    def key_id(self) -> str: ...


class Sealed:
    def __init__(self, seal: Seal, project_id: str, secrets: Secrets) -> None:
        self._seal = seal
        self._project_id = project_id
        self._name = "data of an execution"  # of any: one that is run again takes over what another has done
        self._secrets = secrets

    def sealed(self, output: Any, state: Json) -> str | None:
        """Sealed, when masking changes something; None when there is nothing to hide."""
        if self._secrets.mask(output) is output and self._secrets.mask(state) is state:
            return None
        text = msgspec.json.encode({"output": output, "state": state}).decode()
        sealed = self._seal.seal(self._project_id, self._name, text)
        return f"{self._seal.key_id}:{base64.b64encode(sealed).decode()}"

    def opened(self, text: str) -> Json:
        key_id, _, sealed = text.partition(":")
        opened = self._seal.unseal(self._project_id, self._name, key_id, base64.b64decode(sealed))
        data: Json = msgspec.json.decode(opened)
        return data
