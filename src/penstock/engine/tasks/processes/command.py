"""What is to be started, made of a task's values. Whatever is no text becomes JSON."""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from penstock.engine.faults import Fault, configuration, validation
from penstock.engine.tasks.work import Process, Work

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*", re.ASCII)


class Command(msgspec.Struct, frozen=True, kw_only=True):
    arguments: Sequence[str]
    """The program and its arguments; no shell reads them."""
    environment: Mapping[str, str] = {}
    stdin: str | None = None
    files: Mapping[str, str] = {}
    """Written into its working directory."""
    result: str | None = None
    """A file in its working directory that it may write."""
    last: Sequence[str] = ()
    """Run when it is ended before its time."""
    adopts: bool = True
    """Whether what it leaves behind is ended with it."""


def allow(kind: Process, work: Work) -> None:
    if kind not in work.tools.limits.processes:
        raise configuration(
            f"This server starts no {kind}",
            f"add {kind!r} to the setting `processes` to let workflows start them on the server's machine",
            status=403,
        )


def program(*names: str, needs: str) -> str:
    """The first of these programs that the machine has."""
    for name in names:
        if found := shutil.which(name):
            return found
    missing = " or ".join(names)
    raise configuration(f"{missing} is missing", f"{needs} needs the program {missing} on the server's PATH")


def search_path() -> str:
    return os.environ.get("PATH", os.defpath)


def interpreter() -> str:
    """Of Python: our own, where it can be told."""
    return sys.executable or program("python3", needs="a Python script")


def text_of(value: Any, what: str) -> str:
    """As a program is given it."""
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if "\0" in text or not _is_unicode(text):
        raise validation("Not a text that a process can be given", f"{what} holds a NUL or half a character")
    return text


def stdin_of(arguments: Mapping[str, Any]) -> str | None:
    value = arguments.get("stdin")
    if value is None:
        return None
    return value if isinstance(value, str) and _is_unicode(value) else text_of(value, "stdin")


def list_of(arguments: Mapping[str, Any], what: str) -> list[str]:
    given = arguments.get("arguments")
    if given is None:
        return []
    if not isinstance(given, list):
        raise _not(what, "arguments", "a list")
    return [text_of(item, f"argument {number}") for number, item in enumerate(given, 1)]


def environment_of(arguments: Mapping[str, Any], what: str) -> dict[str, str]:
    given = map_of(arguments, "environment", what)
    for name in given:
        if not _NAME.fullmatch(name):
            raise validation("Not a name of a variable", f"{name[:100]!r} in the environment of the {what}")
    return {name: text_of(value, f"the variable {name}") for name, value in given.items()}


def map_of(arguments: Mapping[str, Any], member: str, what: str) -> dict[str, Any]:
    given = arguments.get(member)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise _not(what, member, "a mapping")
    return given


def required_text(arguments: Mapping[str, Any], member: str, what: str) -> str:
    given = arguments.get(member)
    if not isinstance(given, str):
        raise _not(what, member, "a text")
    return text_of(given, member)


def _not(what: str, member: str, expected: str) -> Fault:
    return validation(f"Not the {member} of a {what}", f"{member} of a {what} must be {expected}")


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
