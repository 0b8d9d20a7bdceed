"""A place in a list of tokens."""

from penstock.dsl.expressions.fast.scope import Unsupported
from penstock.dsl.expressions.lexer import Token


class Cursor:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def here(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def stands(self, *texts: str) -> bool:
        token = self.here
        return token is not None and token.text in texts and token.kind not in {"text", "quote"}

    def take(self, *texts: str) -> bool:
        if self.stands(*texts):
            self._at += 1
            return True
        return False

    def following(self) -> Token:
        token = self.here
        if token is None:
            raise Unsupported
        self._at += 1
        return token

    def expect(self, text: str) -> None:
        if not self.take(text):
            raise Unsupported
