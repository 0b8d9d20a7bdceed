"""How long the server takes for every list and dashboard, asked one at a time: no network, no client in the figures."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Any

from bench.platform.seeds import EMAIL, PASSWORD, Seeded, uuid_of
from penstock.app import create_app
from penstock.http import logs
from penstock.http.times import rfc3339
from penstock.settings import load
from penstock.streams.journal import HOUR

GOAL = 50.0


@dataclass(frozen=True)
class Timing:
    route: str
    p50: float
    p95: float
    most: float
    cpu: float
    """Of the whole process: what is left of the figures where others use the machine, too."""
    bytes: int


def routes(seed: Seeded) -> list[tuple[str, Callable[[int], str]]]:
    """Each route with its addresses: of workflows with much in them (the first hundredth), and of any."""
    heavy, every = max(1, seed.size.workflows // 100), seed.size.workflows

    def big(n: int) -> str:
        return f"/workflows/{seed.workflow(n % heavy)}"

    def any_(n: int) -> str:
        return f"/workflows/{seed.workflow(n * 7919 % every)}"

    def run(n: int) -> str:
        return f"/executions/{seed.execution((n + 1) * 7919 % seed.size.executions)}"

    company = f"/companies/{seed.company(0)}"
    return [
        ("GET /companies (sees 1,000)", lambda n: f"/companies?page={n % 5 + 1}"),
        ("GET /companies/{id}", lambda n: f"/companies/{seed.company(n)}"),
        ("GET /companies/{id}/members", lambda n: f"/companies/{seed.company(n)}/members"),
        ("GET /organizations/{oid}/projects", lambda n: f"/organizations/{seed.company(n)}/projects"),
        ("GET /projects/{id}/members", lambda n: f"/projects/{seed.project(n)}/members"),
        ("GET …/audit (500,000 rows)", lambda n: f"{company}/audit?page={n % 5 + 1}"),
        ("GET …/audit?action=", lambda n: f"{company}/audit?action=workflow.update"),
        ("GET …/audit?resource_type=", lambda n: f"{company}/audit?resource_type=execution"),
        ("GET …/audit?resource_id=", lambda n: f"{company}/audit?resource_id={seed.workflow(n)}"),
        ("GET …/audit?user_id=", lambda n: f"{company}/audit?user_id={uuid_of('account', 0)}"),
        ("GET …/audit?action=&resource_type=", lambda n: f"{company}/audit?action=member.add&resource_type=member"),
        ("GET …/audit?since=", lambda n: f"{company}/audit?since=2020-01-01T12:00:00Z"),
        ("GET …/audit?since=&until=", lambda n: f"{company}/audit?since=2020-01-01T12:00:00Z&until={_noon(seed)}"),
        (
            "GET …/audit?user_id=&since=",
            lambda n: f"{company}/audit?user_id={uuid_of('account', 0)}&since={_noon(seed)}",
        ),
        ("GET …/audit (500 rows)", lambda n: f"/companies/{seed.company(n + 1)}/audit"),
        ("GET /workflows (sees 10,000)", lambda n: f"/workflows?page={n % 5 + 1}"),
        ("GET /workflows, last page", lambda n: f"/workflows?page={every // 50}"),
        ("GET /workflows?status=", lambda n: "/workflows?status=active"),
        ("GET /workflows?q=", lambda n: f"/workflows?q=Workflow%20{n}"),
        ("GET /workflows?include=runs", lambda n: f"/workflows?include=runs&page={n % 5 + 1}"),
        ("GET /projects (all that one sees)", lambda n: f"/projects?page={n % 5 + 1}"),
        ("GET /search?q=", lambda n: f"/search?q=Workflow%20{n}"),
        ("GET /search?q= (an id)", lambda n: f"/search?q={seed.execution(n * 7919)[:8]}"),
        ("GET /companies/{id}/access", lambda n: f"/companies/{seed.company(n)}/access"),
        ("GET /projects/{id}/access", lambda n: f"/projects/{seed.project(n)}/access"),
        ("GET /workflows/{id}/access", lambda n: f"{any_(n)}/access"),
        ("GET /auth/sessions", lambda n: "/auth/sessions"),
        ("GET /auth/identities", lambda n: "/auth/identities"),
        ("GET /projects/{pid}/workflows", lambda n: f"/projects/{seed.project(n)}/workflows"),
        ("GET /workflows/{id}", any_),
        ("GET /workflows/{id}/status", lambda n: f"{big(n)}/status"),
        ("GET /workflows/{id}/versions", lambda n: f"{any_(n)}/versions"),
        ("GET /workflows/{id}/permissions", lambda n: f"{any_(n)}/permissions"),
        ("GET /workflows/{id}/links", lambda n: f"{any_(n)}/links"),
        ("GET …/executions", lambda n: f"{big(n)}/executions"),
        ("GET …/executions?status=", lambda n: f"{big(n)}/executions?status=failed"),
        ("GET …/executions?since=", lambda n: f"{big(n)}/executions?since=2020-01-01T00:00:00Z"),
        ("GET /executions (sees 100,000)", lambda n: f"/executions?page={n % 5 + 1}"),
        ("GET /executions?status=", lambda n: "/executions?status=failed"),
        ("GET /executions?status= (none)", lambda n: "/executions?status=running"),
        ("GET /executions?trigger_type=", lambda n: "/executions?trigger_type=manual"),
        ("GET /executions?trigger_type= (none)", lambda n: "/executions?trigger_type=event"),
        ("GET /executions?since= (a day)", lambda n: f"/executions?since={rfc3339(seed.base - 24 * HOUR)}"),
        ("GET /executions?since= (all)", lambda n: "/executions?since=2020-01-01T00:00:00Z"),
        ("GET /executions?project_id=", lambda n: f"/executions?project_id={seed.project(n % heavy)}"),
        ("GET /executions?workflow_id=", lambda n: f"/executions?workflow_id={seed.workflow(n % heavy)}"),
        ("GET /executions/{id}", run),
        ("GET /executions/{id}/steps", lambda n: f"{run(n)}/steps"),
        ("GET /executions/{id}/steps?after=", lambda n: f"{run(n)}/steps?after=1&data=false"),
        ("GET /executions/{id}/children", lambda n: f"{run(n)}/children"),
        ("GET …/events", lambda n: f"{big(n)}/events"),
        ("GET …/events?type=", lambda n: f"{big(n)}/events?type=workflow.completed"),
        ("GET …/logs", lambda n: f"{big(n)}/logs"),
        ("GET …/logs, page 20", lambda n: f"{big(n)}/logs?page=20"),
        ("GET …/logs?level=error", lambda n: f"{big(n)}/logs?level=error"),
        ("GET …/logs?module=", lambda n: f"{big(n)}/logs?module=http"),
        ("GET …/logs?execution_id=", lambda n: f"{big(n)}/logs?execution_id={seed.execution(n)}"),
        ("GET …/logs?since=", lambda n: f"{big(n)}/logs?since=2020-01-01T00:00:00Z"),
        ("GET …/logs?q= (common)", lambda n: f"{big(n)}/logs?q=WAREHOUSE"),
        ("GET …/logs?q= (rare)", lambda n: f"{big(n)}/logs?q=step%20{n * 10007}%20of"),
        ("GET /workflows/{id}/dashboard", lambda n: f"{big(n)}/dashboard"),
        ("GET /dashboard (sees 10,000)", lambda n: f"/dashboard?page={n % 5 + 1}"),
    ]


def _noon(seed: Seeded) -> str:
    """A time in the middle of a day, with two thirds of the audit log before it."""
    return f"{rfc3339(seed.base - 100 * 24 * HOUR)[:10]}T12:00:00Z"


class Caller:
    """Asks the application itself."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self.headers: list[tuple[bytes, bytes]] = []

    async def ask(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        path, _, query = path.partition("?")
        content = b"" if body is None else json.dumps(body).encode()
        status, answer = 0, b""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status, answer
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                answer += message["body"]

        scope = {
            "type": "http", "method": method, "path": f"/api/v1{path}", "raw_path": f"/api/v1{path}".encode(),
            "query_string": query.encode(), "root_path": "", "scheme": "http", "http_version": "1.1",
            "headers": [(b"content-type", b"application/json"), *self.headers], "client": ("203.0.113.7", 1),
            "server": ("localhost", 80), "state": {}, "extensions": {},
        }  # fmt: skip
        await self._app(scope, receive, send)
        return status, answer


@asynccontextmanager
async def _started(app: Any) -> Any:
    incoming: asyncio.Queue[dict[str, str]] = asyncio.Queue()
    outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    task = asyncio.create_task(app({"type": "lifespan", "asgi": {}, "state": {}}, incoming.get, outgoing.put))
    await incoming.put({"type": "lifespan.startup"})
    started = await outgoing.get()
    assert started["type"] == "lifespan.startup.complete", started
    try:
        yield
    finally:
        await incoming.put({"type": "lifespan.shutdown"})
        await outgoing.get()
        await task


async def time_routes(seed: Seeded, rounds: int, say: Callable[[str], None]) -> list[Timing]:
    settings = load(environ={}, overrides={"database": seed.url, "log_level": "error", "engine": "none"}).settings
    logs.configure(settings)  # or every request is a line on the screen, and in the figures
    app = create_app(settings)
    async with _started(app):
        caller = Caller(app)
        status, answer = await caller.ask("POST", "/auth/login", {"email": EMAIL.format(0), "password": PASSWORD})
        assert status == 200, answer
        caller.headers = [(b"authorization", b"Bearer " + json.loads(answer)["access_token"].encode())]
        found = []
        for name, address in routes(seed):
            say(name)
            found.append(await _time(caller, name, address, rounds))
        return found


async def _time(caller: Caller, name: str, address: Callable[[int], str], rounds: int) -> Timing:
    times: list[float] = []
    used: list[float] = []
    size = 0
    for n in range(rounds + 1):
        began, before = time.perf_counter(), time.process_time()
        status, answer = await caller.ask("GET", address(n))
        took = (time.perf_counter() - began) * 1000
        assert status == 200, (name, status, answer[:300])
        size = len(answer)
        if n:  # the first compiles the statement
            times.append(took)
            used.append((time.process_time() - before) * 1000)
    return Timing(name, median(times), _p95(times), max(times), median(used), size)


def _p95(times: Sequence[float]) -> float:
    return quantiles(times, n=20)[18] if len(times) > 1 else times[0]
