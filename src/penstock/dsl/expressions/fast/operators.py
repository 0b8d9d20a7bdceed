"""What jq's operators do to two values."""

import math
from collections.abc import Callable
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast.numbers import EXACT, computed, exact, is_number
from penstock.dsl.expressions.fast.order import equal, less
from penstock.dsl.expressions.fast.scope import Fails, Scope

_SMALL = EXACT // 2
Operator = Callable[[Any, Any, Scope], Any]


def add(left: Any, right: Any, scope: Scope) -> Any:
    if type(left) is int and type(right) is int and -_SMALL < left < _SMALL and -_SMALL < right < _SMALL:
        return left + right
    if left is None:
        return right
    if right is None:
        return left
    if is_number(left) and is_number(right):
        return computed(exact(left) + exact(right))
    if type(left) is str and type(right) is str:
        scope.spend_on_text(len(left) + len(right))
        return left + right
    if type(left) is list and type(right) is list:
        scope.spend((len(left) + len(right)) >> 4)
        return left + right
    if type(left) is dict and type(right) is dict:
        scope.spend((len(left) + len(right)) >> 3)
        return {**left, **right}
    raise Fails


def subtract(left: Any, right: Any, scope: Scope) -> Any:
    if is_number(left) and is_number(right):
        return computed(exact(left) - exact(right))
    if type(left) is list and type(right) is list:
        scope.spend(len(left) * len(right))
        return [item for item in left if not any(equal(item, other, scope) for other in right)]
    raise Fails


def multiply(left: Any, right: Any, scope: Scope) -> Any:
    if is_number(left) and is_number(right):
        product = exact(left) * exact(right)
        if product == 0 and (left < 0 or right < 0):  # Minus zero, which an integer does not show.
            raise NeedsJq
        return computed(product)
    if type(left) is dict and type(right) is dict:
        return _merge(left, right, scope)
    if type(left) is str or type(right) is str:  # Repetition: the result can be any size.
        raise NeedsJq
    raise Fails


def _merge(left: dict[str, Any], right: dict[str, Any], scope: Scope) -> dict[str, Any]:
    scope.spend(len(left) + len(right))
    merged = dict(left)
    for key, value in right.items():
        old = merged.get(key)
        merged[key] = _merge(old, value, scope) if type(old) is dict and type(value) is dict else value
    return merged


def divide(left: Any, right: Any, scope: Scope) -> Any:
    if is_number(left) and is_number(right):
        if right == 0:
            raise Fails
        return computed(exact(left) / exact(right))
    if type(left) is str and type(right) is str:
        return split(left, right, scope)
    raise Fails


def split(text: str, separator: str, scope: Scope) -> list[str]:
    scope.spend_on_text(len(text))
    parts = text.split(separator) if separator else list(text)
    scope.spend(len(parts))
    return parts if text else []


def remainder(left: Any, right: Any, scope: Scope) -> Any:
    if not (is_number(left) and is_number(right)):
        raise Fails
    divisor = int(exact(right))
    if divisor == 0:
        raise Fails
    return int(math.fmod(int(exact(left)), divisor))


OPERATORS: dict[str, Operator] = {
    "+": add,
    "-": subtract,
    "*": multiply,
    "/": divide,
    "%": remainder,
    "==": equal,
    "!=": lambda left, right, scope: not equal(left, right, scope),
    "<": less,
    ">": lambda left, right, scope: less(right, left, scope),
    "<=": lambda left, right, scope: not less(right, left, scope),
    ">=": lambda left, right, scope: not less(left, right, scope),
}
# Those that give a truth value, and nothing of their operands.
TESTS = frozenset({"==", "!=", "<", ">", "<=", ">="})


def negate(value: Any) -> Any:
    if not is_number(value):
        raise Fails
    if value == 0:  # Of a written zero jq makes zero, of a computed one minus zero.
        raise NeedsJq
    return -exact(value)
