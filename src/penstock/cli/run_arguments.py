"""What `penstock run` is given on its command line, as data."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from penstock.dsl.parse import NotReadable, parse
from penstock.engine.host import Json
from penstock.ids import uuid7

_YAML = {".yaml", ".yml"}


class BadArgument(Exception):
    """The message says which, and what was expected."""


class Given(msgspec.Struct, frozen=True):
    input: Any
    mocks: dict[str, Any]
    secrets: dict[str, str]
    events: list[Json]


def given(input_: str | None, mocks: list[str], secrets: list[str], events: list[str]) -> Given:
    return Given(
        input={} if input_ is None else _data(input_, "--input"),
        mocks={name: _data(text, f"--mock {name}") for name, text in (_named(one, "--mock") for one in mocks)},
        secrets={name: _text(text, "--secret") for name, text in (_named(one, "--secret") for one in secrets)},
        events=[event for one in events for event in _events(_data(one, "--event"))],
    )


def _named(argument: str, option: str) -> tuple[str, str]:
    name, equals, value = argument.partition("=")
    if not equals or not name:
        raise BadArgument(f"{option} {argument}: expected NAME=VALUE")
    return name, value


def _text(value: str, option: str) -> str:
    if value == "-":
        return sys.stdin.read()
    if not value.startswith("@"):
        return value
    try:
        return Path(value[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadArgument(f"{option}: {value[1:]} cannot be read: {reason}") from error


def _data(value: str, option: str) -> Any:
    text = _text(value, option)
    if value.startswith("@") and Path(value).suffix in _YAML:
        try:
            parsed = parse(text)
        except NotReadable as error:
            raise BadArgument(f"{option}: {value[1:]}:{error.line}:{error.column}: {error.message}") from error
        return None if parsed is None else parsed.data
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise BadArgument(f"{option}: not JSON: {error}; a text needs its own quotes: '\"text\"'") from error


def _events(data: Any) -> list[Json]:
    """Whole CloudEvents: what is left out is filled in."""
    found = []
    for event in data if isinstance(data, list) else [data]:
        if not isinstance(event, dict) or not isinstance(event.get("type"), str):
            raise BadArgument("--event: a CloudEvent is an object with a type")
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        found.append({"specversion": "1.0", "id": uuid7(), "source": "penstock:run", "time": now} | event)
    return found
