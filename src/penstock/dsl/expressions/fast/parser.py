"""Reads the part of jq's grammar that is done here, straight into compiled pieces."""

import json
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq
from penstock.dsl.expressions.fast import paths, pieces
from penstock.dsl.expressions.fast.calls import call
from penstock.dsl.expressions.fast.code import Code
from penstock.dsl.expressions.fast.cursor import Cursor
from penstock.dsl.expressions.fast.numbers import read
from penstock.dsl.expressions.fast.operators import OPERATORS
from penstock.dsl.expressions.fast.scope import Unsupported
from penstock.dsl.expressions.fast.updates import UPDATES, deleted, updated
from penstock.dsl.expressions.lexer import Token, tokens

_KEYWORDS = frozenset(
    "as def module import include if then else elif end and or reduce foreach try catch label break __loc__".split()  # noqa: SIM905
)
# In tokens. Nobody writes longer ones by hand, and they would take long to read.
_LONGEST = 500
_CONSTANTS: dict[str, Any] = {"true": True, "false": False, "null": None}
_LEFT, _RIGHT, _ALONE = "left", "right", "alone"
_STRENGTH: dict[str, tuple[int, str]] = {
    "//": (1, _RIGHT),
    **dict.fromkeys(UPDATES, (2, _ALONE)),
    "or": (3, _LEFT),
    "and": (4, _LEFT),
    **dict.fromkeys(["==", "!=", "<", ">", "<=", ">="], (5, _ALONE)),
    **dict.fromkeys(["+", "-"], (6, _LEFT)),
    **dict.fromkeys(["*", "/", "%"], (7, _LEFT)),
}


def parsed(text: str) -> Code:
    """Raises Unsupported for what is not of this part, or not jq at all."""
    words = [token for token in tokens(text) if token.kind not in {"space", "comment"}]
    if len(words) > _LONGEST:
        raise Unsupported
    parser = _Parser(words)
    code = parser.query()
    if parser.here is not None:
        raise Unsupported
    return code


