"""`run: container`, by the command line of Docker or Podman.

Its `command` is read by the image's `sh`, with the arguments as $1, $2 …; with no command the arguments go to what
the image runs by itself. A container is kept after its end unless `lifetime` says otherwise, as the specification's
default has it. A cancelled one is stopped.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.dsl.durations import NotADuration, microseconds
from penstock.engine.faults import Fault, runtime, validation
from penstock.engine.tasks.processes.command import (
    Command,
    allow,
    environment_of,
    list_of,
    map_of,
    required_text,
    stdin_of,
    text_of,
)
from penstock.engine.tasks.processes.docker_client import OWN, called, client
from penstock.engine.tasks.processes.outcome import awaited, exited, in_background, output_of, returned, tail
from penstock.engine.tasks.processes.process import Ended, run
from penstock.engine.tasks.processes.removal import AFTER, CLEANUP, remove_later
from penstock.engine.tasks.work import Performed, Work
from penstock.ids import uuid7

_WHAT = "container"
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*", re.ASCII)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+", re.ASCII)
_OWN_FAILURE = 125  # of docker and podman themselves, not of what ran in the container
# Given to the client's own process, these would change the client.
_CHANGES_CLIENT = re.compile(rf"PATH|LANG|TMPDIR|LD_\w+|XDG_\w+|SSL_\w+|\w+_PROXY|\w+_proxy|{OWN.pattern}", re.ASCII)
_STOP_SECONDS = 2


class Container(msgspec.Struct, frozen=True):
    client: str
    image: str
    name: str
    options: list[str]
    inside: list[str]
    """What follows the image."""
    environment: dict[str, str]
    """For the client's process."""
    stdin: str | None
    pull: str
    cleanup: str
    after: float | None

    def run(self) -> Command:
        begin = [self.client, "run", f"--name={self.name}", "--pull=never"]
        if self.stdin is not None:
            begin.append("--interactive")
        if self.cleanup == "always":
            begin.append("--rm")
        return called(
            [*begin, *self.options, self.image, *self.inside],
            environment=self.environment,
            stdin=self.stdin,
            # The client's end is not the container's.
            last=self._end(),
        )

    def _end(self) -> list[str]:
        if self.cleanup == "always":
            return [self.client, "rm", "--force", self.name]
        return [self.client, "stop", f"--time={_STOP_SECONDS}", self.name]

    def present(self) -> Command:
        return called([self.client, "image", "inspect", "--format=.", self.image])

    def fetched(self) -> Command:
        return called([self.client, "pull", "--quiet", self.image])


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    allow("container", work)
    container = container_of(arguments, work, client())
    wanted = returned(arguments)
    if not awaited(arguments):
        in_background("Container", _ran(container, work), work)
        return Performed(None)
    return Performed(output_of("Container", await _ran(container, work), wanted, work))


async def _ran(container: Container, work: Work) -> Ended:
    await _pull(container, work)
    try:
        ended = await run(container.run(), work)
    finally:
        if container.after is not None:
            remove_later(container.client, container.name, container.after, work)
    if ended.code == _OWN_FAILURE:
        raise runtime("Container could not be started", tail(ended.stderr, work))
    return ended


async def _pull(container: Container, work: Work) -> None:
    """By itself, so that what it prints is not taken for the container's."""
    if container.pull == "never":
        return
    if container.pull == "ifNotPresent" and (await run(container.present(), work, logs=False)).code == 0:
        return
    work.says("info", f"pulling the image {container.image}")
    ended = await run(container.fetched(), work, logs=False)
    if ended.code != 0:
        raise runtime(f"Image {container.image} could not be pulled", exited("pull", ended, work).error.detail)


def container_of(arguments: Mapping[str, Any], work: Work, client: str) -> Container:
    cleanup, after = _lifetime(arguments)
    given, passed = _environment(arguments)
    labels = {"penstock.execution": work.execution_id, "penstock.key": work.key, CLEANUP: cleanup}
    if after is not None:
        labels[AFTER] = f"{after:g}"
    return Container(
        client=client,
        image=_matching(_IMAGE, required_text(arguments, "image", _WHAT), "an image"),
        name=_name(arguments, work),
        options=[
            *(f"--label={name}={value}" for name, value in labels.items()),
            *given,
            *(f"--publish={_pair(host, inside)}" for host, inside in map_of(arguments, "ports", _WHAT).items()),
            *(f"--volume={_pair(host, inside)}" for host, inside in map_of(arguments, "volumes", _WHAT).items()),
            *(["--entrypoint=sh"] if arguments.get("command") is not None else []),
        ],
        inside=_inside(arguments),
        environment=passed,
        stdin=stdin_of(arguments),
        pull=_one_of(arguments.get("pullPolicy", "ifNotPresent"), "pullPolicy", ("ifNotPresent", "always", "never")),
        cleanup=cleanup,
        after=after,
    )


def _inside(arguments: Mapping[str, Any]) -> list[str]:
    given = list_of(arguments, _WHAT)
    if arguments.get("command") is None:
        return given
    return ["-c", required_text(arguments, "command", _WHAT), "sh", *given]


def _environment(arguments: Mapping[str, Any]) -> tuple[list[str], dict[str, str]]:
    """Options, and what they refer to: values stay off the command line, which everybody on the machine can read."""
    variables = environment_of(arguments, _WHAT)
    passed = {name: value for name, value in variables.items() if not _CHANGES_CLIENT.fullmatch(name)}
    options = [f"--env={name}" if name in passed else f"--env={name}={value}" for name, value in variables.items()]
    return options, passed


def _name(arguments: Mapping[str, Any], work: Work) -> str:
    if arguments.get("name") is not None:
        return _matching(_NAME, required_text(arguments, "name", _WHAT), "a container's name")
    namespace, _, workflow = work.workflow.partition("/")
    task = _NOT_IN_A_NAME.sub("-", work.task)
    return f"{workflow}-{uuid7()}.{namespace}-{task}"


def _lifetime(arguments: Mapping[str, Any]) -> tuple[str, float | None]:
    lifetime = map_of(arguments, "lifetime", _WHAT)
    cleanup = _one_of(lifetime.get("cleanup", "never"), "cleanup", ("always", "never", "eventually"))
    return cleanup, _seconds(lifetime.get("after")) if cleanup == "eventually" else None


def _seconds(duration: Any) -> float:
    try:
        return microseconds(duration) / 1_000_000
    except NotADuration as error:
        raise validation("Not a duration", f"lifetime.after of a container: {error}") from None


def _pair(host: str, inside: Any) -> str:
    return f"{text_of(host, 'a mapping')}:{text_of(inside, 'a mapping')}"


def _one_of(value: Any, member: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise validation(f"Not a {member} of a container", f"{member} is one of {', '.join(known)}")
    return str(value)


def _matching(pattern: re.Pattern[str], text: str, what: str) -> str:
    if not pattern.fullmatch(text):
        raise _no(text, what)
    return text


def _no(text: str, what: str) -> Fault:
    return validation(f"Not {what}", f"{text[:100]!r} is not {what}")
