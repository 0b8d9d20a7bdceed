"""Optimistic locking: a workflow's ETag, and whether an `If-Match` means the workflow as it is."""

import re

from penstock.problems import FieldError, Invalid, PreconditionFailed

_LONGEST = 1024
_TAG = r'(?:W/)?"[^"]*"'
_TAGS = re.compile(rf"\s*{_TAG}(?:\s*,\s*{_TAG})*\s*")


def etag(revision: int) -> str:
    return f'"{revision}"'


def require_match(if_match: str, revision: int) -> None:
    """None sent: anything goes. A weak tag never matches here (RFC 9110, 13.1.1)."""
    if not if_match or if_match.strip() == "*":
        return
    if len(if_match) > _LONGEST or not _TAGS.fullmatch(if_match):
        message = 'expected the ETag of an earlier answer, such as "3", or *'
        raise Invalid(f"If-Match: {message}", errors=[FieldError("", message)])
    if etag(revision) not in re.findall(_TAG, if_match):
        raise PreconditionFailed(
            f"somebody changed it meanwhile (it is {etag(revision)} now); read it again, then repeat the change",
            headers={"ETag": etag(revision)},
        )
