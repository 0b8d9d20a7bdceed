"""One burst of requests from wrk against one server, and what came of it."""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from bench.accounts import seeds
from bench.accounts.servers import BenchError, Server

Route = Literal["get", "auth"]
ROUTES: tuple[Route, ...] = ("get", "auth")
SCRIPT = Path(__file__).with_name("load.lua")
CALLERS = 16
"""So many users take turns: enough that no answer is the one before."""


@dataclass(frozen=True)
class Burst:
    """One measurement. Times are milliseconds; `cpu` is the server's own processor time for one request."""

    rate: float
    p50: float
    p99: float
    cpu: float | None


@dataclass(frozen=True, eq=False)
class Target:
    """A route of a server, with the requests that wrk sends to it."""

    server: Server
    route: Route
    requests: Path

    def __str__(self) -> str:
        return f"{self.server.contender.name} {self.route}"

    def burst(self, seconds: int, connections: int) -> Burst:
        before = self.server.cpu_seconds()
        count, told = self._wrk(seconds, connections)
        after = self.server.cpu_seconds()
        cpu = None if before is None or after is None else (after - before) / count * 1000
        return Burst(count / told["microseconds"] * 1e6, told["p50"] / 1000, told["p99"] / 1000, cpu)

    def _wrk(self, seconds: int, connections: int) -> tuple[int, dict[str, int]]:
        contender = self.server.contender
        path, method = (contender.get_path, "GET") if self.route == "get" else (contender.auth_path, "POST")
        # One thread: wrk needs a fraction of a core, and the server shall have the rest.
        options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT)]
        arguments = ["--", method, contender.content_type, str(self.requests)]
        ran = subprocess.run(
            ["wrk", *options, self.server.url + path, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode != 0:
            raise BenchError(f"wrk failed: {ran.stdout}{ran.stderr}")
        told: dict[str, int] = json.loads(ran.stdout.strip().splitlines()[-1])
        self._check(told)
        return told["requests"], told

    def _check(self, told: dict[str, int]) -> None:
        wrong = {kind: told[kind] for kind in ("status", "timeout", "socket") if told[kind]}
        if wrong or not told["requests"]:
            raise BenchError(
                f"{self}: of {told['requests']} answers these were errors: {wrong}. {self.server.complaint()}"
            )


def require_wrk() -> None:
    if shutil.which("wrk") is None:
        raise BenchError(
            "wrk, which makes the requests, is not installed: `apt install wrk` (Debian, Ubuntu), "
            "`dnf install wrk` (Fedora) or `brew install wrk` (macOS)."
        )


def targets(server: Server, folder: Path) -> dict[Route, Target]:
    """Both routes of a server that has been seeded: its callers sign in once, which also proves that they can."""
    contender = server.contender
    bodies = [contender.credentials(number) for number in range(1, CALLERS + 1)]
    cookies = [sign_in(server, number) for number in range(1, CALLERS + 1)]
    files = {"get": cookies, "auth": bodies}
    for route, lines in files.items():
        (folder / f"{contender.name}.{route}").write_text("\n".join(lines) + "\n")
    return {route: Target(server, route, folder / f"{contender.name}.{route}") for route in ROUTES}


def sign_in(server: Server, number: int) -> str:
    """Sign in and ask who we are; the cookie. A server that says 200 to a stranger would be measured doing nothing."""
    contender = server.contender
    with httpx.Client(base_url=server.url, timeout=30) as client:
        answer = client.post(
            contender.auth_path,
            content=contender.credentials(number),
            headers={"Content-Type": contender.content_type},
        )
        _expect_user(server, number, answer)
        cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
        confirm(server, number, cookie)
    return cookie


def confirm(server: Server, number: int, cookie: str) -> None:
    """Make sure that the cookie still opens the account of that user."""
    answer = httpx.get(server.url + server.contender.get_path, headers={"Cookie": cookie}, timeout=30)
    _expect_user(server, number, answer)


def _expect_user(server: Server, number: int, answer: httpx.Response) -> None:
    if answer.status_code != 200 or f'"{seeds.email(number)}"' not in answer.text:
        raise BenchError(
            f"{server.contender.name}: expected user {number} from {answer.request.url.path}, got "
            f"{answer.status_code} {answer.text[:300]}. {server.complaint()}"
        )
