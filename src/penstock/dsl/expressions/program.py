"""One expression, ready to be run again and again: what it reads, and how to run it without jq where that is exact."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from penstock.dsl.expressions.allowed import require_allowed
from penstock.dsl.expressions.failures import NotAnExpression
from penstock.dsl.expressions.fast import compiled
from penstock.dsl.expressions.lexer import tokens

Fast = Callable[[Any, Mapping[str, Any]], Any]


class Program(NamedTuple):
    """`variables` are the names (without `$`) that it may ask for; `refused` says why it must not be run at all."""

    text: str
    variables: frozenset[str]
    fast: Fast | None
    refused: str | None


@lru_cache(maxsize=4096)
def program(text: str) -> Program:
    """Never raises: what is wrong with the text is said when it is checked, or else when it is run."""
    try:
        require_allowed(text)
    except NotAnExpression as error:
        return Program(text, frozenset(), None, str(error))
    here = compiled(text)
    return Program(text, _variables(text), None, None) if here is None else Program(text, here[1], here[0], None)


def _variables(text: str) -> frozenset[str]:
    """Bound ones too: to bind one more than is used costs little."""
    names = (token.text[1:].strip() for token in tokens(text) if token.kind == "name" and token.text[0] == "$")
    return frozenset(names) - {"__loc__"}
