"""`penstock graph`: the flow of a workflow definition, drawn as Mermaid or DOT."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from penstock.cli.definitions import DefinitionFile, read_definition, shown_name
from penstock.cli.errors import CommandError
from penstock.dsl.check import check, errors
from penstock.dsl.graph import graph_of
from penstock.dsl.graph.dot import dot
from penstock.dsl.graph.mermaid import mermaid


def graph(
    file: DefinitionFile,
    /,
    *,
    format_: Annotated[Literal["mermaid", "dot"], Parameter(name="--format", help="The language of the drawing.")] = (
        "mermaid"
    ),
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="A file to write it to.")] = None,
) -> None:
    text = read_definition(file)
    if found := errors(check(text)):
        first = found[0]
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise _not_drawn(f"{shown_name(file)}:{first.line}: {first.message}{more}; `penstock check` says everything")
    drawn = {"mermaid": mermaid, "dot": dot}[format_](graph_of(text))
    if output is None:
        sys.stdout.write(drawn)
        return
    try:
        output.write_text(drawn, "utf-8")
    except OSError as error:
        raise _not_drawn(f"{output} cannot be written: {error.strerror or error}") from error


def _not_drawn(message: str) -> Exception:
    return CommandError(message)
