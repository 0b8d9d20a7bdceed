"""How a parameter's value is written, by its `style` and `explode` (OpenAPI 3, RFC 6570) or Swagger's collectionFormat.

Everything is given back percent-encoded where it will stand in an address.
"""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.engine.tasks.content import plain

Pairs = list[tuple[str, str]]
_SEPARATORS = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|"}
_DELIMITED = {"spaceDelimited": " ", "pipeDelimited": "|", "form": ","}
_EXPLODED_BY_DEFAULT = frozenset({"form", "deepObject"})


class Style(msgspec.Struct, frozen=True):
    name: str
    explode: bool


def style_of(parameter: Mapping[str, Any], default: str) -> Style:
    if (collection := parameter.get("collectionFormat")) is not None:
        return Style("form" if collection == "multi" else str(collection), collection == "multi")
    name = str(parameter.get("style") or default)
    return Style(name, bool(parameter.get("explode", name in _EXPLODED_BY_DEFAULT)))


def in_path(name: str, value: Any, style: Style) -> str:
    match style.name:
        case "label":
            return "." + _joined(value, "." if style.explode else ",", style.explode, _quoted)
        case "matrix" if style.explode and isinstance(value, list):
            return "".join(f";{name}={_quoted(item)}" for item in value)
        case "matrix" if style.explode and isinstance(value, Mapping):
            return "".join(f";{key}={_quoted(item)}" for key, item in value.items())
        case "matrix":
            return f";{name}={_joined(value, ',', False, _quoted)}"
        case _:
            return _joined(value, _SEPARATORS.get(style.name, ","), style.explode, _quoted)


def in_header(value: Any, style: Style) -> str:
    return _joined(value, _SEPARATORS.get(style.name, ","), style.explode, plain)


def in_query(name: str, value: Any, style: Style) -> Pairs:
    """Names and values as they are: whoever makes the query of them encodes them."""
    if style.name == "deepObject" and isinstance(value, Mapping):
        return _deep(name, value)
    if style.explode and isinstance(value, list):
        return [(name, plain(item)) for item in value]
    if style.explode and isinstance(value, Mapping):
        return [(str(key), plain(item)) for key, item in value.items() if item is not None]
    separator = _DELIMITED.get(style.name) or _SEPARATORS.get(style.name, ",")
    return [(name, _joined(value, separator, False, plain))]


def _deep(name: str, value: Mapping[str, Any]) -> Pairs:
    pairs: Pairs = []
    for key, item in value.items():
        inner = f"{name}[{key}]"
        if isinstance(item, Mapping):
            pairs += _deep(inner, item)
        else:
            pairs += [(inner, plain(each)) for each in (item if isinstance(item, list) else [item])]
    return pairs


def _joined(value: Any, separator: str, explode: bool, write: Callable[[Any], str]) -> str:
    if isinstance(value, list):
        return separator.join(write(item) for item in value)
    if isinstance(value, Mapping):
        if explode:
            return separator.join(f"{write(key)}={write(item)}" for key, item in value.items())
        return separator.join(write(part) for pair in value.items() for part in pair)
    return write(value)


def _quoted(value: Any) -> str:
    return quote(plain(value), safe="")
