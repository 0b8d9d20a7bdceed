"""A value as it was written, made into what its setting's type asks for; else an error that names the very member."""

import re
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from penstock.settings.values import Duration, Secret, SettingsError, TrustedProxies

PREFIX = "PENSTOCK_"


def fit(path: str, value: Any, kind: Any, source: str) -> Any:
    """The value as its type; tables member by member, so that an error names the very member."""
    base = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    if get_origin(base) is dict and isinstance(value, dict):
        key_kind, member_kind = get_args(base)
        if key_kind is not str:
            _refuse_unknown(path, value, get_args(key_kind), source)
        return {key: fit(f"{path}.{key}", member, member_kind, source) for key, member in value.items()}
    if get_origin(base) is list and isinstance(value, list):
        (member_kind,) = get_args(base)
        return [fit(f"{path}[{index}]", member, member_kind, source) for index, member in enumerate(value)]
    if isinstance(base, type) and issubclass(base, Struct) and isinstance(value, dict):
        return _fit_members(path, value, base, source)
    try:
        return msgspec.convert(value, kind, strict=False, dec_hook=_decode)
    except (msgspec.ValidationError, ValueError):
        # Not `from`: the cause would show the value, which may be secret.
        raise SettingsError(
            f"{path}: expected {_expected(kind)}, got {_got(value, base)} ({_where(path, source)})"
        ) from None


def _fit_members(path: str, table: dict[str, Any], kind: type[Struct], source: str) -> Struct:
    fields = {field.name: field for field in msgspec.structs.fields(kind)}
    _refuse_unknown(path, table, tuple(fields), source)
    for name, field in fields.items():
        if field.required and name not in table:
            raise SettingsError(f"{path}.{name}: missing, and it has no default ({_where(path, source)})")
    return kind(**{name: fit(f"{path}.{name}", value, fields[name].type, source) for name, value in table.items()})


def _refuse_unknown(path: str, table: dict[str, Any], known: tuple[str, ...], source: str) -> None:
    for name in table:
        if name not in known:
            raise SettingsError(
                f"{path}.{name}: no such member ({_where(path, source)}); expected one of {', '.join(known)}"
            )


def _expected(kind: Any) -> str:
    base, *metas = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    bounds = next((meta for meta in metas if isinstance(meta, Meta)), Meta())
    if get_origin(base) is Literal:
        return "one of " + ", ".join(map(str, get_args(base)))
    if base is int:
        return f"an integer between {bounds.ge} and {bounds.le}" if bounds.le else f"an integer of {bounds.ge} or more"
    if get_origin(base) in {UnionType, Union}:
        return _expected(get_args(base)[0])
    if get_origin(base) is list:
        return "a list"
    return _WORDS.get(base, "a table")


_WORDS = {
    bool: "true or false",
    str: "text",
    Secret: "text",
    Path: "the path of a file",
    Duration: "a duration such as 45s, 15m, 24h or 7d (100 years at most)",
    TrustedProxies: "networks such as 10.0.0.0/8 or ::1",
}


def _got(value: Any, base: Any) -> str:
    """What stood there, unless it is a secret or might hold one."""
    if base is Secret or _expected(base) == "a table" or isinstance(value, dict):
        return {"dict": "a table", "list": "a list", "str": "text"}.get(type(value).__name__, type(value).__name__)
    return repr(value)[:100]


def _where(path: str, source: str) -> str:
    name = re.split(r"[.\[]", path)[0]
    return f"{source} {PREFIX}{name.upper()}" if source == "environment" else source


def _decode(kind: type, value: Any) -> Any:
    if kind is Secret and isinstance(value, str):
        return Secret(value)
    if kind is Duration and isinstance(value, str | int) and not isinstance(value, bool):
        return Duration.parse(str(value))
    if kind is TrustedProxies and isinstance(value, list):
        return TrustedProxies.parse(value)
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError("not of this type")
