"""Values as text, as jq writes them."""

from collections.abc import Iterator
from json.encoder import encode_basestring
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast.numbers import written
from penstock.dsl.expressions.fast.scope import Scope


def to_string(value: Any, scope: Scope) -> str:
    if type(value) is not str:
        return to_json(value, scope)
    scope.spend_on_text(len(value))
    return value


def to_json(value: Any, scope: Scope) -> str:
    text = "".join(_pieces(value, scope))
    scope.spend_on_text(len(text))
    return text


def _pieces(value: Any, scope: Scope) -> Iterator[str]:
    scope.spend(1)
    kind = type(value)
    if kind is str:
        yield _quoted(value, scope)
    elif kind is int or kind is float:
        yield written(value)
    elif kind is dict:
        yield "{"
        for number, (key, item) in enumerate(value.items()):
            yield f"{',' if number else ''}{_quoted(key, scope)}:"
            yield from _pieces(item, scope)
        yield "}"
    elif kind is list:
        yield "["
        for number, item in enumerate(value):
            if number:
                yield ","
            yield from _pieces(item, scope)
        yield "]"
    else:
        yield _word(value)


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    raise NeedsJq


def _quoted(text: str, scope: Scope) -> str:
    scope.spend_on_text(len(text))
    return encode_basestring(text).replace("\x7f", "\\u007f")
