"""What came out: medians over the rounds as a table for people, every round as JSON for machines."""

import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.accounts.contenders import PEERS, PENSTOCK, Contender
from bench.accounts.load import ROUTES, Burst, Route

TITLES = {"get": "session", "auth": "sign-in"}
PACKAGES = ("penstock", "litestar", "uvicorn", "uvloop", "httptools", "fastapi", "starlette", "sqlalchemy", "aiosqlite")


@dataclass(frozen=True)
class Result:
    """All rounds of one route of one contender."""

    contender: Contender
    route: Route
    rounds: Sequence[Burst]

    @property
    def middle(self) -> Burst:
        """The median of each figure."""
        cpus = [burst.cpu for burst in self.rounds if burst.cpu is not None]
        return Burst(
            median(burst.rate for burst in self.rounds),
            median(burst.p50 for burst in self.rounds),
            median(burst.p99 for burst in self.rounds),
            median(cpus) if cpus else None,
        )


def show(results: Sequence[Result], console: Console, caption: str) -> None:
    table = Table(title="One process each, side by side", caption=caption)
    for heading in ("route", "server"):
        table.add_column(heading)
    for heading in ("req/s", "p50 ms", "p99 ms", "CPU ms/req", "Penstock / this"):
        table.add_column(heading, justify="right")
    for route in ROUTES:
        table.add_section()
        for result in results:
            if result.route == route:
                table.add_row(TITLES[route], result.contender.what, *_figures(result, results))
    console.print(table)


def _figures(result: Result, results: Sequence[Result]) -> list[str]:
    middle = result.middle
    cpu = "-" if middle.cpu is None else f"{middle.cpu:.2f}"
    times = times_of_penstock(result, results)
    compared = "-" if times is None else f"{times:.2f}"
    return [f"{middle.rate:,.0f}", f"{middle.p50:.2f}", f"{middle.p99:.2f}", cpu, compared]


def times_of_penstock(result: Result, results: Sequence[Result]) -> float | None:
    """How many requests Penstock answers while the other answers one."""
    for other in results:
        if other.contender.name == PENSTOCK and other.route == result.route:
            return other.middle.rate / result.middle.rate
    return None


def save(results: Sequence[Result], settings: dict[str, int], path: Path) -> None:
    document = {
        "at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "settings": settings,
        "machine": machine(),
        "results": [_as_json(result, results) for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def _as_json(result: Result, results: Sequence[Result]) -> dict[str, Any]:
    return {
        "server": result.contender.name,
        "route": result.route,
        "median": asdict(result.middle),
        "penstock_times": times_of_penstock(result, results),
        "rounds": [asdict(burst) for burst in result.rounds],
    }


def machine() -> dict[str, Any]:
    """Where it was measured and with which versions; nothing that names the machine."""
    return {
        "cpus": os.cpu_count(),
        "architecture": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "node": _said("node", "--version"),
        "wrk": _said("wrk", "--version").partition(" Copyright")[0],
        "packages": {name: version(name) for name in PACKAGES} | _node_packages(),
    }


def _said(*command: str) -> str:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return ran.stdout.partition("\n")[0].strip()


def _node_packages() -> dict[str, str]:
    wanted: dict[str, str] = json.loads((PEERS / "package.json").read_text())["dependencies"]
    return wanted
