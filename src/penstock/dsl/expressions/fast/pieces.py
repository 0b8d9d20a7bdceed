"""How pieces of an expression are put together. What gives one output from pieces of one output stays a plain call."""

from collections.abc import Iterator
from typing import Any

from penstock.dsl.expressions.fast.code import NOTHING, Code, Growth, Many, One, repeats
from penstock.dsl.expressions.fast.operators import OPERATORS, TESTS, negate
from penstock.dsl.expressions.fast.order import is_true
from penstock.dsl.expressions.fast.scope import Fails, Scope
from penstock.dsl.expressions.fast.texts import to_string

# As JSON, a string takes up to six characters for one; cut to pieces, it takes quotes and a comma for each.
WRITTEN = 6
_CUT = 4


def piped(first: Code, second: Code) -> Code:
    one, following = first.one, second.one
    if one is not None and following is not None:
        path = None if first.path is None or second.path is None else first.path + second.path
        growth = first.growth.then(second.growth, many=False)
        return Code(first, second, one=lambda dot, scope: following(one(dot, scope), scope), growth=growth, path=path)
    if one is not None:
        growth = first.growth.then(second.growth, many=False)
        return Code(first, second, many=lambda dot, scope: second.many(one(dot, scope), scope), growth=growth)

    growth = first.growth.then(second.growth, many=True)
    if following is not None:
        return Code(first, second, many=_for_each(first, following, second.weight), growth=growth)

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for value in first.many(dot, scope):
            scope.spend(second.weight)
            yield from second.many(value, scope)

    return Code(first, second, many=many, growth=growth)


def _for_each(first: Code, following: One, weight: int) -> Many:
    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for value in first.many(dot, scope):
            scope.spend(weight)
            yield following(value, scope)

    return many


def listed(pieces: list[Code]) -> Code:
    """`a, b`"""

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for piece in pieces:
            yield from piece.many(dot, scope)

    return Code(*pieces, many=many, growth=_sum(pieces))


def array(piece: Code) -> Code:
    return Code(piece, one=lambda dot, scope: list(piece.many(dot, scope)), growth=piece.growth)


def combined(operator: str, left: Code, right: Code) -> Code:
    """The right operand's outputs are the outer loop."""
    apply = OPERATORS[operator]
    one_left, one_right = left.one, right.one
    growth = NOTHING if operator in TESTS else _sum([left, right]).times(_CUT if operator == "/" else 1)
    if one_left is not None and one_right is not None:
        return Code(
            left,
            right,
            one=lambda dot, scope: apply(one_left(dot, scope), one_right(dot, scope), scope),
            growth=growth,
        )

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for second in right.many(dot, scope):
            scope.spend(left.weight)
            for first in left.many(dot, scope):
                yield apply(first, second, scope)

    return Code(left, right, many=many, growth=growth.times(repeats(left) * repeats(right)))


def negated(term: Code) -> Code:
    return Code(term, many=lambda dot, scope: map(negate, term.many(dot, scope))) if term.one is None else _minus(term)


def _minus(term: Code) -> Code:
    one = term.one
    assert one is not None  # noqa: S101
    return Code(term, one=lambda dot, scope: negate(one(dot, scope)))


def logical(operator: str, left: Code, right: Code) -> Code:
    """`and`, `or`: the right operand is asked only when the left one does not decide."""
    decides = operator == "or"
    one_left, one_right = left.one, right.one
    if one_left is not None and one_right is not None:

        def one(dot: Any, scope: Scope) -> bool:
            return decides if is_true(one_left(dot, scope)) is decides else is_true(one_right(dot, scope))

        return Code(left, right, one=one)

    def many(dot: Any, scope: Scope) -> Iterator[bool]:
        for value in left.many(dot, scope):
            scope.spend(right.weight)
            if is_true(value) is decides:
                yield decides
            else:
                yield from map(is_true, right.many(dot, scope))

    return Code(left, right, many=many)


def alternative(left: Code, right: Code) -> Code:
    """`left // right`: the right when nothing true comes of the left. An error of the left stays one."""
    one_left, one_right = left.one, right.one
    if one_left is not None and one_right is not None:

        def one(dot: Any, scope: Scope) -> Any:
            value = one_left(dot, scope)
            return value if is_true(value) else one_right(dot, scope)

        return Code(left, right, one=one, growth=_sum([left, right]))

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        found = False
        for value in left.many(dot, scope):
            if is_true(value):
                found = True
                yield value
        if not found:
            yield from right.many(dot, scope)

    return Code(left, right, many=many, growth=_sum([left, right]))


