"""jq's order of all values: null, false, true, numbers, strings, arrays, objects."""

from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast.numbers import exact, is_number
from penstock.dsl.expressions.fast.scope import Scope

_NAMES = {bool: "boolean", int: "number", float: "number", str: "string", list: "array", dict: "object"}


def type_name(value: Any) -> str:
    if value is None:
        return "null"
    name = _NAMES.get(type(value))
    if name is None:
        raise NeedsJq
    return name


def is_true(value: Any) -> bool:
    return value is not None and value is not False


def rank(value: Any, scope: Scope) -> tuple[Any, ...]:
    """Ranks compare as jq compares the values."""
    scope.spend(2)
    if value is None:
        return (0,)
    kind = type(value)
    if kind is bool:
        return (2,) if value else (1,)
    if kind is int or kind is float:
        return (3, exact(value))
    if kind is str:
        scope.spend(len(value) >> 8)
        return (4, value)
    if kind is list:
        return (5, [rank(item, scope) for item in value])
    if kind is dict:
        scope.spend(2 * len(value))
        keys = sorted(value)
        return (6, keys, [rank(value[key], scope) for key in keys])
    raise NeedsJq


def equal(left: Any, right: Any, scope: Scope) -> bool:
    if type(left) is str and type(right) is str:
        scope.spend(len(left) >> 8)
        return left == right
    if left is None or right is None:
        return left is right
    if is_number(left) and is_number(right):
        return exact(left) == exact(right)
    return rank(left, scope) == rank(right, scope)


def less(left: Any, right: Any, scope: Scope) -> bool:
    if is_number(left) and is_number(right):
        return exact(left) < exact(right)
    return rank(left, scope) < rank(right, scope)
