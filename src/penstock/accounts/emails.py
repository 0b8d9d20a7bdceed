"""What counts as an email address, and the one form in which it is stored and compared."""

import re

from penstock.problems import FieldError, Invalid

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_EMAIL = re.compile(rf"[^\s@<>()\[\],;:\"\\\x00-\x1f\x7f]{{1,64}}@(?:{_LABEL}\.)+{_LABEL}")
_LONGEST = 254


def canonical(text: str) -> str | None:
    """Lower case, no surrounding space; None when it is not an email address."""
    email = text.strip().lower()
    if len(email) > _LONGEST or not _EMAIL.fullmatch(email):
        return None
    local = email.rpartition("@")[0]
    if local.startswith(".") or local.endswith(".") or ".." in local:
        return None
    if "=?" in local:
        # An encoded word: mail software would decode it, into another address than the one that we compare.
        return None
    return email


def required(text: str) -> str:
    """The canonical form, or `Invalid`."""
    email = canonical(text)
    # `.invalid` is how accounts without an email are named (`<id>@<provider>.invalid`): nobody may sit there first.
    if email is None or email.endswith(".invalid"):
        raise Invalid("that is not an email address", errors=[FieldError("/email", "expected an email address")])
    return email


def domain(email: str) -> str:
    return email.rpartition("@")[2]
