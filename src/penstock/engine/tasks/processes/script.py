"""`run: script`: JavaScript by Node.js, or Python.

With a list of `arguments` (or none) the code is a program: it has them in `process.argv` or `sys.argv` and prints its
output. With a mapping of them it is the body of a function that has them as variables, as the specification's custom
functions are written: what it returns is the task's output, as data; when it returns nothing, what it printed is.
"""

import keyword
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from penstock.engine.faults import Fault, configuration, validation
from penstock.engine.tasks.processes.command import (
    Command,
    allow,
    environment_of,
    interpreter,
    list_of,
    program,
    required_text,
    stdin_of,
)
from penstock.engine.tasks.processes.outcome import perform_command
from penstock.engine.tasks.work import Performed, Work

_WHAT = "script"
_HERE = Path(__file__).parent
# Scripts are modules, since the specification's own import; those that say `require` work too. It stands on the code's
# first line, so that lines in messages are the author's.
_REQUIRE = (
    'import { createRequire as __createRequire } from "node:module"; '
    "globalThis.require = __createRequire(import.meta.url); "
)


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    allow("script", work)
    language = str(arguments.get("language", "")).lower()
    match language:
        case "js" | "javascript":
            command = _javascript(arguments)
        case "python":
            command = _python(arguments)
        case _:
            raise configuration(
                "Unknown language of a script",
                f"{language[:50]!r} is not known here: js and python are; run a container for any other",
            )
    return await perform_command("Script", command, arguments, work)


def _javascript(arguments: Mapping[str, Any]) -> Command:
    node = program("node", needs="a JavaScript script")
    code = required_text(arguments, "code", _WHAT)
    if isinstance(arguments.get("arguments"), dict):
        return _function(arguments, [node, str(_HERE / "function.mjs")], code)
    comment = "//" if code.startswith("#!") else ""
    return _program(arguments, [node], "script.mjs", _REQUIRE + comment + code)


def _python(arguments: Mapping[str, Any]) -> Command:
    named = arguments.get("arguments")
    python = [interpreter(), "-u"]  # unbuffered: its lines are logged while it runs
    code = required_text(arguments, "code", _WHAT)
    if isinstance(named, dict):
        if taken := next(filter(keyword.iskeyword, named), None):
            raise _no_variable(taken)
        return _function(arguments, [*python, str(_HERE / "function.py")], code)
    return _program(arguments, python, "script.py", code)


def _program(arguments: Mapping[str, Any], runs: list[str], name: str, code: str) -> Command:
    return Command(
        arguments=[*runs, name, *list_of(arguments, _WHAT)],
        environment=environment_of(arguments, _WHAT),
        stdin=stdin_of(arguments),
        files={name: code},
    )


def _function(arguments: Mapping[str, Any], runs: list[str], code: str) -> Command:
    named: dict[str, Any] = arguments["arguments"]
    for name in named:
        if not (name.isascii() and name.isidentifier()):
            raise _no_variable(name)
    return Command(
        arguments=[*runs, "code", "arguments.json", "result.json"],
        environment=environment_of(arguments, _WHAT),
        stdin=stdin_of(arguments),
        files={"code": code, "arguments.json": msgspec.json.encode(named).decode()},
        result="result.json",
    )


def _no_variable(name: str) -> Fault:
    return validation("Not a name of a variable", f"{name[:100]!r} in the arguments of the script")