def conditional(condition: Code, then: Code, otherwise: Code) -> Code:
    one_condition, one_then, one_otherwise = condition.one, then.one, otherwise.one
    if one_condition is not None and one_then is not None and one_otherwise is not None:

        def one(dot: Any, scope: Scope) -> Any:
            return one_then(dot, scope) if is_true(one_condition(dot, scope)) else one_otherwise(dot, scope)

        return Code(condition, then, otherwise, one=one, growth=_sum([then, otherwise]))

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for value in condition.many(dot, scope):
            scope.spend(then.weight + otherwise.weight)
            yield from (then if is_true(value) else otherwise).many(dot, scope)

    growth = _sum([then, otherwise]).times(repeats(condition))
    return Code(condition, then, otherwise, many=many, growth=growth)


def bound(source: Code, name: str, body: Code) -> Code:
    """`source as $name | body`"""
    free = source.free | (body.free - {name})
    one_source, one_body = source.one, body.one
    if one_source is not None:
        growth = Growth(body.growth.dot, max(1, source.growth.variables) * body.growth.variables)
        growth += source.growth.times(body.growth.variables)
        if one_body is not None:

            def one(dot: Any, scope: Scope) -> Any:
                return one_body(dot, scope.bind(name, one_source(dot, scope)))

            return Code(source, body, one=one, growth=growth, free=free)
        return Code(
            source,
            body,
            many=lambda dot, scope: body.many(dot, scope.bind(name, one_source(dot, scope))),
            growth=growth,
            free=free,
        )

    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        for value in source.many(dot, scope):
            scope.spend(body.weight)
            yield from body.many(dot, scope.bind(name, value))

    return Code(source, body, many=many, growth=(source.growth + body.growth).times(repeats(source)), free=free)


def text(pieces: list[str | Code]) -> Code:
    """A string with `\\(…)` in it. As with `+`, the last one's outputs are the outer loop."""
    codes = [piece for piece in pieces if isinstance(piece, Code)]
    growth = _sum(codes).times(WRITTEN)

    if all(code.one is not None for code in codes):
        ones = [piece if isinstance(piece, str) else piece.one for piece in pieces]

        def one(dot: Any, scope: Scope) -> str:
            joined = "".join(
                [
                    piece if isinstance(piece, str) else to_string(piece(dot, scope), scope)  # type: ignore[misc]
                    for piece in ones
                ]
            )
            scope.spend_on_text(len(joined))
            return joined

        return Code(*codes, one=one, growth=growth)

    weight = sum(code.weight for code in codes)

    def many(dot: Any, scope: Scope, end: int = len(pieces)) -> Iterator[str]:
        if end == 0:
            yield ""
            return
        last = pieces[end - 1]
        for value in [last] if isinstance(last, str) else last.many(dot, scope):
            scope.spend(weight)
            for before in many(dot, scope, end - 1):
                joined = before + to_string(value, scope)
                scope.spend_on_text(len(joined))
                yield joined

    return Code(*codes, many=many, growth=growth.times(repeats(*codes)))


def mapping(members: list[tuple[Code, Code]]) -> Code:
    """`{key: value, …}`. The first member's outputs are the outer loop."""
    codes = [code for member in members for code in member]
    growth = _sum(codes)
    if all(code.one is not None for code in codes):
        pairs: list[Any] = [(key.one, value.one) for key, value in members]

        def one(dot: Any, scope: Scope) -> dict[str, Any]:
            made = {}
            for key, value in pairs:
                made[_name(key(dot, scope))] = value(dot, scope)
            return made

        return Code(*codes, one=one, growth=growth)

    weight = sum(code.weight for code in codes)

    def many(dot: Any, scope: Scope, at: int = 0) -> Iterator[dict[str, Any]]:
        if at == len(members):
            yield {}
            return
        for key in members[at][0].many(dot, scope):
            name = _name(key)
            for value in members[at][1].many(dot, scope):
                scope.spend(weight)
                for rest in many(dot, scope, at + 1):
                    yield {name: value, **rest}

    return Code(*codes, many=many, growth=growth.times(repeats(*codes)))


def _name(key: Any) -> str:
    if type(key) is not str:
        raise Fails
    return key


def _sum(codes: list[Code]) -> Growth:
    growth = NOTHING
    for code in codes:
        growth += code.growth
    return growth
