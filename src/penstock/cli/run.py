"""`penstock run`: a workflow on this machine, with no server. What it gives out is all that is on standard output."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NoReturn

from cyclopts import Parameter
from rich.console import Console

from penstock.cli.check import print_findings
from penstock.cli.definitions import read_definition
from penstock.cli.errors import CommandError
from penstock.cli.run_arguments import BadArgument, Given, given
from penstock.cli.run_progress import Lines, Recorder, Tree
from penstock.dsl.build import NotValid, workflow_of
from penstock.dsl.check import check, errors
from penstock.dsl.model import Workflow
from penstock.dsl.parse import NotReadable, parse
from penstock.engine.faults import Error, Fault
from penstock.engine.local import Library, LocalEngine, NoSuchTask, local_performer, mocked
from penstock.engine.tasks.secrets import Secrets

FAULTED, REFUSED, INTERRUPTED = 1, 2, 130
_DEFINITIONS = {".yaml", ".yml", ".json"}


def run(
    file: Annotated[Path, Parameter(help="The workflow; - is standard input.", allow_leading_hyphen=True)],
    /,
    *,
    input: Annotated[  # noqa: A002 - the option's name
        str | None,
        Parameter(help="JSON, @file, or - for standard input. Default: {}.", allow_leading_hyphen=True),
    ] = None,
    mock: Annotated[
        list[str] | None,
        Parameter(
            negative="", help="task=JSON or task=@file: its output (by name or reference), instead of performing it."
        ),
    ] = None,
    secret: Annotated[
        list[str] | None, Parameter(negative="", help="NAME=value or NAME=@file: a secret that the workflow uses.")
    ] = None,
    event: Annotated[
        list[str] | None, Parameter(negative="", help="JSON or @file: a CloudEvent (or several) for what listens.")
    ] = None,
    with_: Annotated[
        list[Path] | None,
        Parameter(name="--with", negative="", help="A workflow that this one runs. Default: those in the same folder."),
    ] = None,
    as_json: Annotated[
        bool, Parameter(name="--json", negative="", help="Status, output, error and steps in one document.")
    ] = False,
    quiet: Annotated[bool, Parameter(negative="", help="Show no progress.")] = False,
) -> None:
    try:
        arguments = given(input, mock or [], secret or [], event or [])
        text = read_definition(str(file))
        _require_valid(text, file, quiet=quiet)
        library = Library([_companion(path) for path in with_ or []], lambda: _siblings(file))
        workflow = mocked(workflow_of(text), arguments.mocks)
        _require_secrets(workflow, arguments)
    except (BadArgument, CommandError, NoSuchTask) as error:
        _refuse(str(error))
    secrets = Secrets(arguments.secrets)
    progress = (Recorder if quiet else Tree if sys.stderr.isatty() else Lines)(secrets)
    try:
        outcome = asyncio.run(_run(workflow, library, arguments, progress, _folder(file)))
    except KeyboardInterrupt:
        print("penstock: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    _tell(outcome, text, file, progress if as_json else None)


async def _run(workflow: Workflow, library: Library, arguments: Given, progress: Recorder, files: Path) -> Any:
    """The output, or the error."""
    async with local_performer(files) as performer:
        engine = LocalEngine(performer, library=library, secrets=progress.secrets, watch=progress)
        for event in arguments.events:
            engine.bus.publish(event)
        with progress.shown():
            try:
                return progress.secrets.mask(await engine.run(workflow, arguments.input))
            except Fault as fault:
                return Error(**progress.secrets.mask(fault.error.as_data()))


def _tell(outcome: Any, text: str, file: Path, progress: Recorder | None) -> None:
    error = outcome if isinstance(outcome, Error) else None
    if progress is not None:
        ended = {"status": "failed", "error": error.as_data()} if error else {"status": "completed", "output": outcome}
        _print(ended | {"steps": progress.steps})
    elif error is None:
        _print(outcome)
    if error is not None:
        print("\n".join(_lines_of(error, text, file)), file=sys.stderr)
        sys.exit(FAULTED)


def _print(data: Any) -> None:
    print(json.dumps(data, indent=2, ensure_ascii=False))


def _lines_of(error: Error, text: str, file: Path) -> Iterator[str]:
    yield "penstock: the workflow faulted"
    for name, value in error.as_data().items():
        yield f"  {name + ':':<10}{value}"
    if error.instance is not None and (place := _place(error.instance, text)) is not None:
        yield f"  at {file}:{place[0]}:{place[1]}"


def _place(instance: str, text: str) -> tuple[int, int] | None:
    """Where a JSON pointer into the definition leads, when it leads somewhere."""
    parsed = parse(text)
    if parsed is None:
        return None
    path: list[str | int] = []
    data = parsed.data
    for part in instance.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        match data:
            case list() if name.isdigit() and int(name) < len(data):
                path.append(int(name))
                data = data[int(name)]
            case dict() if name in data:
                path.append(name)
                data = data[name]
            case _:
                return None
    return parsed.position(tuple(path))


def _require_valid(text: str, file: Path, *, quiet: bool) -> None:
    findings = check(text)
    wrong = errors(findings)
    if wrong or not quiet:
        print_findings(str(file), findings, Console(stderr=True, highlight=False, soft_wrap=True))
    if wrong:
        sys.exit(REFUSED)


def _require_secrets(workflow: Workflow, arguments: Given) -> None:
    for name in workflow.secrets:
        if name not in arguments.secrets:
            raise BadArgument(f"the workflow uses the secret {name}: give it with --secret {name}=VALUE")


def _companion(file: Path) -> Workflow:
    text = read_definition(str(file))
    _require_valid(text, file, quiet=True)
    return workflow_of(text)


def _siblings(file: Path) -> Iterator[Workflow]:
    """Workflows beside this one. Other files may lie there, too."""
    for path in sorted(_folder(file).iterdir()):
        if path.suffix in _DEFINITIONS and path.is_file():
            try:
                text = path.read_text("utf-8")
                if not errors(check(text)):
                    yield workflow_of(text)
            except (OSError, UnicodeDecodeError, NotReadable, NotValid):
                continue


def _folder(file: Path) -> Path:
    return Path.cwd() if str(file) == "-" else file.resolve().parent


def _refuse(message: str) -> NoReturn:
    print(f"penstock: {message}", file=sys.stderr)
    sys.exit(REFUSED)
