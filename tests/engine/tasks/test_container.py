"""Containers. There is no Docker where these tests run: a stand-in of that name writes down how it was called.

It keeps what it "runs" outside of its own process, as the real one's daemon does. What Docker and Podman themselves
make of the arguments is not shown here.
"""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.engine.tasks.processes import container, removal
from tests.engine.tasks.running import Log, fault_of, gone, kind, work_of

pytestmark = pytest.mark.anyio

STAND_IN = """#!/bin/sh
cd "$DOCKER_STAND_IN"
echo "$*" >> calls
case "$1" in
  image) test -e present ;;
  ps) cat left ;;
  pull) echo "pulling …" >&2; . ./pull ;;
  run) for a in "$@"; do printf '%s\\0' "$a"; done > arguments; env -0 > environment; . ./run ;;
  stop|rm) test ! -e contained || kill -9 $(cat contained) ;;
esac
"""


class Docker:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def does(self, *, run: str = "true", pull: str = "touch present") -> None:
        (self._folder / "run").write_text(run)
        (self._folder / "pull").write_text(pull)

    def has_image(self) -> None:
        (self._folder / "present").touch()

    @property
    def calls(self) -> list[str]:
        """The verbs."""
        return [line.split()[0] for line in (self._folder / "calls").read_text().splitlines()]

    @property
    def arguments(self) -> list[str]:
        return (self._folder / "arguments").read_text().split("\0")[1:-1]

    @property
    def environment(self) -> dict[str, str]:
        parts = (self._folder / "environment").read_text().split("\0")
        return dict(part.split("=", 1) for part in parts if part)


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    program = tmp_path / "docker"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("DOCKER_STAND_IN", str(tmp_path))
    stand_in = Docker(tmp_path)
    stand_in.does()
    return stand_in


async def output(log: Any = None, **arguments: Any) -> Any:
    return (await container.perform({"image": "alpine", **arguments}, work_of(Log() if log is None else log))).output


def built(**arguments: Any) -> list[str]:
    return list(container.container_of({"image": "alpine", **arguments}, work_of(Log()), "docker").run().arguments)


def test_a_container_is_named_by_the_specifications_convention() -> None:
    uuid = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(rf"--name=orders-{uuid}\.shop-pack-the-box", built()[2])
    assert built(name="mine")[2] == "--name=mine"


def test_a_container_is_built_of_all_that_the_task_says() -> None:
    arguments = built(
        image="registry.example:5000/team/tool@sha256:00ff",
        name="mine",
        command="cat; echo $1",
        ports={"8080": 80, "127.0.0.1:53": "53/udp"},
        volumes={"/data": "/in:ro", "cache": "/cache"},
        environment={"A": "1", "PATH": "/opt"},
        stdin="x",
        arguments=["a b", 2],
        lifetime={"cleanup": "always"},
    )
    assert arguments == [
        *("docker", "run", "--name=mine", "--pull=never", "--interactive", "--rm"),
        *("--label=penstock.execution=0197", "--label=penstock.key=key-1", "--label=penstock.cleanup=always"),
        *("--env=A", "--env=PATH=/opt"),
        *("--publish=8080:80", "--publish=127.0.0.1:53:53/udp", "--volume=/data:/in:ro", "--volume=cache:/cache"),
        "--entrypoint=sh",
        "registry.example:5000/team/tool@sha256:00ff",
        *("-c", "cat; echo $1", "sh", "a b", "2"),
    ]


def test_arguments_without_a_command_go_to_what_the_image_runs() -> None:
    arguments = built(arguments=["--help", "x"])
    assert arguments[-3:] == ["alpine", "--help", "x"]
    assert not any(argument.startswith("--entrypoint") for argument in arguments)
    assert "--interactive" not in arguments


@pytest.mark.parametrize(
    ("lifetime", "removed", "after"),
    [
        (None, False, None),
        ({"cleanup": "never"}, False, None),
        ({"cleanup": "always"}, True, None),
        ({"cleanup": "eventually", "after": {"minutes": 30}}, False, 1800),
        ({"cleanup": "eventually", "after": "PT1H"}, False, 3600),
    ],
)
def test_a_container_lives_as_long_as_its_lifetime_says(lifetime: Any, removed: bool, after: float | None) -> None:
    made = container.container_of({"image": "alpine", "lifetime": lifetime}, work_of(Log()), "docker")
    assert ("--rm" in made.run().arguments, made.after) == (removed, after)
    assert made.run().last[1] == ("rm" if removed else "stop")


@pytest.mark.parametrize(
    "wrong",
    [
        {"image": None},
        {"image": "--privileged"},
        {"image": "a b"},
        {"name": "-v/:/host"},
        {"pullPolicy": "sometimes"},
        {"lifetime": {"cleanup": "soon"}},
        {"lifetime": {"cleanup": "eventually"}},
        {"lifetime": {"cleanup": "eventually", "after": {"moons": 1}}},
        {"ports": [80]},
        {"environment": {"A B": 1}},
        {"arguments": "x"},
    ],
)
async def test_what_is_no_container_is_a_fault_and_no_option(wrong: dict[str, Any], docker: Docker) -> None:
    assert kind(await fault_of(output(**wrong))) == "validation"


