"""Numbers as jq has them: doubles when computed, the digits that were written when only passed on."""

import re
from typing import Any

from penstock.dsl.expressions.failures import NeedsJq

# Beyond it a double is not the number that was written, and jq compares and prints digits that we do not have.
EXACT = 2**53
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?", re.ASCII)


def is_number(value: Any) -> bool:
    return type(value) is int or type(value) is float


def exact(number: int | float) -> int | float:
    """The same, when a double says all of it."""
    if -EXACT < number < EXACT:  # False for NaN.
        return number
    raise NeedsJq


def computed(number: int | float) -> int | float:
    """What jq prints for a double: integers without a point. Its minus zero and its exponents are left to it."""
    if not -EXACT < number < EXACT:
        raise NeedsJq
    if type(number) is int:
        return number
    whole = int(number)
    if whole != number:
        return number
    if whole == 0 and str(number)[0] == "-":
        raise NeedsJq
    return whole


def written(number: int | float) -> str:
    """Its text, where a passed-on and a computed number have the same one."""
    if type(number) is int:
        if -(2**63) < number < 2**63:
            return str(number)
        raise NeedsJq
    if 1e-4 <= abs(number) < 1e9:
        return repr(number)
    raise NeedsJq


def read(text: str) -> int | float:
    """A number from its text, when writing it again gives that text."""
    if _PLAIN.fullmatch(text) is None:
        raise NeedsJq
    number = float(text) if "." in text else int(text)
    if str(number) != text:
        raise NeedsJq
    return number
