"""How a setting's value is shown to people and programs: secrets masked, everything else as it would be written."""

import json
import re
from typing import Any

import msgspec

from penstock.settings import Duration, Secret, TrustedProxies

MASK = "********"
_ADDRESSES = {"database", "redis_url"}
_IN_QUERY = re.compile(r"([?&][a-z_]*(?:password|passwd|secret|token)[a-z_]*=)[^&#]*", re.IGNORECASE)


def value_of(name: str, value: Any) -> Any:
    """A setting as JSON could hold it, without its secrets."""
    if isinstance(value, Secret):
        if name in _ADDRESSES:
            return address(value.reveal())
        return MASK if value else ""
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, TrustedProxies):
        return [str(network) for network in value]
    if isinstance(value, msgspec.Struct):
        return {field: value_of(field, member) for field, member in _members(value)}
    if isinstance(value, dict):
        return {key: value_of(key, member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [value_of(name, member) for member in value]
    return value if isinstance(value, bool | int | str | None) else str(value)


def _members(value: msgspec.Struct) -> list[tuple[str, Any]]:
    """Only what was set: a provider has a dozen members, and most are left alone."""
    return [
        (field.name, member)
        for field in msgspec.structs.fields(value)
        if (member := getattr(value, field.name)) != field.default and member is not msgspec.UNSET
    ]


def address(url: str) -> str:
    """An address of a database or Redis with its user and host, but without its password.

    The password ends at the last @, wherever that is: one that was not percent-encoded may itself contain `/` or `@`.
    """
    scheme, separator, rest = url.partition("://")
    credentials, at, place = rest.rpartition("@")
    if at:
        user, colon, _ = credentials.partition(":")
        credentials = f"{user}:{MASK}" if colon else user
    return scheme + separator + credentials + at + _IN_QUERY.sub(rf"\g<1>{MASK}", place)


def toml(value: Any) -> str:
    """A value of `value_of` as `penstock.toml` would say it."""
    if isinstance(value, dict):
        members = ", ".join(f"{_key(key)} = {toml(member)}" for key, member in value.items())
        return f"{{ {members} }}" if members else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