async def test_a_container_has_its_input_and_gives_its_output(docker: Docker) -> None:
    docker.has_image()
    docker.does(run="cat; echo err >&2; exit 3")
    assert await output(stdin="in", **{"return": "all"}) == {"code": 3, "stdout": "in", "stderr": "err"}
    assert docker.arguments[-1] == "alpine"
    error = await fault_of(output())
    assert (error.title, error.detail) == ("Container exited with code 3", "err")


async def test_values_of_the_environment_stay_off_the_command_line(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SECRET_KEY", "0123456789")
    await output(environment={"TOKEN": "tell\nnobody", "DOCKER_HOST": "tcp://evil", "LD_PRELOAD": "x.so"})
    assert {"--env=TOKEN", "--env=DOCKER_HOST=tcp://evil", "--env=LD_PRELOAD=x.so"} <= set(docker.arguments)
    assert docker.environment["TOKEN"] == "tell\nnobody"
    assert docker.environment.keys() & {"DOCKER_HOST", "LD_PRELOAD", "PENSTOCK_SECRET_KEY"} == set()


@pytest.mark.parametrize(
    ("policy", "present", "calls"),
    [
        (None, False, ["image", "pull", "run"]),
        ("ifNotPresent", True, ["image", "run"]),
        ("always", True, ["pull", "run"]),
        ("never", False, ["run"]),
    ],
)
async def test_an_image_is_pulled_by_its_policy(policy: Any, present: bool, calls: list[str], docker: Docker) -> None:
    if present:
        docker.has_image()
    docker.does(run="echo out")
    given = {} if policy is None else {"pullPolicy": policy}
    assert await output(**given, **{"return": "all"}) == {"code": 0, "stdout": "out", "stderr": ""}
    assert docker.calls == calls


async def test_an_image_that_cannot_be_pulled_is_told(docker: Docker) -> None:
    docker.does(pull="echo 'manifest unknown' >&2; exit 1")
    error = await fault_of(output())
    assert error.title == "Image alpine could not be pulled"
    assert "manifest unknown" in (error.detail or "")
    assert "run" not in docker.calls


async def test_a_container_that_does_not_start_is_a_fault_whatever_is_returned(docker: Docker) -> None:
    docker.does(run="echo 'Cannot connect to the Docker daemon' >&2; exit 125")
    error = await fault_of(output(**{"return": "code"}))
    assert error.title == "Container could not be started"
    assert error.detail == "Cannot connect to the Docker daemon"


@pytest.mark.parametrize(("cleanup", "verb"), [("always", "rm"), ("never", "stop")])
async def test_a_cancelled_container_ends(cleanup: str, verb: str, docker: Docker) -> None:
    """Though it runs elsewhere: the end of `docker run` alone would not end it."""
    docker.does(run="setsid sleep 600 & echo $! > contained; echo pid $!; wait")
    log = Log()
    running = asyncio.create_task(output(log, lifetime={"cleanup": cleanup}))
    pid = int((await log.until("pid ")).split()[1])
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert docker.calls[-1] == verb
    assert gone(pid)


async def test_a_container_is_removed_eventually(docker: Docker) -> None:
    log = Log()
    await output(log, name="mine", lifetime={"cleanup": "eventually", "after": {"milliseconds": 1}})
    await log.until("the container mine is removed")
    assert docker.calls == ["image", "pull", "run", "rm"]


async def test_a_container_that_was_to_be_removed_is_removed_by_the_next_life_of_the_server(
    docker: Docker, tmp_path: Path
) -> None:
    await output(name="mine", lifetime={"cleanup": "eventually", "after": {"hours": 1}})
    assert {"--label=penstock.cleanup=eventually", "--label=penstock.after=3600"} <= set(docker.arguments)
    (tmp_path / "left").write_text("later 3600\nmine 0.01\nstrange \n")
    log = Log()
    await removal.take_up(work_of(log))
    await log.until("the container mine is removed")
    assert docker.calls == ["image", "pull", "run", "ps", "rm"]


async def test_a_machine_without_docker_has_nothing_to_take_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    log = Log()
    await removal.take_up(work_of(log))
    assert [level for level, _ in log] == ["debug"]


async def test_nobody_waits_for_a_container_when_await_is_false(docker: Docker) -> None:
    log = Log()
    assert await output(log, **{"await": False}) is None
    await log.until("Container, which nobody waited for, exited with code 0")


async def test_podman_serves_as_well(docker: Docker, tmp_path: Path) -> None:
    (tmp_path / "docker").rename(tmp_path / "podman")
    docker.does(run="echo out")
    assert await output() == "out"


async def test_a_machine_without_both_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = await fault_of(output())
    assert (kind(error), error.title) == ("configuration", "docker or podman is missing")


async def test_a_server_starts_no_container_unless_told() -> None:
    error = await fault_of(container.perform({"image": "alpine"}, work_of(Log(), processes=frozenset({"shell"}))))
    assert "'container' to the setting `processes`" in (error.detail or "")
