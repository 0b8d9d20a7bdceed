"""What a string of a definition is: an expression, a text with expressions in it, or only a text."""

from collections import deque
from typing import NamedTuple

from penstock.dsl.expressions.failures import NotAnExpression
from penstock.dsl.expressions.lexer import scan
from penstock.dsl.expressions.program import Program, program

_WHITE = " \t\r\n"


class Text(NamedTuple):
    """The values of its parts are joined: strings as they are, null as nothing, others as compact JSON."""

    parts: tuple[str | Program, ...]


def embedded(text: str) -> str | Program | Text:
    """`${ … }` alone is an expression. Within a text it is one when white space follows the brace, so that
    the `${name}` of shells and templates stays what it is.
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


def _with_parts(text: str) -> str | Text:
    parts: list[str | Program] = []
    done = 0
    at = text.find("${")
    while at >= 0:
        closing = _closing(text, at + 2) if text[at + 2 : at + 3] in _WHITE else None
        if closing is not None:
            parts += [text[done:at]] if at > done else []
            parts.append(program(text[at + 2 : closing].strip(_WHITE)))
            done = closing + 1
        at = text.find("${", at + 2 if closing is None else done)
    if not parts:
        return text
    return Text((*parts, text[done:]) if done < len(text) else tuple(parts))


def _closing(text: str, at: int) -> int | None:
    """Where the brace is that closes the one before `at`."""
    try:
        last = deque(scan(text, at), maxlen=1)
    except NotAnExpression:
        return None
    return next((token.at for token in last if token.kind == "close" and token.text == "}" and not token.within), None)
