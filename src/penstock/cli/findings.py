"""What a check of `penstock doctor` finds: a level, what is the case, and what to do about it."""

from collections.abc import AsyncIterator, Callable
from typing import Literal

from msgspec import Struct

from penstock.settings import Loaded

Level = Literal["ok", "warn", "fail"]


class Finding(Struct, frozen=True):
    check: str
    level: Level
    says: str
    todo: str = ""


Check = Callable[[Loaded], AsyncIterator[Finding]]


def ok(check: str, says: str) -> Finding:
    return Finding(check, "ok", says)


def warn(check: str, says: str, todo: str) -> Finding:
    return Finding(check, "warn", says, todo)


def fail(check: str, says: str, todo: str) -> Finding:
    return Finding(check, "fail", says, todo)
