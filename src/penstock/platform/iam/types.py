"""Which types of provider there are, and what stands behind each: ours, or a deployment's own by import path."""

import importlib
import inspect
import re
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from penstock.egress import Egress
from penstock.platform.iam.config import TYPES
from penstock.platform.iam.person import Person
from penstock.platform.iam.probe import Outcome
from penstock.settings import SettingsError

_PROBES = "penstock.platform.iam.probe"
_OURS = {
    "oidc": f"{_PROBES}.oidc:Oidc",
    "saml": f"{_PROBES}.saml:Saml",
    "ldap": f"{_PROBES}.ldap:Ldap",
    "kubernetes": f"{_PROBES}.kubernetes:Kubernetes",
    "aws_iam": f"{_PROBES}.aws_iam:AwsIam",
}


class ProviderType(Protocol):
    """What a deployment's own class offers. It is made once, without arguments; `config` comes with its secrets."""

    async def test(self, config: dict[str, Any], egress: Egress) -> Outcome:
        """A real attempt. Connect through `egress` only; an exception counts as a failure without details."""


@runtime_checkable
class TakesPasswords(Protocol):
    """A type whose people sign in with a name and a password, at POST /auth/iam/{provider_id}."""

    async def authenticate(self, config: dict[str, Any], egress: Egress, username: str, password: str) -> Person | None:
        """Who that is; None when name or password is wrong. Raise ProbeFailed when the provider cannot be asked."""


class Types:
    """Our own types are loaded when they are first used: LDAP alone takes longer to import than the rest of us."""

    def __init__(self, loaded: Mapping[str, Any]) -> None:
        self._loaded = dict(loaded)
        self.names = tuple(dict.fromkeys((*TYPES, *loaded)))

    def find(self, name: str) -> Any | None:
        if name not in self._loaded and name in _OURS:
            self._loaded[name] = _imported(name, _OURS[name])()
        return self._loaded.get(name)


def load(paths: Mapping[str, str]) -> Types:
    """The types of the setting `iam_types`, imported at start, so that a mistake is seen then."""
    made = {}
    for name, path in paths.items():
        if name in _OURS or not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", name):
            raise SettingsError(f"iam_types.{name}: expected custom, or a new name of lower-case letters")
        kind = _imported(name, path)
        if not inspect.iscoroutinefunction(getattr(kind, "test", None)):
            raise SettingsError(f"iam_types.{name}: {path!r} has no `async def test(self, config, egress)`")
        made[name] = kind()
    return Types(made)


def _imported(name: str, path: str) -> Any:
    module, separator, kind = path.partition(":")
    if not separator:
        raise SettingsError(f"iam_types.{name}: expected module:Class, got {path!r}")
    try:
        return getattr(importlib.import_module(module), kind)
    except (ImportError, AttributeError, ValueError) as error:
        raise SettingsError(f"iam_types.{name}: cannot import {path!r}: {error}") from error
