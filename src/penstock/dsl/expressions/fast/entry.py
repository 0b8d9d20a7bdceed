"""From the text of an expression to a function that runs it here."""

from collections.abc import Callable, Mapping
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq, NotAnExpression
from penstock.dsl.expressions.fast.code import Code
from penstock.dsl.expressions.fast.parser import parsed
from penstock.dsl.expressions.fast.paths import along
from penstock.dsl.expressions.fast.scope import LONGEST_TEXT, Fails, Scope, Unsupported

# A result that can hold its input a few times needs no look; others are measured, up to this many values.
_FEW_TIMES = 16
_MOST_VALUES = 20_000

Fast = Callable[[Any, Mapping[str, Any]], Any]


def compiled(text: str) -> tuple[Fast, frozenset[str]] | None:
    """The function, and the variables that it takes; None when it is all jq's."""
    try:
        code = parsed(text)
    except (Unsupported, NotAnExpression, RecursionError):
        return None
    return _function(code), code.free


def _function(code: Code) -> Fast:
    return _running(code) if code.path is None else _following(code.path)


def _following(path: tuple[str | int, ...]) -> Fast:
    """A path alone takes no variables and costs nothing to speak of."""
    get, nowhere = along(path), Scope({})

    def fast(dot: Any, variables: Mapping[str, Any]) -> Any:
        try:
            return get(dot, nowhere)
        except Fails:
            raise NeedsJq from None

    return fast


def _running(code: Code) -> Fast:
    measured = sum(code.growth) > _FEW_TIMES
    names = tuple(code.free)
    one, many = code.one, code.many

    def fast(dot: Any, variables: Mapping[str, Any]) -> Any:
        try:
            scope = Scope({name: variables[name] for name in names})
        except KeyError:  # jq has words for that.
            raise NeedsJq from None
        try:
            value = one(dot, scope) if one is not None else _outputs(list(many(dot, scope)))
        except (Fails, RecursionError):
            raise NeedsJq from None
        if measured:
            _measure(value)
        return value

    return fast


def _outputs(values: list[Any]) -> Any:
    if len(values) == 1:
        return values[0]
    return values or None


def _measure(value: Any) -> None:
    """What is shared counts each time, as it will when it is written."""
    left, letters = _MOST_VALUES, 4 * LONGEST_TEXT
    waiting = [value]
    while waiting:
        here = waiting.pop()
        left -= 1
        if type(here) is str:
            letters -= len(here)
        elif type(here) is list:
            waiting += here
        elif type(here) is dict:
            letters -= sum(map(len, here))
            waiting += here.values()
        if left - len(waiting) < 0 or letters < 0:
            raise NeedsJq
