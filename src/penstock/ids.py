"""Ids that grow with time, so that indexes stay local."""

import os
import re
import time

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_VERSION_7 = (7 << 76) | (2 << 62)
_FREE = ~((0xF << 76) | (0x3 << 62))
_DRAWN = 256
_chances: list[int] = []
# A copy of this process must not come to the same ids.
os.register_at_fork(after_in_child=_chances.clear)


def is_uuid(text: str) -> bool:
    return len(text) == 36 and _UUID.fullmatch(text) is not None


def uuid7() -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, the rest random."""
    try:
        chance = _chances.pop()
    except IndexError:
        _draw()
        chance = _chances.pop()
    return uuid7_of(time.time_ns() // 1_000_000, chance)


def _draw() -> None:
    """Many at a time: asking the system costs more than all the rest."""
    drawn = os.urandom(10 * _DRAWN)
    _chances.extend(int.from_bytes(drawn[at : at + 10], "big") for at in range(0, len(drawn), 10))


def uuid7_of(milliseconds: int, chance: int) -> str:
    """With 80 bits of chance: for whoever must come to the same one again."""
    value = (milliseconds << 80) | chance
    # Written here: a UUID object on the way to its text takes as long as all the rest.
    text = f"{value & _FREE | _VERSION_7:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
