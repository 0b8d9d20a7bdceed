"""Reading an authentication policy: its one scheme, and that scheme's members, which may stand in a secret."""

from collections.abc import Mapping
from typing import Any, Literal, get_args

import msgspec
from yarl import URL

from penstock.engine.faults import Fault, configuration
from penstock.engine.tasks.secrets import Secrets

Scheme = Literal["basic", "bearer", "certificate", "digest", "oauth2", "oidc"]
_SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
# What a secret that is a plain text means; the other schemes need more than one thing.
_PLAIN: Mapping[Scheme, str] = {"bearer": "token", "certificate": "certificate"}


class Policy(msgspec.Struct, frozen=True):
    scheme: Scheme
    members: Mapping[str, Any]

    def text(self, *path: str) -> str | None:
        """A member that is a text, or None; a number that somebody typed without quotes is one."""
        value = self.member(*path)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self.fault(f"`{'.'.join(path)}` must be a text")
        return str(value)

    def needed(self, *path: str) -> str:
        value = self.text(*path)
        if not value:
            raise self.fault(f"it lacks `{'.'.join(path)}`")
        return value

    def texts(self, *path: str) -> list[str]:
        value = self.member(*path)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise self.fault(f"`{'.'.join(path)}` must be a list of texts")
        return value

    def member(self, *path: str) -> Any:
        value: Any = self.members
        for name in path:
            if value is None:
                return None
            if not isinstance(value, Mapping):
                raise self.fault(f"`{'.'.join(path[:-1])}` must be an object")
            value = value.get(name)
        return value

    def address(self, text: str) -> URL:
        try:
            url = URL(text)
        except ValueError:
            url = URL()
        if url.scheme not in ("http", "https") or not url.host:
            raise self.fault("its `authority` leads to no address that begins with https:// or http://")
        return url

    def fault(self, what: str) -> Fault:
        return configuration("Authentication not usable", f"the {self.scheme} authentication cannot be used: {what}")


def read(policy: Mapping[str, Any], secrets: Secrets) -> Policy:
    schemes = [scheme for scheme in _SCHEMES if policy.get(scheme) is not None]
    if len(schemes) != 1:
        raise configuration("Authentication not usable", f"an authentication has exactly one of {', '.join(_SCHEMES)}")
    scheme = schemes[0]
    members = policy[scheme]
    if isinstance(members, Mapping) and (name := members.get("use")) is not None:
        members = _of_secret(scheme, secrets.get(str(name)))
    if not isinstance(members, Mapping):
        raise configuration(
            "Authentication not usable",
            f"the {scheme} authentication must be an object; of a secret, a JSON object with its members",
        )
    return Policy(scheme, members)


def _of_secret(scheme: Scheme, value: Any) -> Any:
    if isinstance(value, str) and (member := _PLAIN.get(scheme)) is not None:
        return {member: value}
    return value
