"""Semantic versions of documents in their order (semver.org, 11)."""

import re

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?")

Precedence = tuple[bool, tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]


def precedence(version: str) -> Precedence:
    """To compare by. What is no semantic version comes before all that are."""
    match = _VERSION.match(version)
    if match is None:
        return False, (), False, ((True, 0, version),)
    numbers = tuple(int(part) for part in match.groups()[:3])
    before = match[4]
    parts = before.split(".") if before is not None else []
    named = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return True, numbers, before is None, named
