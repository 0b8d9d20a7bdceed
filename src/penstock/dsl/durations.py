"""Durations of the DSL: an object of days … milliseconds, or an ISO 8601 text. In microseconds, as times are."""

import re
from typing import Any

_UNITS = {
    "days": 86_400_000_000,
    "hours": 3_600_000_000,
    "minutes": 60_000_000,
    "seconds": 1_000_000,
    "milliseconds": 1_000,
}
_NUMBER = r"(\d+(?:[.,]\d+)?)"
_ISO = re.compile(
    rf"P(?:{_NUMBER}W|(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}D)?(?:T(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?)",
    re.ASCII,
)
# A year and a month are what people mean by them, not what a calendar says.
_ISO_UNITS = (
    7 * _UNITS["days"],
    365 * _UNITS["days"],
    30 * _UNITS["days"],
    _UNITS["days"],
    _UNITS["hours"],
    _UNITS["minutes"],
    _UNITS["seconds"],
)
LONGEST = 100 * 365 * _UNITS["days"]


class NotADuration(Exception):
    """The message says what was expected."""


def microseconds(data: Any) -> int:
    """How long a duration is. Raises `NotADuration`."""
    total = _of_text(data) if isinstance(data, str) else _of_members(data)
    if not 0 <= total <= LONGEST:
        raise NotADuration("a duration is at least 0 and at most 100 years")
    return total


def _of_members(data: Any) -> int:
    if not isinstance(data, dict) or not data:
        raise NotADuration(f"expected an ISO 8601 duration such as PT15M, or members of {', '.join(_UNITS)}")
    total = 0.0
    for name, amount in data.items():
        if name not in _UNITS:
            raise NotADuration(f"there is no {name!r} in a duration; known are {', '.join(_UNITS)}")
        if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount <= LONGEST:
            raise NotADuration(f"{name}: expected a number of at least 0")
        total += amount * _UNITS[name]
    return round(total)


def _of_text(text: str) -> int:
    match = _ISO.fullmatch(text.strip()) if len(text) < 100 else None
    if match is None or not any(match.groups()) or text.rstrip().endswith("T"):
        raise NotADuration("expected an ISO 8601 duration such as PT15M or P1DT2H")
    return round(
        sum(
            float(number.replace(",", ".")) * unit
            for number, unit in zip(match.groups(), _ISO_UNITS, strict=True)
            if number
        )
    )
