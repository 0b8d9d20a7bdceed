"""Ids that grow with time, so that indexes stay local."""

import os
import re
import time
import uuid

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def is_uuid(text: str) -> bool:
    return len(text) == 36 and _UUID.fullmatch(text) is not None


def uuid7() -> str:
    """A UUID of version 7 (RFC 9562): 48 bits of milliseconds, the rest random."""
    value = (time.time_ns() // 1_000_000 << 80) | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | (7 << 76)
    value = value & ~(0x3 << 62) | (2 << 62)
    return str(uuid.UUID(int=value))
