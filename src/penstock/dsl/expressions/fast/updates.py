"""Assignments to fixed paths, and `del` of them. Nothing is changed in place: what is on the path is copied."""

from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast.access import item
from penstock.dsl.expressions.fast.code import Code
from penstock.dsl.expressions.fast.operators import OPERATORS
from penstock.dsl.expressions.fast.order import is_true
from penstock.dsl.expressions.fast.paths import along
from penstock.dsl.expressions.fast.scope import Fails, Scope, Unsupported

UPDATES = frozenset({"=", "|=", "+=", "-=", "*=", "/=", "%=", "//="})
_FAR = 64
Path = tuple[str | int, ...]


def updated(operator: str, target: Code, value: Code) -> Code:
    if target.path is None or value.one is None:
        raise Unsupported
    return _modified(target, target.path, value) if operator == "|=" else _assigned(operator, target, value)


def _assigned(operator: str, target: Code, value: Code) -> Code:
    """The value is asked of `.`, not of what it replaces."""
    path, one_value = target.path, value.one
    assert path is not None  # noqa: S101
    assert one_value is not None  # noqa: S101
    get = along(path)

    def one(dot: Any, scope: Scope) -> Any:
        new, old = one_value(dot, scope), get(dot, scope)
        if operator == "//=":
            new = old if is_true(old) else new
        elif operator != "=":
            new = OPERATORS[operator[0]](old, new, scope)
        return _set(dot, path, new, scope)

    return Code(target, value, one=one, growth=target.growth + value.growth)


def _modified(target: Code, path: Path, value: Code) -> Code:
    get, one_value = along(path), value.one
    assert one_value is not None  # noqa: S101

    def one(dot: Any, scope: Scope) -> Any:
        return _set(dot, path, one_value(get(dot, scope), scope), scope)

    return Code(target, value, one=one, growth=target.growth + target.growth.then(value.growth, many=False))


def deleted(targets: list[Code]) -> Code:
    """Several at once only by name: numbers of items move as others go."""
    paths: list[Path] = [target.path for target in targets if target.path]
    gets = [along(path) for path in paths]
    several = len(targets) > 1
    if len(paths) < len(targets) or (several and any(type(key) is int for path in paths for key in path)):
        raise Unsupported

    def one(dot: Any, scope: Scope) -> Any:
        for get in gets:
            get(dot, scope)
        for path in paths:
            dot = _without(dot, path, scope)
        return dot

    return Code(*targets, one=one, growth=targets[0].growth)


def _set(value: Any, path: Path, new: Any, scope: Scope) -> Any:
    if not path:
        return new
    key, rest = path[0], path[1:]
    inner = _set(item(value, key), rest, new, scope) if rest else new
    if isinstance(key, str):
        scope.spend(len(value or ()) >> 3)
        return {**(value or {}), key: inner}
    return _set_item(list(value or ()), key, inner, scope)


def _set_item(items: list[Any], at: int, value: Any, scope: Scope) -> list[Any]:
    at = at + len(items) if at < 0 else at
    if at < 0:
        raise Fails
    if at > len(items) + _FAR:  # All between would be filled with null.
        raise NeedsJq
    scope.spend(len(items) >> 4)
    items += [None] * (at + 1 - len(items))
    items[at] = value
    return items


def _without(value: Any, path: Path, scope: Scope) -> Any:
    key, rest = path[0], path[1:]
    inner = item(value, key)
    if value is None or (inner is None and rest):
        return value
    if rest:
        return _set(value, (key,), _without(inner, rest, scope), scope)
    scope.spend(len(value) >> 2)
    if isinstance(key, str):
        return {name: one for name, one in value.items() if name != key}
    at = key + len(value) if key < 0 else key
    return value[:at] + value[at + 1 :] if 0 <= at < len(value) else value
