"""What one evaluation carries along: its variables and what it may still cost."""

from collections.abc import Mapping
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq

# About a microsecond each: some milliseconds in all.
_BUDGET = 10_000
LONGEST_TEXT = 256 * 1024


class Fails(Exception):
    """jq would raise an error here. `?` catches it; what nobody catches is asked of jq for its message."""


class Unsupported(Exception):
    """The text is not of the part of the language that is done here."""


class Scope:
    __slots__ = ("left", "values")

    def __init__(self, values: Mapping[str, Any], left: "list[int] | None" = None) -> None:
        self.values = values
        self.left = [_BUDGET] if left is None else left

    def bind(self, name: str, value: Any) -> "Scope":
        """Within: the outer one stays as it is, the budget is the same."""
        return Scope({**self.values, name: value}, self.left)

    def spend(self, cost: int) -> None:
        self.left[0] -= cost
        if self.left[0] < 0:
            raise NeedsJq

    def spend_on_text(self, length: int) -> None:
        if length > LONGEST_TEXT:
            raise NeedsJq
        self.spend(length >> 6)
