"""What a body means: data to bytes by the content type that is sent, bytes to data by the one that came."""

import codecs
from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec

from penstock.engine.faults import communication, validation

FORM = "application/x-www-form-urlencoded"
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_TEXTUAL = frozenset(
    {
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/javascript",
        "application/x-ndjson",
        FORM,
    }
)
# Codecs for text, by Python's names. Others (punycode, idna) take a time that grows with the square of the text.
_CHARSETS = ("utf-", "ascii", "iso8859", "cp125", "koi8", "shift_jis", "euc_", "gb", "big5", "cp932", "cp949", "mac-")


def encoded(body: Any, content_type: str | None) -> tuple[bytes, str]:
    """A request's body, and its content type. A text goes as it is; anything else as JSON, or as a form."""
    kind = content_type or (_TEXT if isinstance(body, str) else _JSON)
    try:
        if isinstance(body, str):
            return body.encode(_charset(kind)), kind
        if is_json(kind):
            return msgspec.json.encode(body), kind
        if media_type(kind) == FORM and isinstance(body, Mapping):
            return urlencode([pair for name, value in body.items() for pair in pairs(name, value)]).encode(), kind
    except UnicodeEncodeError as error:
        raise validation("Body not sendable", f"the body has characters that {kind!r} does not have") from error
    raise validation(
        "Body not sendable",
        f"an object cannot be sent as {kind[:100]!r}: leave the content type out to send JSON, or give text",
    )


def decoded(body: bytes, content_type: str) -> Any:
    """An answer's content: JSON as data, text as text, anything else as base64; None when there is nothing."""
    if not body:
        return None
    if is_json(content_type):
        return _from_json(body, content_type)
    return text_of(body, content_type) if is_text(content_type) else b64encode(body).decode()


def _from_json(body: bytes, content_type: str) -> Any:
    charset = _charset(content_type)
    try:
        return msgspec.json.decode(body.removeprefix(codecs.BOM_UTF8) if charset == "utf-8" else body.decode(charset))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise communication(
            "Answer not understood", "the answer says that it is JSON, but is not; `output: raw` takes it as it is"
        ) from error


def text_of(body: bytes, content_type: str) -> str:
    """Bytes that are no characters become U+FFFD, as in a browser; `output: raw` has them all."""
    return body.removeprefix(codecs.BOM_UTF8).decode(_charset(content_type), errors="replace")


def is_json(content_type: str) -> bool:
    kind = media_type(content_type)
    return kind in (_JSON, "text/json") or kind.endswith("+json")


def is_text(content_type: str) -> bool:
    kind = media_type(content_type)
    return kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(("+xml", "+yaml"))


def media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """A parameter of a query or a form: lists repeat it, null leaves it out."""
    if value is None:
        return []
    return [(name, plain(item)) for item in value] if isinstance(value, list) else [(name, plain(value))]


def plain(value: Any) -> str:
    """A value within a text: texts as they are, the rest as JSON (`true`, not `True`)."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _charset(content_type: str) -> str:
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            try:
                found = codecs.lookup(value.strip().strip("\"'")).name
            except (LookupError, ValueError):
                break
            return found if found.startswith(_CHARSETS) else "utf-8"
    return "utf-8"
