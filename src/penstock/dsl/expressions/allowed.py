"""jq expressions: whether one may be used at all.

Who writes them is not always a friend, so whatever reads the server's environment or files, swallows other inputs,
writes to its standard error or ends the program is refused before it is compiled.
"""

import re
from collections.abc import Iterable

import jq

from penstock.dsl.expressions.failures import NotAnExpression
from penstock.dsl.expressions.lexer import Token, tokens

LONGEST = 8 * 1024
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
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_COLON = re.compile(r"\s*:(?!:)")
_NEXT_MEMBER = re.compile(r"\s*[,}]")
# Between `then` and `end`, a comma within braces is no end of a member.
_BLOCKS = frozenset({"if", "then", "elif", "else", "end", "def"})
_PLACE = re.compile(r"line (\d+), column (\d+)")


def require_expression(text: str, variables: Iterable[str] = ()) -> None:
    """Raise `NotAnExpression` unless the text is a jq program that we would run, given these variables.

    Compiling takes milliseconds and hostile texts half a second, in which nothing else of this process runs: where
    there is an engine, its processes compile (`Jq.require`).
    """
    require_allowed(text)
    names = tuple(variables)
    try:
        jq.compile(wrapped(text, names))
    except ValueError as error:
        raise NotAnExpression(compile_message(str(error), text, names)) from error


def require_allowed(text: str) -> None:
    """All that can be said without compiling it."""
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise NotAnExpression(f"an expression may have {LONGEST // 1024} KiB at most")
    if not text.strip():
        raise NotAnExpression("an expression must not be blank")
    if _NO_CHARACTER.search(text):
        raise NotAnExpression("contains a character that no expression may have")
    _refuse(text)


def wrapped(text: str, names: tuple[str, ...]) -> str:
    """The program that jq is given: it takes `[dot, variable, …]` and answers each output as JSON text.

    jq keeps the digits of a number that it only passes on, but not the package that brings it to Python.
    """
    return f"{_before(names)}{text}\n)|tojson"


def compile_message(said: str, text: str, names: tuple[str, ...]) -> str:
    """jq's first line, with the place that the person sees."""
    line = next((line for line in said.splitlines() if line.strip()), "it does not compile")
    place = _PLACE.search(line)
    if place is not None and int(place[1]) > text.count("\n") + 1:
        return "not a jq expression: it ends too early"
    if place is not None and place[1] == "1":
        line = f"{line[: place.start(2)]}{max(int(place[2]) - len(_before(names)), 1)}{line[place.end(2) :]}"
    return f"not a jq expression: {line.removeprefix('jq: error: ').rstrip(':')[:300]}"


def _before(names: tuple[str, ...]) -> str:
    bound = "".join(f".[{number}] as ${name}|" for number, name in enumerate(names, 1))
    return f"{bound}.[0]|("


def _refuse(text: str) -> None:
    """Look at every name that is neither in a string nor a field: in `"\\(env)"` it is code, in `.env` it is not."""
    before = ""
    found = list(tokens(text))
    plain = not any(token.kind == "name" and token.text in _BLOCKS for token in found)
    for token in found:
        if token.kind == "name":
            name = f"$ {token.text}" if before == "$" else token.text
            _refuse_name(name, is_key=_is_key(text, token, before, plain=plain))
        elif token.kind == "close" and not token.within:
            raise NotAnExpression(f"a {token.text} closes what was never opened")
        if token.kind not in {"space", "comment"}:
            before = token.text


def _is_key(text: str, token: Token, before: str, *, plain: bool) -> bool:
    if before not in {"{", ","} or token.within != "{":
        return False
    return _COLON.match(text, token.end) is not None or (plain and _NEXT_MEMBER.match(text, token.end) is not None)


def _refuse_name(token: str, *, is_key: bool) -> None:
    """`{input: 1}` and `{input}` only name a member. `{$ENV: 1}` takes its value, and `.[0, input: 1]` is a slice."""
    name = "".join(token.split())
    if "::" in name:
        raise NotAnExpression(f"{name} is of a module, and there are none here")
    if name in _REFUSED and not (is_key and name[0] != "$"):
        raise NotAnExpression(f"{name} is not available here")
