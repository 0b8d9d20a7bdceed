"""What a string of a definition is: an expression, a text with expressions in it, or only a text."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from penstock.dsl.expressions.allowed import LONGEST
from penstock.dsl.expressions.failures import NotAnExpression
from penstock.dsl.expressions.lexer import scan
from penstock.dsl.expressions.program import Program, program

_WHITE = " \t\r\n"
# What follows `${` within a text where it is ours: no shell and no template knows a name that begins so.
_BEGINS = _WHITE + "."
# In one text. What follows them is text: nobody writes as many, and each takes its time to look at.
_MOST_OPENINGS = 1000


class Text(NamedTuple):
    """The values of its parts are joined: strings as they are, null as nothing, others as compact JSON."""

    parts: tuple[str | Program, ...]

    def joined(self, values: Iterable[Any]) -> str:
        """Given what its programs gave, in their order."""
        left = iter(values)
        return "".join(part if isinstance(part, str) else _shown(next(left)) for part in self.parts)


def embedded(text: str) -> str | Program | Text:
    """`${ … }` alone is an expression. Within a text it is one when white space or a dot follows the
    brace, so that the `${name}` of shells and templates stays what it is.
    """
    if "${" not in text:
        return text
    bare = text.strip(_WHITE)
    if bare.startswith("${") and bare.endswith("}"):
        closing = _closing(bare, 2)
        # What is never closed, or not as jq closes it, was still meant: checking and running it will say what is wrong.
        if closing is None or closing == len(bare) - 1:
            return program(bare[2:-1].strip(_WHITE))
    return _with_parts(text)


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _with_parts(text: str) -> str | Text:
    parts: list[str | Program] = []
    done = 0
    at = text.find("${")
    for _ in range(_MOST_OPENINGS):
        if at < 0:
            break
        closing = _closing(text, at + 2) if text[at + 2 : at + 3] in _BEGINS else None
        if closing is not None:
            parts += [text[done:at]] if at > done else []
            parts.append(program(text[at + 2 : closing].strip(_WHITE)))
            done = closing + 1
        at = text.find("${", at + 2 if closing is None else done)
    if not parts:
        return text
    return Text((*parts, text[done:]) if done < len(text) else tuple(parts))


def _closing(text: str, at: int) -> int | None:
    """Where the brace is that closes the one before `at`. Looks no further than an expression can be long, nor than
    what cannot be jq, another `${` above all: a text may hold thousands of them.
    """
    try:
        for token in scan(text[at : at + LONGEST + 1]):
            if token.kind == "other":
                return None
            if token.kind == "close" and not token.within:
                return at + token.at if token.text == "}" else None
    except NotAnExpression:
        return None
    return None
