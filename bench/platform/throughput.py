"""Requests per second of workflows read, listed, created and updated: ours, and the same routes written plainly."""

import asyncio
import json
import sqlite3
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx
import jwt

from bench.accounts.contenders import Contender, _penstock, _uvicorn
from bench.accounts.load import require_wrk
from bench.accounts.servers import BenchError, Server, serving
from bench.platform.seeds import DEFINITION, EMAIL, PASSWORD, Seeded, Size, seeded, uuid_of

ROUTES = ("GET /workflows/{id}", "GET /workflows", "POST …/workflows", "PUT /workflows/{id}")
SMALL = Size(companies=20, workflows=1_000, executions=10, logs=10, audit=10)
_OWNER = 1
SCRIPT = Path(__file__).with_name("load.lua")
_PEER_SECRET = "a secret for measurements only, 32 bytes long"


@dataclass(frozen=True)
class Rate:
    server: str
    route: str
    rate: float
    p50: float
    p99: float
    cpu: float


def measure(seconds: int, rounds: int, connections: int, say: Callable[[str], None]) -> list[Rate]:
    require_wrk()
    with TemporaryDirectory(prefix="penstock-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        say("filling both databases")
        ours = asyncio.run(seeded(f"sqlite:///{folder}/penstock.db", SMALL, folder / "ready", lambda _: None))
        contenders = [
            Contender("penstock", "Penstock", _penstock, lambda *_: None, {"PENSTOCK_LOG_LEVEL": "warning"}),
            Contender("fastapi", "FastAPI + async ORM", _uvicorn("fastapi_platform"), lambda *_: None),
        ]
        servers = [stack.enter_context(serving(contender, folder)) for contender in contenders]
        _seed_peer(servers[1].database, ours)
        tokens = [_sign_in(servers[0]), _peer_token()]
        found: dict[tuple[str, str], list[Rate]] = {}
        # Lists before what makes them longer: whoever creates more in a second would have more to list.
        for route in ROUTES:
            for number in range(rounds + 1):  # the first warms up
                for server, token in zip(servers, tokens, strict=True):
                    say(f"round {number}: {server.contender.name} {route}")
                    rate = _burst(server, token, ours, route, seconds if number else 1, connections, folder)
                    if number:
                        found.setdefault((server.contender.what, route), []).append(rate)
        return [_middle(rates) for rates in found.values()]


def _middle(rates: Sequence[Rate]) -> Rate:
    first = rates[0]
    figures = (median(getattr(rate, name) for rate in rates) for name in ("rate", "p50", "p99", "cpu"))
    return Rate(first.server, first.route, *figures)


def _requests(seed: Seeded, route: str) -> list[str]:
    # Of the user who owns one company: sees 50 workflows.
    mine = [n for n in range(seed.size.workflows) if n % seed.size.companies == _OWNER]
    create = json.dumps({"name": "Workflow %n", "config_yaml": DEFINITION})
    change = json.dumps({"description": "changed %n"})
    match route.split(maxsplit=1)[0], route:
        case "GET", "GET /workflows":
            return ["GET\t/api/v1/workflows\t"]
        case "GET", _:
            return [f"GET\t/api/v1/workflows/{seed.workflow(n)}\t" for n in mine]
        case "POST", _:
            return [f"POST\t/api/v1/projects/{seed.project(_OWNER)}/workflows\t{create}"]
        case _:
            return [f"PUT\t/api/v1/workflows/{seed.workflow(n)}\t{change}" for n in mine]


def _burst(server: Server, token: str, seed: Seeded, route: str, seconds: int, connections: int, folder: Path) -> Rate:
    requests = folder / "requests"
    requests.write_text("\n".join(_requests(seed, route)) + "\n")
    before = server.cpu_seconds() or 0.0
    ran = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s", "-s", str(SCRIPT), server.url, "--",
         token, str(requests)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ran.returncode != 0:
        raise BenchError(f"wrk failed: {ran.stdout}{ran.stderr}")
    told = json.loads(ran.stdout.strip().splitlines()[-1])
    wrong = {kind: told[kind] for kind in ("status", "timeout", "socket") if told[kind]}
    if wrong or not told["requests"]:
        raise BenchError(f"{server.contender.name} {route}: {wrong} of {told['requests']}. {server.complaint()}")
    cpu = ((server.cpu_seconds() or 0.0) - before) / told["requests"] * 1000
    rate = told["requests"] / told["microseconds"] * 1e6
    return Rate(server.contender.what, route, rate, told["p50"] / 1000, told["p99"] / 1000, cpu)


def _sign_in(server: Server) -> str:
    body = {"email": EMAIL.format(_OWNER), "password": PASSWORD}
    answer = httpx.post(f"{server.url}/api/v1/auth/login", json=body, timeout=30)
    if answer.status_code != 200:
        raise BenchError(f"sign-in failed: {answer.text}. {server.complaint()}")
    return str(answer.json()["access_token"])


def _peer_token() -> str:
    claims = {"sid": "session", "sub": uuid_of("account", _OWNER), "exp": int(time.time()) + 3600}
    return jwt.encode(claims, _PEER_SECRET, algorithm="HS256")


def _seed_peer(path: Path, seed: Seeded) -> None:
    at = "2026-01-01 00:00:00.000000"
    companies, workflows = range(seed.size.companies), range(seed.size.workflows)
    with closing(sqlite3.connect(path, timeout=10)) as database, database:
        put = database.executemany
        put("INSERT INTO users VALUES (?, ?)", ((uuid_of("account", n), EMAIL.format(n)) for n in companies))
        put("INSERT INTO sessions VALUES (?, ?)", [("session", uuid_of("account", _OWNER))])
        put("INSERT INTO projects VALUES (?, ?)", ((seed.project(n), seed.company(n)) for n in companies))
        put(
            "INSERT INTO grants (user_id, company_id, role) VALUES (?, ?, 4)",
            ((uuid_of("account", n), seed.company(n)) for n in companies),
        )
        put(
            "INSERT INTO workflows (id, project_id, name, description, version, status, created_by, created_at,"
            " updated_at) VALUES (?, ?, ?, ?, 1, 'draft', ?, ?, ?)",
            (
                (seed.workflow(n), seed.project(n % len(companies)), f"Workflow {n}",
                 "What it does, in a sentence or two.", uuid_of("account", n % len(companies)), at, at)
                for n in workflows
            ),
        )  # fmt: skip
        put(
            "INSERT INTO workflow_versions (workflow_id, version, config_yaml) VALUES (?, 1, ?)",
            ((seed.workflow(n), DEFINITION) for n in workflows),
        )
