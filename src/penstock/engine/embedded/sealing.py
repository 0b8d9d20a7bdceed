"""Data with secrets in it: shown masked, stored sealed, so that a walk after a restart has what it needs.

What is sealed says which texts are to be hidden, so that whoever opens it hides them as well: another workflow that
was given a secret, or a later life of the same one.
"""

import base64
from collections.abc import Iterable
from typing import Any, Protocol

import msgspec
from sqlalchemy import bindparam, select, update

from penstock.engine.host import Json
from penstock.engine.tasks.secrets import Secrets
from penstock.storage import Statement
from penstock.storage.platform_tables import executions

_MARK = "sealed:"
_of_one = executions.c.id == bindparam("id_")
SEAL_INPUT = Statement(update(executions).where(_of_one).values(sealed_input=bindparam("sealed")))
SEAL_OUTPUT = Statement(update(executions).where(_of_one).values(sealed_output=bindparam("sealed")))
SEALED = Statement(select(executions.c.sealed_input, executions.c.sealed_output).where(_of_one))


class Seal(Protocol):
    """The platform's vault. A value is bound to its project and name."""

    def seal(self, project_id: str, name: str, value: str) -> bytes: ...

    def unseal(self, project_id: str, name: str, key_id: str, sealed: bytes) -> str: ...

    @property
    def key_id(self) -> str: ...


class Sealed:
    """What one execution, or one trigger, stores and reads."""

    def __init__(self, seal: Seal, project_id: str, secrets: Secrets) -> None:
        self.secrets = secrets
        self._seal = seal
        self._project_id = project_id
        self._name = "data of an execution"  # of any: one that is run again takes over what another has done

    def sealed(self, data: Any) -> str | None:
        """None when there is nothing in it to hide."""
        if self.secrets.mask(data) is data:
            return None
        text = msgspec.json.encode(data).decode()
        text = msgspec.json.encode({"data": data, "hidden": self.secrets.found_in(text)}).decode()
        sealed = self._seal.seal(self._project_id, self._name, text)
        return f"{self._seal.key_id}:{base64.b64encode(sealed).decode()}"

    def opened(self, text: str) -> Any:
        key_id, _, sealed = text.partition(":")
        opened: Json = msgspec.json.decode(
            self._seal.unseal(self._project_id, self._name, key_id, base64.b64decode(sealed))
        )
        self.secrets.learn(*opened["hidden"])
        return opened["data"]

    def stored(self, data: Any) -> str:
        """As JSON, when nothing is to be hidden."""
        sealed = self.sealed(data)
        return msgspec.json.encode(data).decode() if sealed is None else _MARK + sealed

    def read(self, text: str) -> Any:
        """What was `stored`."""
        return self.opened(text.removeprefix(_MARK)) if text.startswith(_MARK) else msgspec.json.decode(text)

    def learn(self, hidden: Iterable[str]) -> None:
        self.secrets.learn(*hidden)
