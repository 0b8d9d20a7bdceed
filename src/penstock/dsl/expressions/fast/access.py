"""Getting at parts of values: members, items, slices, all of them."""

import math
from collections.abc import Iterable
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast.numbers import exact, is_number
from penstock.dsl.expressions.fast.scope import Fails, Scope


def member(value: Any, key: str) -> Any:
    if type(value) is dict:
        return value.get(key)
    if value is None:
        return None
    raise Fails


def item(value: Any, key: Any) -> Any:
    if type(key) is str:
        return member(value, key)
    if not is_number(key):
        raise NeedsJq
    if type(value) is list:
        at = int(exact(key))
        at = at + len(value) if at < 0 else at
        return value[at] if 0 <= at < len(value) else None
    if value is None:
        return None
    raise Fails


def part(value: Any, start: Any, end: Any, scope: Scope) -> Any:
    """jq rounds the start of a slice down and its end up."""
    if value is None:
        return None
    if type(value) is not list and type(value) is not str:
        raise Fails
    first = _bound(start, len(value), 0)
    last = math.ceil(_bound(end, len(value), len(value)))
    piece = value[int(first) : max(last, int(first))]
    scope.spend(1 + (len(piece) >> 5))
    return piece


def _bound(index: Any, length: int, default: int) -> int | float:
    if index is None:
        return default
    if not is_number(index):
        raise Fails
    at = exact(index)
    return min(max(at + length if at < 0 else at, 0), length)


def each(value: Any, scope: Scope) -> Iterable[Any]:
    if type(value) is list:
        scope.spend(len(value))
        return value
    if type(value) is dict:
        scope.spend(len(value))
        return list(value.values())
    raise Fails


def has(value: Any, key: Any) -> bool:
    if value is None:
        return False
    if type(value) is dict and type(key) is str:
        return key in value
    if type(value) is list and is_number(key):
        return 0 <= int(exact(key)) < len(value)
    raise Fails
