"""Workflow definitions at the terminal: reading one from a file or from standard input."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.cli.errors import CommandError
from penstock.dsl.parse import LONGEST

STANDARD_INPUT = "-"
DefinitionFile = Annotated[str, Parameter(help="A definition; - reads standard input.", allow_leading_hyphen=True)]


def read_definition(name: str) -> str:
    """The text of a file, or of standard input for `-`; no more of it than is needed to say that it is too long."""
    if name.startswith("-") and name != STANDARD_INPUT:
        raise CommandError(f"there is no option {name}; for a file of that name write ./{name}")
    try:
        if name == STANDARD_INPUT:
            content = sys.stdin.buffer.read(LONGEST + 1)
        else:
            with Path(name).open("rb") as file:
                content = file.read(LONGEST + 1)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror or error}") from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) > LONGEST:
            return " " * len(content)
        raise CommandError(f"{name} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error


def shown_name(name: str) -> str:
    return "<stdin>" if name == STANDARD_INPUT else name