class _Parser(Cursor):
    def query(self) -> Code:
        """`a | b`, where `source as $name |` takes all that follows."""
        steps = [self._list()]
        while self.take("|"):
            steps.append(self._list())
        code = steps[0]
        for step in steps[1:]:
            code = pieces.piped(code, step)
        return code

    def _list(self) -> Code:
        items = [self._bound()]
        while self.take(","):
            items.append(self._bound())
        return items[0] if len(items) == 1 else pieces.listed(items)

    def _bound(self) -> Code:
        source = self._expression()
        if not self.take("as"):
            return source
        token = self.following()
        if token.kind != "name" or token.text[0] != "$":
            raise Unsupported
        self.expect("|")
        return pieces.bound(source, _variable(token), self.query())

    def _expression(self, weakest: int = 0) -> Code:
        left = self._term()
        while (token := self.here) is not None and token.text in _STRENGTH and token.kind in {"operator", "name"}:
            strength, side = _STRENGTH[token.text]
            if strength < weakest:
                break
            self.following()
            right = self._expression(strength if side == _RIGHT else strength + 1)
            left = _operation(token.text, left, right)
            if side == _ALONE and self.here is not None and _STRENGTH.get(self.here.text, (0, ""))[0] == strength:
                raise Unsupported
        return left

    def _term(self) -> Code:
        token = self.following()
        if token.kind == "operator" and token.text == "-":
            return self._negative()
        code = self._start(token)
        while self.here is not None:
            following = paths.attempted(code) if self.take("?") else self._suffix(code)
            if following is None:
                break
            code = following
        return code

    def _negative(self) -> Code:
        token = self.here
        if token is not None and token.kind == "number" and float(token.text):
            number = _number(self.following())
            return self._not_followed(paths.constant(-number))
        return pieces.negated(self._term())

    def _not_followed(self, code: Code) -> Code:
        if self.stands(".", "[", "?") or (self.here is not None and self.here.kind == "field"):
            raise Unsupported
        return code

    def _start(self, token: Token) -> Code:
        if token.kind == "field":
            return self._optional(paths.identity(), paths.constant(token.text[1:]))
        if token.kind == "number":
            return paths.constant(_number(token))
        if token.kind == "quote":
            return self._string()
        if token.kind == "name":
            return self._named(token)
        if token.kind == "open":
            return self._bracketed(token.text)
        if token.text != ".":
            raise Unsupported
        if self.here is not None and self.here.kind == "quote":
            self.following()
            return self._optional(paths.identity(), self._string())
        return paths.identity()

    def _suffix(self, term: Code) -> Code | None:
        token = self.here
        assert token is not None  # noqa: S101 - asked only where there is one
        if token.kind == "field":
            self.following()
            return self._optional(term, paths.constant(token.text[1:]))
        if token.text == "." and token.kind == "operator":
            self.following()
            if self.here is not None and self.here.kind == "quote":
                self.following()
                return self._optional(term, self._string())
            if not self.stands("["):
                raise Unsupported
            return self._index(term, after_dot=True)
        if token.text == "[" and token.kind == "open":
            return self._index(term, after_dot=False)
        return None

    def _index(self, term: Code, *, after_dot: bool) -> Code:
        self.expect("[")
        if self.take("]"):
            return self._each(term)
        if self.take(":"):
            end = self.query()
            self.expect("]")
            return self._slice(term, paths.constant(None), end, after_dot=after_dot)
        key = self.query()
        if self.take("]"):
            return self._optional(term, key)
        self.expect(":")
        end = paths.constant(None) if self.stands("]") else self.query()
        self.expect("]")
        return self._slice(term, key, end, after_dot=after_dot)

    def _each(self, term: Code) -> Code:
        """`term[]?` forgives what cannot be iterated, not an error of the term."""
        if self.take("?"):
            return pieces.piped(term, paths.attempted(paths.every(paths.identity())))
        return paths.every(term)

    def _slice(self, term: Code, start: Code, end: Code, *, after_dot: bool) -> Code:
        if after_dot or start.one is None or end.one is None or self.stands("?"):
            raise Unsupported
        return paths.sliced(term, start, end)

    def _optional(self, term: Code, key: Code) -> Code:
        """`term.key?` forgives a failed index, not an error of the term."""
        value = _fixed(key)
        if not self.take("?"):
            return paths.indexed(term, key) if value is None else paths.keyed(term, value)
        if value is None:
            raise Unsupported
        return pieces.piped(term, paths.attempted(paths.keyed(paths.identity(), value)))

    def _string(self) -> Code:
        """After its opening quote."""
        parts: list[str | Code] = []
        while True:
            token = self.following()
            if token.kind == "text":
                parts.append(_text(token))
            elif token.kind == "interpolate":
                parts.append(self.query())
                if self.following().kind != "resume":
                    raise Unsupported
            elif token.kind == "quote":
                break
            else:
                raise Unsupported
        if all(isinstance(part, str) for part in parts):
            return paths.constant("".join(part for part in parts if isinstance(part, str)))
        return pieces.text(parts)

    def _named(self, token: Token) -> Code:
        name = token.text
        if name[0] == "$":
            return paths.variable(_variable(token))
        if name == "if":
            return self._conditional()
        if name in _KEYWORDS:
            raise Unsupported
        if name in _CONSTANTS:
            if self.stands("("):
                raise Unsupported
            return paths.constant(_CONSTANTS[name])
        return self._call(name)

    def _call(self, name: str) -> Code:
        arguments = []
        if self.take("("):
            if name == "del":
                return self._deletion()
            arguments.append(self.query())
            while self.take(";"):
                arguments.append(self.query())
            self.expect(")")
        return call(name, arguments)

    def _deletion(self) -> Code:
        targets = [self._expression()]
        while self.take(","):
            targets.append(self._expression())
        self.expect(")")
        return deleted(targets)

    def _conditional(self) -> Code:
        condition = self.query()
        self.expect("then")
        then = self.query()
        if self.take("elif"):
            return pieces.conditional(condition, then, self._conditional())
        otherwise = self.query() if self.take("else") else paths.identity()
        self.expect("end")
        return pieces.conditional(condition, then, otherwise)

    def _bracketed(self, bracket: str) -> Code:
        if bracket == "(":
            code = self.query()
            self.expect(")")
            return code
        if bracket == "{":
            return self._mapping()
        if self.take("]"):
            return pieces.array(paths.nothing())
        code = self.query()
        self.expect("]")
        return pieces.array(code)

    def _mapping(self) -> Code:
        members = []
        while not self.take("}"):
            members.append(self._member())
            if not self.take(","):
                self.expect("}")
                break
        return pieces.mapping(members)

    def _member(self) -> tuple[Code, Code]:
        token = self.following()
        if token.kind == "name":
            bare = token.text[0] != "$"
            name = token.text if bare else _variable(token)
            key = paths.constant(name) if bare or not self.stands(":") else paths.variable(name)
            value = paths.keyed(paths.identity(), name) if bare else paths.variable(name)
        elif token.kind == "quote":
            key = self._string()
            value = paths.indexed(paths.identity(), key)
        elif token.text == "(" and token.kind == "open":
            key = self.query()
            self.expect(")")
            if not self.stands(":"):
                raise Unsupported
            value = key
        else:
            raise Unsupported
        return key, self._value() if self.take(":") else value

    def _value(self) -> Code:
        code = self._expression()
        while self.take("|"):
            code = pieces.piped(code, self._expression())
        return code


def _operation(operator: str, left: Code, right: Code) -> Code:
    if operator == "//":
        return pieces.alternative(left, right)
    if operator in {"and", "or"}:
        return pieces.logical(operator, left, right)
    if operator in OPERATORS:
        return pieces.combined(operator, left, right)
    return updated(operator, left, right)


def _variable(token: Token) -> str:
    name = token.text[1:]
    if name == "__loc__" or not name.isidentifier():
        raise Unsupported
    return name


def _number(token: Token) -> int | float:
    try:
        return read(token.text)
    except NeedsJq:
        raise Unsupported from None


def _text(token: Token) -> str:
    try:
        text = json.loads(f'"{token.text}"', strict=False)
    except ValueError:
        raise Unsupported from None
    if not isinstance(text, str) or any("\ud800" <= one <= "\udfff" for one in text):
        raise Unsupported
    return text


def _fixed(key: Code) -> str | int | None:
    return key.value if type(key.value) is str or type(key.value) is int else None
