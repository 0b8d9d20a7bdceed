"""Names, slugs and other short texts that people give to things."""

import hashlib
import re
import unicodedata
from typing import Any

import msgspec

from penstock.http.bodies import storable
from penstock.problems import FieldError, Invalid

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")  # the escape, not a text that talks about it
LONGEST_NAME = 255
_LONGEST_SLUG = 100
_MOST_METADATA = 16 * 1024


def invalid(member: str, message: str) -> Invalid:
    return Invalid(f"{member}: {message}", errors=[FieldError(f"/{member}", message)])


def valid_name(text: str, member: str = "name") -> str:
    name = text.strip()
    if not name:
        raise invalid(member, "must not be blank")
    return valid_text(name, member, LONGEST_NAME)


def valid_text(text: str, member: str, longest: int) -> str:
    if len(text) > longest:
        raise invalid(member, f"may have {longest} characters at most")
    if not storable(text):
        raise invalid(member, "contains a character that cannot be stored")
    return text


def valid_slug(text: str) -> str:
    if len(text) > _LONGEST_SLUG or not _SLUG.fullmatch(text):
        raise invalid("slug", "expected lower-case letters and digits, in words joined by -")
    return text


def slug_from(name: str) -> str:
    """`Größe & Wert` becomes `grosse-wert`; a name with no letter that fits gets one made from all of it."""
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode().lower()
    return "-".join(re.findall(r"[a-z0-9]+", plain))[:_LONGEST_SLUG].strip("-") or _slug_of_any(name)


def _slug_of_any(name: str) -> str:
    return f"name-{hashlib.sha256(name.encode()).hexdigest()[:12]}"


def valid_metadata(value: dict[str, Any]) -> str:
    """As stored: a JSON object of bounded size."""
    encoded = msgspec.json.encode(value)
    if len(encoded) > _MOST_METADATA:
        raise invalid("metadata", f"may have {_MOST_METADATA} bytes at most")
    text = encoded.decode()
    if _NUL.search(text):
        raise invalid("metadata", "contains a character that cannot be stored")
    return text


def same_json(one: Any, other: Any) -> bool:
    """Whether two values are one in JSON: in Python `True == 1 == 1.0`, and a change from one to the other is one."""
    if not isinstance(one, dict | list):
        return type(one) is type(other) and bool(one == other)
    return bool(one == other) and _sorted(one) == _sorted(other)


def _sorted(value: Any) -> bytes:
    return msgspec.json.encode(value, order="sorted")
