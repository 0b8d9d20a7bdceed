"""How an expression can fail: as a text, in what it does, or only for the fast path, which leaves it to jq."""

LONGEST_MESSAGE = 300


class NotAnExpression(Exception):
    """An expression that cannot be used; the message says why."""


class ExpressionFailed(Exception):
    """An expression that was run and gave no value; the message says why, in jq's words where it was jq."""

    def __init__(self, message: str) -> None:
        short = message if len(message) <= LONGEST_MESSAGE else f"{message[: LONGEST_MESSAGE - 1]}…"
        super().__init__(short)
        self.message = short


class NeedsJq(Exception):
    """Not a failure: what was met is jq's own to answer."""
