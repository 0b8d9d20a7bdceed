"""CloudEvents 1.0 as they come over HTTP: structured, binary, or a batch."""

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from penstock.dsl.depth import DEEPEST, too_deep
from penstock.problems import FieldError, Invalid, TooLarge, WrongType

_STRUCTURED = "application/cloudevents+json"
_BATCH = "application/cloudevents-batch+json"
_REQUIRED = ("id", "source", "type")
_ATTRIBUTE = re.compile(r"[a-z0-9]{1,100}")  # 20 is what CloudEvents recommend, and no limit
_MOST_EVENTS = 1_000
_MOST_BYTES = 256 * 1024
_LONGEST = 2_048
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")

Event = dict[str, Any]


def read_events(headers: Mapping[str, str], body: bytes) -> list[Event]:
    """The events of a request, each valid and of a size that can be kept."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _BATCH:
        return _batch(_json(body))
    if kind == _STRUCTURED:
        return [_valid(_json(body), "")]
    if "ce-specversion" in headers:
        return [_valid(_binary(headers, kind, body), "")]
    raise WrongType(f"send a CloudEvent: {_STRUCTURED}, {_BATCH}, or headers ce-id, ce-source, ce-type, ce-specversion")


def _batch(data: Any) -> list[Event]:
    if not isinstance(data, list):
        raise Invalid("a batch is a list of events", errors=[FieldError("", "expected a list")])
    if len(data) > _MOST_EVENTS:
        raise TooLarge(f"a batch may have {_MOST_EVENTS} events at most")
    return [_valid(event, f"/{index}") for index, event in enumerate(data)]


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Invalid("the body is not JSON", errors=[FieldError("", "it cannot be read")]) from error


def _binary(headers: Mapping[str, str], kind: str, body: bytes) -> Event:
    event: Event = {
        name.removeprefix("ce-"): unquote(value) for name, value in headers.items() if name.startswith("ce-")
    }
    if kind:
        event["datacontenttype"] = headers["content-type"]
    if not body:
        return event
    if kind in {"", "application/json"} or kind.endswith("+json"):
        return event | {"data": _json(body)}
    if kind.startswith("text/"):
        try:
            return event | {"data": body.decode()}
        except UnicodeDecodeError:
            pass
    return event | {"data_base64": base64.b64encode(body).decode()}


def _valid(given: Any, at: str) -> Event:
    if not isinstance(given, dict):
        raise _wrong(at, "an event is an object")
    # An attribute that is null is none (CloudEvents' JSON format, 2.2).
    event: Event = {name: value for name, value in given.items() if value is not None or name == "data"}
    if event.get("specversion") != "1.0":
        raise _wrong(f"{at}/specversion", "expected 1.0")
    for name in _REQUIRED:
        if not isinstance(event.get(name), str) or not event[name].strip():
            raise _wrong(f"{at}/{name}", "expected text")
    for name, value in event.items():
        if name in {"data", "data_base64"}:
            continue
        if not _ATTRIBUTE.fullmatch(name):
            raise _wrong(f"{at}/{name[:50]}", "an attribute's name has small letters and digits, 100 at most")
        if not isinstance(value, str | int | bool) or (isinstance(value, str) and len(value) > _LONGEST):
            raise _wrong(f"{at}/{name}", f"expected text of {_LONGEST} characters at most, a whole number or a boolean")
    if "data_base64" in event:
        if "data" in event:
            raise _wrong(f"{at}/data_base64", "an event has either data or data_base64")
        _require_base64(event, at)
    _require_storable(event, at)
    return event


def _require_storable(event: Event, at: str) -> None:
    try:
        encoded = msgspec.json.encode(event)
    except RecursionError:
        encoded = None
    if encoded is None or too_deep(event, encoded):
        raise _wrong(f"{at}/data", f"may be nested {DEEPEST} levels deep")
    if len(encoded) > _MOST_BYTES:
        raise TooLarge(f"an event may have {_MOST_BYTES} bytes at most")
    if _NUL.search(encoded):
        raise _wrong(at, "contains a character that cannot be stored")


def _require_base64(event: Event, at: str) -> None:
    try:
        base64.b64decode(event["data_base64"], validate=True)
    except (TypeError, ValueError) as error:
        raise _wrong(f"{at}/data_base64", "expected base64") from error


def _wrong(path: str, message: str) -> Invalid:
    return Invalid(f"not a CloudEvent: {path.lstrip('/') or 'it'}: {message}", errors=[FieldError(path, message)])
