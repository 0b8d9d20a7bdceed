"""The beginnings of an expression, and the ways into a value: `.`, `$x`, `.a`, `.[0]`, `.[1:]`, `.[]` and `?`."""

from collections.abc import Iterator
from typing import Any

from penstock.dsl.expressions.fast.access import each, item, part
from penstock.dsl.expressions.fast.code import ALL, NOTHING, Code, Growth, repeats
from penstock.dsl.expressions.fast.scope import Fails, Scope

_SHORT = 64


def identity() -> Code:
    return Code(one=lambda dot, scope: dot, growth=ALL, path=())


def constant(value: Any) -> Code:
    long = type(value) is str and len(value) > _SHORT
    return Code(one=lambda dot, scope: value, growth=Growth(0, 1) if long else NOTHING, value=value)


def variable(name: str) -> Code:
    return Code(one=lambda dot, scope: scope.values[name], growth=Growth(0, 1), free=(name,))


def nothing() -> Code:
    return Code(many=lambda dot, scope: ())


def keyed(term: Code, key: str | int) -> Code:
    """`.a`, `.[0]`: a key that is known beforehand."""
    path = None if term.path is None else (*term.path, key)
    if path is not None:
        return Code(term, one=along(path), growth=ALL, path=path)
    inner, growth = term.one, term.growth
    if inner is not None:
        return Code(term, one=lambda dot, scope: item(inner(dot, scope), key), growth=growth)
    return Code(term, many=lambda dot, scope: (item(value, key) for value in term.many(dot, scope)), growth=growth)


def along(path: tuple[str | int, ...]) -> Any:
    if all(type(key) is str for key in path):
        return _along_names(path)

    def one(dot: Any, scope: Scope) -> Any:
        for key in path:
            dot = item(dot, key)
        return dot

    return one


def _along_names(path: tuple[str | int, ...]) -> Any:
    def one(dot: Any, scope: Scope) -> Any:
        for key in path:
            if type(dot) is dict:
                dot = dot.get(key)
            elif dot is not None:
                raise Fails
        return dot

    return one


def indexed(term: Code, key: Code) -> Code:
    """`term[key]`, the key being asked of `.` and not of the term."""
    one_term, one_key = term.one, key.one
    if one_term is not None and one_key is not None:
        return Code(
            term, key, one=lambda dot, scope: item(one_term(dot, scope), one_key(dot, scope)), growth=term.growth
        )

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for wanted in key.many(dot, scope):
            scope.spend(term.weight)
            for value in term.many(dot, scope):
                yield item(value, wanted)

    return Code(term, key, many=many, growth=term.growth.times(repeats(key)))


def sliced(term: Code, start: Code, end: Code) -> Code:
    """Only with bounds of one output each."""
    one_start, one_end, one_term = start.one, end.one, term.one
    assert one_start is not None  # noqa: S101 - seen to by the parser
    assert one_end is not None  # noqa: S101
    if one_term is not None:
        return Code(
            term,
            start,
            end,
            one=lambda dot, scope: part(one_term(dot, scope), one_start(dot, scope), one_end(dot, scope), scope),
            growth=term.growth,
        )

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        first, last = one_start(dot, scope), one_end(dot, scope)
        for value in term.many(dot, scope):
            yield part(value, first, last, scope)

    return Code(term, start, end, many=many, growth=term.growth)


def every(term: Code) -> Code:
    """`term[]`"""
    one = term.one
    if one is not None:
        return Code(term, many=lambda dot, scope: each(one(dot, scope), scope), growth=term.growth)

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for value in term.many(dot, scope):
            yield from each(value, scope)

    return Code(term, many=many, growth=term.growth)


def attempted(term: Code) -> Code:
    """`term?`: what came before an error stays."""

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        try:
            yield from term.many(dot, scope)
        except Fails:
            return

    return Code(term, many=many, growth=term.growth)
