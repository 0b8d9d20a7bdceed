"""How the command line of Docker or Podman is called: with what it needs to reach the daemon, and nothing else."""

import os
import re
from collections.abc import Mapping

from penstock.engine.tasks.processes.command import Command, program

# Of the server's environment: how its user reaches the daemon, the registries and, rootless, the storage.
OWN = re.compile(r"HOME|USER|XDG_RUNTIME_DIR|(DOCKER|CONTAINER|CONTAINERS|PODMAN)_\w+", re.ASCII)


def client() -> str:
    return program("docker", "podman", needs="a container")


def called(
    arguments: list[str],
    environment: Mapping[str, str] | None = None,
    stdin: str | None = None,
    last: list[str] | None = None,
) -> Command:
    own = {name: value for name, value in os.environ.items() if OWN.fullmatch(name)}
    return Command(
        arguments=arguments,
        environment={**(environment or {}), **own},
        stdin=stdin,
        last=last or [],
        # Podman leaves a monitor behind, which cleans up.
        adopts=False,
    )
