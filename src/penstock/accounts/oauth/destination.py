"""Where the browser goes after sign-in: only ever to a path on this site."""

import re
import string
from urllib.parse import quote, unquote

HOME = "/"
LONGEST = 1024
DEEPEST_ENCODING = 4

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_KEPT = string.ascii_letters + string.digits + "-._~!$&'()*+,;=:@/?#%[]"


def safe_next(value: str | None) -> str:
    """`value` when it is a path on this site, else `/`.

    The path is looked at in every depth of percent-encoding, because a proxy or a client-side router may decode
    it once more than we do: `/%2f/evil.example` would become `//evil.example`, which is another host.
    """
    if not value or len(value) > LONGEST or "\\" in value or _CONTROL.search(value):
        return HOME
    try:
        location = quote(value, safe=_KEPT)
    except UnicodeEncodeError:
        return HOME
    path = re.split(r"[?#]", value, maxsplit=1)[0]
    if len(location) > LONGEST or not _stays_here(path):
        return HOME
    return location


def _stays_here(path: str) -> bool:
    for _ in range(DEEPEST_ENCODING):
        # browsers read `\` as `/` and drop tabs and newlines before they look for `//`
        if not path.startswith("/") or "//" in path or "\\" in path or _CONTROL.search(path):
            return False
        decoded = unquote(path)
        if decoded == path:
            return True
        path = decoded
    return False
