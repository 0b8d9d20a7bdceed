"""Who is measured: how each server is started, filled and spoken to."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

from bench.accounts import seeds
from bench.accounts.seeds import Population

PEERS = Path(__file__).parents[1] / "peers"
PENSTOCK = "penstock"


@dataclass(frozen=True)
class Contender:
    name: str
    what: str
    command: Callable[[int, Path], list[str]]
    """From a port and a database file to the command that serves there."""
    seed: Callable[[Path, Population], None]
    env: Mapping[str, str] = field(default_factory=dict)
    get_path: str = "/user/get"
    auth_path: str = "/user/auth"
    content_type: str = "application/x-www-form-urlencoded"
    encode: Callable[[Mapping[str, str]], str] = urlencode
    needs_node: bool = False

    def environment(self, port: int, database: Path) -> dict[str, str]:
        return {**os.environ, "BENCH_PORT": str(port), "BENCH_DATABASE": str(database), **self.env}

    def credentials(self, number: int) -> str:
        """The body of a sign-in of the user with that number."""
        return self.encode({"email": seeds.email(number), "password": seeds.PASSWORD})


def _penstock(port: int, database: Path) -> list[str]:
    address = ["--host", "127.0.0.1", "--port", str(port), "--database", f"sqlite:///{database}"]
    return [str(Path(sys.executable).with_name("penstock")), "serve", *address]


def _uvicorn(module: str) -> Callable[[int, Path], list[str]]:
    def command(port: int, _: Path) -> list[str]:
        quiet = ["--no-access-log", "--log-level", "warning", "--loop", "uvloop", "--http", "httptools"]
        return [sys.executable, "-m", "uvicorn", f"bench.peers.{module}:app", "--port", str(port), *quiet]

    return command


def _node(_: int, __: Path) -> list[str]:
    return ["node", str(PEERS / "better_auth.mjs")]


def _better_auth(name: str, what: str, seed: Callable[[Path, Population], None], **env: str) -> Contender:
    return Contender(
        name,
        what,
        _node,
        seed,
        {"NODE_ENV": "production", "BETTER_AUTH_TELEMETRY": "0", **env},
        get_path="/api/auth/get-session",
        auth_path="/api/auth/sign-in/email",
        content_type="application/json",
        encode=json.dumps,
        needs_node=True,
    )


CONTENDERS = (
    Contender(
        PENSTOCK,
        "Penstock",
        _penstock,
        seeds.seed_penstock,
        {"PENSTOCK_LOG_LEVEL": "warning"},
    ),
    Contender("fastapi", "FastAPI + async ORM", _uvicorn("fastapi_app"), seeds.seed_fastapi),
    _better_auth("better-auth", "better-auth", seeds.seed_better_auth),
    Contender("floor", "bare Starlette", _uvicorn("floor"), seeds.seed_floor),
)
ON_REQUEST = (
    _better_auth(
        "better-auth-scrypt",
        "better-auth (scrypt)",
        seeds.seed_better_auth_scrypt,
        BENCH_HASH="scrypt",
    ),
)
