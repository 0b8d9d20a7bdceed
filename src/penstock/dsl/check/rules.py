"""What is asked of single values beyond their shape: durations, cron expressions, time zones, schemas, addresses."""

import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import jsonschema_rs

from penstock.dsl.check.finding import Findings, shown
from penstock.dsl.check.walk import Seen
from penstock.dsl.cron import NotACron, require_cron
from penstock.dsl.durations import NotADuration, microseconds
from penstock.dsl.grammar import arguments
from penstock.dsl.grammar.nodes import Rule
from penstock.dsl.parse import Path

_SHORTEST_INTERVAL = 1_000_000
_UNITS = {"days", "hours", "minutes", "seconds", "milliseconds"}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_RESERVED = arguments.ALL | {"ENV", "__loc__", "__prog_args"}
_PLACE = re.compile(r"\{([^{}]*)\}")
_SIMPLE = re.compile(r"[^\s{}+#/;?&=,!@|*:]+")


def check_rules(seen: Seen, findings: Findings) -> None:
    for rule, path, value in seen.rules:
        _RULES[rule](path, value, findings)


def _duration(path: Path, value: Any, findings: Findings) -> None:
    _length(path, value, findings)


def _positive(path: Path, value: Any, findings: Findings) -> None:
    length = _length(path, value, findings)
    if length is not None and length < _SHORTEST_INTERVAL:
        findings.add(path, "must be a second or longer: it would keep everybody else from their turn", "duration")


def _length(path: Path, value: Any, findings: Findings) -> int | None:
    try:
        return microseconds(value)
    except NotADuration as error:
        # What has the wrong shape has been told already, at the member that has it.
        if isinstance(value, str) or _is_whole(value):
            findings.add(path, str(error), "duration")
        return None


def _is_whole(value: Any) -> bool:
    return bool(value) and all(name in _UNITS and type(amount) is int and amount >= 0 for name, amount in value.items())


def _jitter(path: Path, value: Any, findings: Findings) -> None:
    try:
        least, most = microseconds(value.get("from")), microseconds(value.get("to"))
    except NotADuration:
        return
    if least > most:
        findings.add(path, "from is longer than to: exchange them", "duration")


def _cron(path: Path, value: Any, findings: Findings) -> None:
    try:
        require_cron(value)
    except NotACron as error:
        findings.add(path, str(error), "cron")


def _timezone(path: Path, value: Any, findings: Findings) -> None:
    if not _exists(value):
        findings.add(
            path, f"there is no time zone {shown(value)}; one is called like Europe/Berlin, or UTC", "timezone"
        )


def _exists(name: str) -> bool:
    try:
        ZoneInfo(name)
    # The name becomes the name of a file, and whatever a file's name can be wrong in, it can be wrong in.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _schema(path: Path, value: Any, findings: Findings) -> None:
    try:
        # Offline: what a schema refers to would be fetched by whoever checks it.
        jsonschema_rs.validator_for(value, offline=True)
    except jsonschema_rs.ValidationError as error:
        at: Path = tuple(error.instance_path)
        findings.add((*path, *at), f"not a JSON Schema: {error.message[:300]}", "schema")
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        findings.add(path, f"not a JSON Schema: {str(error)[:300]}", "schema")


def _uri_template(path: Path, value: Any, findings: Findings) -> None:
    for place in _PLACE.findall(value):
        if not _SIMPLE.fullmatch(place):
            message = f"{{{place[:50]}}} is not known here: only the name of a member of the input may stand in {{ }}"
            findings.add(path, message, "uri-template")
    if set(_PLACE.sub("", value)) & {"{", "}"}:
        findings.add(path, "a { has no } or the reverse: each name stands in its own { }", "uri-template")


def _variable(path: Path, value: Any, findings: Findings) -> None:
    if not _VARIABLE.fullmatch(value):
        message = f"{shown(value)} cannot be the name of a variable: letters, digits and _, no digit first"
        findings.add(path, message, "variable-name")
    elif value in _RESERVED:
        findings.add(path, f"${value} is the language's own variable: choose another name", "variable-name")


def _nothing_known(path: Path, value: Any, findings: Findings) -> None:
    for name in value:
        findings.add((*path, name), f"{shown(name)} is ignored: nothing is known here", "ignored", "warning")


_RULES: dict[Rule, Callable[[Path, Any, Findings], None]] = {
    "cron": _cron,
    "duration": _duration,
    "positive-duration": _positive,
    "jitter": _jitter,
    "uri-template": _uri_template,
    "schema-document": _schema,
    "timezone": _timezone,
    "variable": _variable,
    "nothing-known": _nothing_known,
}
