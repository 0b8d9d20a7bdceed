"""The order of a run: a server, listeners, executions; then how late everything came, and what a listener costs."""

import asyncio
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import uvloop
from rich.console import Console
from rich.table import Table

from bench.accounts.report import machine
from bench.accounts.servers import BenchError
from bench.streams.health import watching
from bench.streams.listeners import NotStreaming, listen, listen_all, until

_START_WITHIN = 60.0
_DEFINITION = """\
document: {dsl: 1.0.3, namespace: bench, name: three-steps, version: 1.0.0}
do:
  - one: {set: {n: 1}}
  - two: {set: {n: 2}}
  - three: {set: {n: 3}}
"""


@dataclass(frozen=True)
class Plan:
    listeners: int = 2_000
    sessions: int = 100
    """How many people they are; each has a token of their own."""
    seconds: int = 10
    rate: float = 2.0
    """Executions a second."""
    slow: int = 20
    """How many more connect and do not read."""
    database: str | None = None


@dataclass(frozen=True)
class Figures:
    listeners: int
    entries: int
    deliveries: int
    complete: bool
    """Everybody heard everything, once and in order."""
    p50: float
    p99: float
    most: float
    open_seconds: float
    kib_each: float
    idle_cpu: float
    """Share of a core that the listeners cost while nothing happens."""
    cpu_us_each: float
    """Processor time of the server for each delivery, the executions themselves included."""
    health_most: float
    """The longest that /healthz took meanwhile."""


def measure(plan: Plan, console: Console, path: Path) -> None:
    _raise_limit(plan.listeners + plan.slow + 200)
    figures = uvloop.run(_measure(plan, console))
    table = Table(title=f"{plan.listeners:,} listeners on one process, {plan.rate:g} executions/s", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for title, value in _rows(figures):
        table.add_row(title, value)
    console.print(table)
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"machine": machine(), "plan": asdict(plan) | {"database": bool(plan.database)}}
    path.write_text(json.dumps(document | {"figures": asdict(figures)}, indent=2) + "\n")
    if not figures.complete:
        raise BenchError("not everybody heard everything, once and in order")


def _rows(figures: Figures) -> list[tuple[str, str]]:
    return [
        ("entries, deliveries", f"{figures.entries:,}, {figures.deliveries:,}"),
        ("everything, once, in order", "yes" if figures.complete else "NO"),
        ("ms from an entry's time (before its commit): p50", f"{figures.p50:.0f}"),
        ("p99", f"{figures.p99:.0f}"),
        ("most", f"{figures.most:.0f}"),
        ("all open after, s", f"{figures.open_seconds:.1f}"),
        ("memory of a listener, KiB", f"{figures.kib_each:.1f}"),
        ("processor while nothing happens, % of a core", f"{figures.idle_cpu * 100:.1f}"),
        ("processor for a delivery, µs", f"{figures.cpu_us_each:.0f}"),
        ("/healthz meanwhile, most, ms", f"{figures.health_most:.0f}"),
    ]


def _raise_limit(needed: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise BenchError(f"so many connections need {needed} open files, and {hard} are allowed (ulimit -Hn)")
    if soft < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


async def _measure(plan: Plan, console: Console) -> Figures:
    with tempfile.TemporaryDirectory() as folder, _server(Path(folder), plan.database) as process:
        url = await _address(Path(folder), process)
        async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60) as client:
            console.print(f"{plan.sessions} people")
            workflow, tokens = await _set_up(client, plan.sessions)
            return await _listen_and_run(plan, console, url, client, process.pid, workflow, tokens)


