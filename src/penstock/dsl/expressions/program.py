"""One expression, ready to be run again and again: what it reads, and how to run it without jq where that is exact."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.dsl.expressions.allowed import require_allowed
from penstock.dsl.expressions.failures import NotAnExpression
from penstock.dsl.expressions.fast import compiled
from penstock.dsl.expressions.lexer import tokens

Fast = Callable[[Any, Mapping[str, Any]], Any]
_SHORT = 512  # characters; longer ones take a while, which is better spent where a definition is made ready


class Program:
    """`variables` are the names (without `$`) that it may ask for; `refused` says why it must not be run at all.

    Made ready when that is first asked for. A definition may hold thousands of expressions, most of which are not run
    soon; and what each is made of has to be looked at, again and again, by whoever collects garbage: that would stop
    everybody for as long.
    """

    __slots__ = ("fast", "refused", "text", "variables")
    text: str
    variables: frozenset[str]
    fast: Fast | None
    refused: str | None

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Program({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Program) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Of a member that is not there yet."""
            if name not in Program.__slots__:
                raise AttributeError(name)
            self._make_ready()
            return getattr(self, name)

    def _make_ready(self) -> None:
        """Never raises: what is wrong with the text is said when it is checked, or else when it is run."""
        variables, fast, refused = _ready(self.text)
        self.variables, self.fast, self.refused = variables, fast, refused


@lru_cache(maxsize=4096)
def program(text: str) -> Program:
    found = Program(text)
    if len(text) > _SHORT:
        found._make_ready()
    return found


def _ready(text: str) -> tuple[frozenset[str], Fast | None, str | None]:
    try:
        require_allowed(text)
    except NotAnExpression as error:
        return frozenset(), None, str(error)
    here = compiled(text)
    return (_variables(text), None, None) if here is None else (here[1], here[0], None)


def _variables(text: str) -> frozenset[str]:
    """Bound ones too: to bind one more than is used costs little."""
    names = (token.text[1:].strip() for token in tokens(text) if token.kind == "name" and token.text[0] == "$")
    return frozenset(names) - {"__loc__"}
