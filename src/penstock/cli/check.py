"""`penstock check`: what is wrong with workflow definitions, said as a compiler says it."""

import json
import sys
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.text import Text

from penstock.cli.definitions import DefinitionFile, read_definition, shown_name
from penstock.cli.errors import CommandError
from penstock.dsl.check import PROCESSES, Finding, errors
from penstock.dsl.check import check as findings_of
from penstock.dsl.schema import json_schema

_STYLES = {"error": "bold red", "warning": "bold yellow"}


def check(
    *files: DefinitionFile,
    schema: Annotated[
        bool, Parameter(negative="", help="Print the JSON Schema of definitions instead, for an editor.")
    ] = False,
    as_json: Annotated[bool, Parameter(name="--json", negative="", help="For programs.")] = False,
    allow: Annotated[
        str | None,
        Parameter(help="Processes that may be started: script, shell, container, mcp; or none. All, by default."),
    ] = None,
) -> None:
    if schema:
        print(json.dumps(json_schema(), indent=2, ensure_ascii=False))
        return
    if not files:
        raise CommandError("name a definition to check; - reads standard input")
    processes = PROCESSES if allow is None else _processes(allow)
    found = {name: findings_of(read_definition(name), processes=processes) for name in files}
    if as_json:
        _print_json(found)
    else:
        _print(found)
    sys.exit(1 if any(errors(findings) for findings in found.values()) else 0)


def _processes(text: str) -> frozenset[str]:
    names = {name.strip() for name in text.split(",") if name.strip()} - {"none"}
    if unknown := sorted(names - PROCESSES):
        raise CommandError(f"--allow: there is no {unknown[0]!r}; known are {', '.join(sorted(PROCESSES))} and none")
    return frozenset(names)


def _print_json(found: dict[str, list[Finding]]) -> None:
    files = [
        {
            "file": shown_name(name),
            "valid": not errors(findings),
            "findings": [msgspec.structs.asdict(finding) for finding in findings],
        }
        for name, findings in found.items()
    ]
    print(json.dumps({"valid": all(file["valid"] for file in files), "files": files}, indent=2, ensure_ascii=False))


def _print(found: dict[str, list[Finding]]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for name, findings in found.items():
        print_findings(name, findings, console)
    print(_summary(found), file=sys.stderr)


def print_findings(name: str, findings: list[Finding], console: Console) -> None:
    for finding in findings:
        place = f"{shown_name(name)}:{finding.line}:{finding.column}:"
        said = (f"{finding.severity}[{finding.code}]", _STYLES[finding.severity])
        console.print(Text.assemble((place, "bold"), " ", said, " ", finding.message))


def _summary(found: dict[str, list[Finding]]) -> str:
    every = [finding for findings in found.values() for finding in findings]
    wrong = len(errors(every))
    counts = f"{_count(wrong, 'error')}, {_count(len(every) - wrong, 'warning')}" if every else "no findings"
    return f"{_count(len(found), 'file')} checked: {counts}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
