"""Calls of functions: those of the plain kind, and those that run their argument for each of many values."""

from collections.abc import Callable, Iterator
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast import paths, pieces
from penstock.dsl.expressions.fast.access import each
from penstock.dsl.expressions.fast.code import ALL, ENDLESS, NOTHING, Code, Growth
from penstock.dsl.expressions.fast.functions import (
    KINDS,
    PLAIN,
    WITH_VALUE,
    array_of,
    from_entries,
    greatest,
    least,
    ranked,
    runs,
    sorted_by,
    to_entries,
    total,
)
from penstock.dsl.expressions.fast.order import is_true, type_name
from penstock.dsl.expressions.fast.scope import Fails, Scope, Unsupported

# How often the result holds the input, where it is not once.
_TIMES = {"to_entries": 4, "from_entries": 1, "tojson": 6, "tostring": 6, "split": 4, "fromjson": 6}
_SMALL = frozenset(
    {"all", "any", "ceil", "contains", "endswith", "floor", "has", "inside", "length", "not", "round", "startswith"}
    | {"tonumber", "type"}
)


def call(name: str, arguments: list[Code]) -> Code:
    if not arguments:
        return _without(name)
    if len(arguments) == 1 and name in WITH_VALUE:
        return _with_value(name, arguments[0])
    if len(arguments) == 1 and name in _WITH_CODE:
        return _WITH_CODE[name](arguments[0])
    raise Unsupported


def _without(name: str) -> Code:
    if name in PLAIN:
        return Code(one=PLAIN[name], growth=_growth(name))
    if name == "empty":
        return paths.nothing()
    if name == "error":
        return Code(one=_left_to_jq)
    if name in KINDS:
        kinds = KINDS[name]
        return Code(many=lambda dot, scope: (dot,) if type_name(dot) in kinds else (), growth=ALL)
    raise Unsupported


def _left_to_jq(dot: Any, scope: Scope) -> Any:
    raise NeedsJq


def _growth(name: str) -> Growth:
    return NOTHING if name in _SMALL else Growth(_TIMES.get(name, 1))


def _with_value(name: str, argument: Code) -> Code:
    function, one = WITH_VALUE[name], argument.one
    if one is None:
        raise Unsupported
    growth = Growth(ENDLESS) if name == "join" and argument.growth.variables else _growth(name)
    return Code(argument, one=lambda dot, scope: function(dot, one(dot, scope), scope), growth=growth)


def _error(argument: Code) -> Code:
    return Code(argument, one=_left_to_jq)


def _map(function: Code) -> Code:
    return pieces.array(pieces.piped(paths.every(paths.identity()), function))


def _select(condition: Code) -> Code:
    def many(dot: Any, scope: Scope) -> Iterator[Any]:
        return (dot for answer in condition.many(dot, scope) if is_true(answer))

    growth = ALL if condition.one is not None else Growth(ENDLESS)
    return Code(condition, many=many, growth=growth)


def _map_values(function: Code) -> Code:
    """The first output each; with none, the member goes."""

    def one(dot: Any, scope: Scope) -> Any:
        if isinstance(dot, list):
            scope.spend(len(dot) * (1 + function.weight))
            return [value for old in dot for value in _first(function, old, scope)]
        if isinstance(dot, dict):
            scope.spend(len(dot) * (1 + function.weight))
            return {key: value for key, old in dot.items() for value in _first(function, old, scope)}
        raise Fails

    return Code(function, one=one, growth=ALL.then(function.growth, many=True))


def _first(function: Code, dot: Any, scope: Scope) -> tuple[Any, ...]:
    for value in function.many(dot, scope):
        return (value,)
    return ()


def _first_of(generator: Code) -> Code:
    return Code(generator, many=lambda dot, scope: _first(generator, dot, scope), growth=generator.growth)


def _add_of(generator: Code) -> Code:
    return Code(
        generator, one=lambda dot, scope: total(list(generator.many(dot, scope)), scope), growth=generator.growth
    )


def _with_entries(function: Code) -> Code:
    entries = Code(one=to_entries, growth=_growth("to_entries"))
    return pieces.piped(pieces.piped(entries, _map(function)), Code(one=from_entries, growth=_growth("from_entries")))


def _answers(condition: Code, dot: Any, scope: Scope) -> Iterator[bool]:
    for value in each(dot, scope):
        scope.spend(condition.weight)
        yield from map(is_true, condition.many(value, scope))


def _any(condition: Code) -> Code:
    return Code(condition, one=lambda dot, scope: any(_answers(condition, dot, scope)))


def _all(condition: Code) -> Code:
    return Code(condition, one=lambda dot, scope: all(_answers(condition, dot, scope)))


def _by(choose: Callable[[list[Any], list[Any]], Any]) -> Callable[[Code], Code]:
    """`sort_by(f)` and its like: chosen by the ranks of all outputs of `f`."""

    def made(function: Code) -> Code:
        def one(dot: Any, scope: Scope) -> Any:
            values = array_of(dot)
            scope.spend(len(values) * (1 + function.weight))
            keys = [list(function.many(value, scope)) for value in values]
            return choose(values, ranked(keys, scope))

        return Code(function, one=one, growth=ALL)

    return made


_WITH_CODE: dict[str, Callable[[Code], Code]] = {
    "add": _add_of,
    "all": _all,
    "any": _any,
    "error": _error,
    "first": _first_of,
    "group_by": _by(runs),
    "map": _map,
    "map_values": _map_values,
    "max_by": _by(greatest),
    "min_by": _by(least),
    "select": _select,
    "sort_by": _by(lambda values, ranks: [value for _, value in sorted_by(values, ranks)]),
    "unique_by": _by(lambda values, ranks: [run[0] for run in runs(values, ranks)]),
    "with_entries": _with_entries,
}