async def _listen_and_run(
    plan: Plan, console: Console, url: str, client: httpx.AsyncClient, pid: int, workflow: str, tokens: list[str]
) -> Figures:
    path = f"/api/v1/workflows/{workflow}/events/stream"
    await _execute(client, workflow)
    memory, began = _memory(pid), time.perf_counter()
    try:
        listeners = await listen_all(url, path, tokens, plan.listeners)
    except (NotStreaming, OSError) as error:
        raise BenchError(f"a stream could not be opened: {error}") from error
    opened = time.perf_counter() - began
    kib_each = (_memory(pid) - memory) / plan.listeners
    console.print(f"{plan.listeners:,} streams are open")
    for _ in range(plan.slow):
        (await listen(url, path, tokens[0])).transport.pause_reading()
    await asyncio.sleep(2)
    idle, cpu = time.perf_counter(), _cpu(pid)
    await asyncio.sleep(6)
    idle_cpu = (_cpu(pid) - cpu) / (time.perf_counter() - idle)
    cpu = _cpu(pid)
    with watching(url) as health:
        executions = await _run_executions(client, workflow, plan)
        times = await _entries(client, workflow, executions)
        last = max(times)
        await until(lambda: all(one.heard.has(last) for one in listeners), 30)
    cpu = _cpu(pid) - cpu
    heard = [one.heard.entries() for one in listeners]
    deliveries, expected = sum(map(len, heard)), list(times)
    late = sorted((at - times[id_]) * 1000 for entries in heard for id_, at in entries)
    if not late:
        raise BenchError("nobody heard anything")
    return Figures(
        plan.listeners, len(times), deliveries, all([id_ for id_, _ in entries] == expected for entries in heard),
        late[len(late) // 2], late[int(len(late) * 0.99)], late[-1], opened, kib_each, idle_cpu,
        cpu * 1e6 / deliveries, health.most,
    )  # fmt: skip


async def _run_executions(client: httpx.AsyncClient, workflow: str, plan: Plan) -> list[str]:
    ids, began = [], time.perf_counter()
    for number in range(int(plan.seconds * plan.rate)):
        await asyncio.sleep(max(0.0, began + number / plan.rate - time.perf_counter()))
        ids.append(await _execute(client, workflow))
    return ids


async def _execute(client: httpx.AsyncClient, workflow: str) -> str:
    answer = await client.post(f"/workflows/{workflow}/trigger", json={})
    answer.raise_for_status()
    id_ = str(answer.json()["id"])
    while (await client.get(f"/executions/{id_}")).json()["status"] in {"pending", "running"}:
        await asyncio.sleep(0.01)
    return id_


async def _entries(client: httpx.AsyncClient, workflow: str, executions: list[str]) -> dict[int, float]:
    """Every event of these executions by its id, with its time."""
    found: dict[int, float] = {}
    for execution in executions:
        params = {"execution_id": execution, "page_size": "100"}
        for item in (await client.get(f"/workflows/{workflow}/events", params=params)).json()["items"]:
            found[item["id"]] = datetime.fromisoformat(item["created_at"]).timestamp()
    return dict(sorted(found.items()))


async def _set_up(client: httpx.AsyncClient, sessions: int) -> tuple[str, list[str]]:
    async def made(path: str, body: dict[str, Any]) -> Any:
        answer = await client.post(path, json=body)
        if answer.status_code != 201:
            raise BenchError(f"{path} answered {answer.status_code}: {answer.text}")
        return answer.json()

    people = [f"listener-{number}@example.com" for number in range(sessions)]
    tokens = [
        (await made("/auth/register", {"email": email, "password": "correct horse"}))["access_token"]
        for email in people
    ]
    client.headers["Authorization"] = f"Bearer {tokens[0]}"
    company = (await made("/companies", {"name": "Bench"}))["id"]
    project = (await made(f"/organizations/{company}/projects", {"name": "Streams"}))["id"]
    for email in people[1:]:
        await made(f"/projects/{project}/members", {"email": email, "role": "viewer"})
    workflow = await made(f"/projects/{project}/workflows", {"name": "Three steps", "config_yaml": _DEFINITION})
    return str(workflow["id"]), tokens


@contextlib.contextmanager
def _server(folder: Path, database: str | None) -> Iterator[subprocess.Popen[bytes]]:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    environ |= {"PENSTOCK_AUTH_RATE_LIMIT": "100000", "PENSTOCK_LIMIT_CREATE": "100000"}
    address = database or f"sqlite:///{folder}/penstock.db"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "serve", "--port", "0", "--database", address],
            stderr=log, cwd=folder, env=environ, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def _address(folder: Path, process: subprocess.Popen[bytes]) -> str:
    found = ""

    def announced() -> bool:
        nonlocal found
        for line in (folder / "log").read_text().splitlines():
            if '"serving"' in line:
                found = f"http://{json.loads(line)['listen']}"
        return bool(found) or process.poll() is not None

    await until(announced, _START_WITHIN)
    if not found:
        raise BenchError("the server did not start:\n" + (folder / "log").read_text())
    return found


def _memory(pid: int) -> float:
    """KiB that are its own."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


def _cpu(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
