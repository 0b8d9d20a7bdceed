"""Times as the API shows and takes them."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

_RFC3339 = re.compile(r"(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d{1,30})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def rfc3339(micros: int) -> str:
    """Stored microseconds as RFC 3339, UTC, `Z`."""
    seconds, rest = divmod(micros, 1_000_000)
    return f"{_second(seconds)}.{rest:06}Z"


@lru_cache(maxsize=1_000)  # an engine tells of thousands of things that happen in the same second
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def micros(text: str) -> int:
    """RFC 3339 as stored microseconds, a fraction finer than that rounded up; `ValueError` when it is no such time."""
    found = _RFC3339.fullmatch(text)
    if not found:
        raise ValueError("expected RFC 3339")
    date, clock, fraction, zone = found.groups()
    try:
        whole = datetime.fromisoformat(f"{date}T{clock}{zone.upper()}") - _EPOCH
    except OverflowError as error:
        raise ValueError("out of range") from error
    digits = (fraction or ".")[1:].ljust(6, "0")
    return whole // timedelta(microseconds=1) + int(digits[:6]) + (digits[6:].strip("0") != "")
