"""`run: shell`: a command for /bin/sh, with its arguments as $1, $2 …"""

from collections.abc import Mapping
from typing import Any

from penstock.engine.tasks.processes.command import (
    Command,
    allow,
    environment_of,
    list_of,
    program,
    required_text,
    stdin_of,
)
from penstock.engine.tasks.processes.outcome import perform_command
from penstock.engine.tasks.work import Performed, Work

_WHAT = "shell command"


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    allow("shell", work)
    command = Command(
        # Whatever stands in an argument is never read as a command: it is a parameter of its own.
        arguments=[
            program("sh", needs="a shell command"),
            "-c",
            required_text(arguments, "command", _WHAT),
            "sh",
            *list_of(arguments, _WHAT),
        ],
        environment=environment_of(arguments, _WHAT),
        stdin=stdin_of(arguments),
    )
    return await perform_command("Shell command", command, arguments, work)
