"""Ids that grow with time, so that indexes stay local."""

import os
import re
import time
from functools import cache

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_VERSION_7 = (7 << 76) | (2 << 62)
_VERSION_4 = (4 << 76) | (2 << 62)
_FREE = ~((0xF << 76) | (0x3 << 62))
_DRAWN = 256
_chances: list[int] = []
# A copy of this process must not come to the same ids.
os.register_at_fork(after_in_child=_chances.clear)


def is_uuid(text: str) -> bool:
    return len(text) == 36 and _UUID.fullmatch(text) is not None


def uuid7() -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, the rest random."""
    return uuid7_of(time.time_ns() // 1_000_000, _chance())


def _chance() -> int:
    """80 bits. Many are drawn at a time: asking the system costs more than all the rest."""
    if not _chances:
        drawn = os.urandom(10 * _DRAWN)
        _chances.extend(int.from_bytes(drawn[at : at + 10], "big") for at in range(0, len(drawn), 10))
    return _chances.pop()


def uuid4() -> str:
    """A UUID of version 4: nothing but chance."""
    return _written((_chance() << 48 | _chance() & 0xFFFF_FFFF_FFFF) & _FREE | _VERSION_4)


def uuid7_of(milliseconds: int, chance: int) -> str:
    """With 80 bits of chance: for whoever must come to the same one again."""
    return _written(((milliseconds << 80) | chance) & _FREE | _VERSION_7)


def _written(value: int) -> str:
    # Here: a UUID object on the way to its text takes as long as all the rest.
    text = f"{value:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@cache
def this_process() -> str:
    """Who this process is among all that share a database. A copy of it is somebody else."""
    return os.urandom(16).hex()


os.register_at_fork(after_in_child=this_process.cache_clear)
