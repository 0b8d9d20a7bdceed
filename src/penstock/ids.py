"""Ids that grow with time, so that indexes stay local."""

import os
import re
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import cycle

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_VERSION_7 = (7 << 76) | (2 << 62)
_FREE = ~((0xF << 76) | (0x3 << 62))
# The digit that begins with the variant, from any other: two of its bits are free.
_VARIANTS = str.maketrans("0123456789abcdef", "89ab" * 4)
_COUNTED = tuple(f"{n:03x}" for n in range(1 << 12))
_DRAWN = 256
_tails: list[str] = []
# A copy of this process must not come to the same ids.
os.register_at_fork(after_in_child=_tails.clear)


def is_uuid(text: str) -> bool:
    return len(text) == 36 and _UUID.fullmatch(text) is not None


def uuid7() -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, 12 that count what this process makes in one, so that
    ids are in the order in which they were made, and 62 of chance."""
    head, counted = _moment(time.time_ns() // 1_000_000)
    return head + next(counted) + _tail()[3:]


@lru_cache(maxsize=1)  # many are made in the same millisecond
def _moment(milliseconds: int) -> tuple[str, Iterator[str]]:
    text = f"{milliseconds:012x}"
    return f"{text[:8]}-{text[8:]}-7", cycle(_COUNTED)


def uuid4() -> str:
    """A UUID of version 4: nothing but chance."""
    head = _tail()[-12:]
    return f"{head[:8]}-{head[8:]}-4{_tail()}"


def _tail() -> str:
    """What follows the version, with 74 bits of chance. Many are drawn, and written out, at a time: asking the system,
    and numbers on the way to their text, cost more than all the rest."""
    if not _tails:
        drawn = os.urandom(10 * _DRAWN).hex()
        variants = drawn[::20].translate(_VARIANTS)
        for at, variant in zip(range(0, len(drawn), 20), variants, strict=True):
            _tails.append(f"{drawn[at + 1 : at + 4]}-{variant}{drawn[at + 4 : at + 7]}-{drawn[at + 7 : at + 19]}")
    return _tails.pop()


def uuid7_of(milliseconds: int, chance: int) -> str:
    """With 80 bits of chance: for whoever must come to the same one again."""
    text = f"{((milliseconds << 80) | chance) & _FREE | _VERSION_7:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@cache
def this_process() -> str:
    """Who this process is among all that share a database. A copy of it is somebody else."""
    return os.urandom(16).hex()


os.register_at_fork(after_in_child=this_process.cache_clear)
