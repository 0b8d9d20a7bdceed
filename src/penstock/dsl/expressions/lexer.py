"""The words of a jq program, as jq's own lexer cuts them: code within strings is code, text within strings is not."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from penstock.dsl.expressions.failures import NotAnExpression

_DEEPEST = 128
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>\#[^\n]*)
    | (?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
    | (?P<name>(?:\$\s*)?(?:[A-Za-z_][A-Za-z0-9_]*::)*[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)
    | (?P<format>@[A-Za-z0-9_]+)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<quote>")
    | (?P<operator>\?//|//=|[!=<>+*/%|-]=|//|\.\.|[.?=;,:|+\-*/%<>])
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_TEXT = re.compile(r'(?:[^"\\]+|\\[^(])+', re.DOTALL)
_CLOSES = {"(": ")", "[": "]", "{": "}", "\\(": ")"}


class Token(NamedTuple):
    """`kind` is a group of the pattern above, or in strings `text`, `interpolate` (`\\(`) and `resume` (its `)`)."""

    kind: str
    text: str
    at: int
    end: int
    within: str  # the bracket that is open here, "" when none is


@lru_cache(maxsize=4)
def tokens(text: str) -> tuple[Token, ...]:
    """All of them. Kept a moment: one text is looked at from several sides."""
    return tuple(scan(text))


def scan(text: str, at: int = 0) -> Iterator[Token]:
    """Every token. The last one is a closing bracket that nothing opened, where there is one."""
    opened: list[str] = []
    while at < len(text):
        token = _next(text, at, opened)
        if token.kind in {"open", "interpolate"} or (token.kind == "quote" and token.within != '"'):
            opened.append(token.text)
            if len(opened) > _DEEPEST:
                raise NotAnExpression(f"nested more than {_DEEPEST} levels deep")
        elif token.kind in {"close", "resume"} and opened:
            if _CLOSES[opened[-1]] != token.text:
                raise NotAnExpression(f"a {token.text} closes what {opened[-1]} opened")
            opened.pop()
        elif token.kind == "quote":
            opened.pop()
        yield token
        if token.kind == "close" and not token.within:
            return
        at = token.end
    if opened:
        raise NotAnExpression(f"a {opened[-1]} is not closed")


def _next(text: str, at: int, opened: list[str]) -> Token:
    within = opened[-1] if opened else ""
    if within == '"':
        return _in_string(text, at)
    match = _TOKEN.match(text, at)
    assert match is not None  # noqa: S101 - the last branch takes anything
    kind = match.lastgroup or "other"
    if kind == "comment" and ("\\" in match.group() or "\r" in match.group()):
        # jq's versions differ in where such a comment ends, and what follows it may be code.
        raise NotAnExpression("a comment must not contain \\ or a carriage return")
    if within == "\\(" and match.group() == ")":
        kind = "resume"
    return Token(kind, match.group(), at, match.end(), within)


def _in_string(text: str, at: int) -> Token:
    if text[at] == '"':
        return Token("quote", '"', at, at + 1, '"')
    if text.startswith("\\(", at):
        return Token("interpolate", "\\(", at, at + 2, '"')
    match = _TEXT.match(text, at)
    if match is None:
        raise NotAnExpression("a string is not closed")
    return Token("text", match.group(), at, match.end(), '"')
