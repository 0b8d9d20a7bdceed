"""jq expressions: whether one may be used at all.

Who writes them is not always a friend, so whatever reads the server's environment or files, swallows other inputs,
writes to its standard error or ends the program is refused before it is compiled.
"""

import re

import jq

LONGEST = 8 * 1024
_DEEPEST = 128
_REFUSED = frozenset(
    {
        "env",
        "input",
        "inputs",
        "debug",
        "stderr",
        "halt",
        "halt_error",
        "import",
        "include",
        "input_filename",
        "input_line_number",
        "get_search_list",
        "modulemeta",
        "$ENV",
        "$__prog_args",
    }
)
_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>\#[^\n]*)
    | (?P<field>\.[A-Za-z_][A-Za-z0-9_]*)
    | (?P<name>(?:\$\s*)?(?:[A-Za-z_][A-Za-z0-9_]*::)*[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>\.?[0-9][0-9.]*(?:[eE][-+]?[0-9]+)?)
    | (?P<format>@[A-Za-z0-9_]+)
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<quote>")
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_COLON = re.compile(r"\s*:(?!:)")


class NotAnExpression(Exception):
    """An expression that cannot be used; the message says why."""


def require_expression(text: str) -> None:
    """Raise `NotAnExpression` unless the text is a jq program that we would run. Takes milliseconds: use a thread."""
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise NotAnExpression(f"an expression may have {LONGEST // 1024} KiB at most")
    if not text.strip():
        raise NotAnExpression("an expression must not be blank")
    if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise NotAnExpression("contains a character that no expression may have")
    _refuse(text)
    try:
        jq.compile(text)
    except ValueError as error:
        raise NotAnExpression(f"not a jq expression: {_first_line(error)}") from error


def _refuse(text: str) -> None:
    """Look at every name that is neither in a string nor a field: in `"\\(env)"` it is code, in `.env` it is not."""
    at = 0
    opened: list[str] = []
    before = ""
    while at < len(text):
        if opened and opened[-1] == '"':
            at = _through_string(text, at, opened)
            continue
        match = _TOKEN.match(text, at)
        assert match is not None  # noqa: S101 - the last branch takes anything
        at, kind, token = match.end(), match.lastgroup, match.group()
        if kind == "name":
            is_key = before in {"{", ","} and opened[-1:] == ["{"] and _COLON.match(text, at) is not None
            _refuse_name(f"$ {token}" if before == "$" else token, is_key=is_key)
        elif kind == "comment" and ("\\" in token or "\r" in token):
            # jq's versions differ in where such a comment ends, and what follows it may be code.
            raise NotAnExpression("a comment must not contain \\ or a carriage return")
        elif kind in {"open", "quote"}:
            opened.append(token)
            if len(opened) > _DEEPEST:
                raise NotAnExpression(f"nested more than {_DEEPEST} levels deep")
        elif kind == "close" and opened:
            opened.pop()
        if kind not in {"space", "comment"}:
            before = token


def _refuse_name(token: str, *, is_key: bool) -> None:
    """`{input: 1}` only names a member. `{$ENV: 1}` takes the variable's value, and `.[0, input: 1]` is a slice."""
    name = "".join(token.split())
    if "::" in name:
        raise NotAnExpression(f"{name} is of a module, and there are none here")
    if name in _REFUSED and not (is_key and name[0] != "$"):
        raise NotAnExpression(f"{name} is not available here")


def _through_string(text: str, at: int, opened: list[str]) -> int:
    """To the end of a string, or into the code of its next `\\(…)`."""
    while at < len(text):
        if text[at] == '"':
            opened.pop()
            return at + 1
        if text[at] == "\\":
            if text[at + 1 : at + 2] == "(":
                opened.append("(")
                return at + 2
            at += 1
        at += 1
    return at


def _first_line(error: ValueError) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return lines[0].removeprefix("jq: error: ")[:300] if lines else "it does not compile"
