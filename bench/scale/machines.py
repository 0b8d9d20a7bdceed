"""What stands for many machines here: each program as processes of its own, whose processor time is counted apart."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg
from tests import temporal

from bench.accounts.servers import BenchError
from bench.engine import postgresql
from bench.engine.work import cpu_seconds

WHO = ("temporal", "workers", "servers", "postgresql")
_START_WITHIN = 120.0
_STOP_WITHIN = 30.0


class Machines:
    def __init__(self, folder: Path, database: str, address: str) -> None:
        self._folder = folder
        self._database = database
        self._settings = {
            "ENGINE": "temporal",
            "TEMPORAL_ADDRESS": address,
            "LIMIT_CREATE": "1000000",
            "LOG_LEVEL": "info",
            "WORKER_DRAIN": "5s",
            "PORT": "0",
        }
        self._processes: dict[str, list[int]] = {who: [] for who in WHO}

    def count(self, who: str, *processes: int) -> None:
        self._processes[who] += processes

    def cpu(self) -> dict[str, float]:
        """Seconds so far, by whose they are."""
        return {who: cpu_seconds(*processes) for who, processes in self._processes.items()}

    async def stored(self) -> tuple[int, int, int]:
        """Transactions so far, bytes of PostgreSQL's log so far, and bytes on its disk."""
        connection = await asyncpg.connect(self._database)
        try:
            row = await connection.fetchrow(
                "SELECT xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, "
                "pg_database_size(current_database()) FROM pg_stat_database WHERE datname = current_database()"
            )
            return int(row[0]), int(row[1]), int(row[2])
        finally:
            await connection.close()

    async def lags(self, workflow_id: str, count: int) -> list[float]:
        """Milliseconds from the end of a step, by its own time, to its commit, by PostgreSQL's: of the last so many."""
        connection = await asyncpg.connect(self._database)
        try:
            rows = await connection.fetch(
                "SELECT extract(epoch FROM pg_xact_commit_timestamp(xmin)) * 1000 - created_at / 1000.0 "
                "FROM events WHERE workflow_id = $1 AND type = 'task.completed' ORDER BY id DESC LIMIT $2",
                workflow_id,
                count,
            )
            return [float(row[0]) for row in rows]
        finally:
            await connection.close()

    @contextmanager
    def server(self) -> Iterator[str]:
        """Its address."""
        with self._penstock("servers", "serve", "serving") as said:
            yield f"http://{said['listen']}"

    @contextmanager
    def workers(self, count: int) -> Iterator[None]:
        with ExitStack() as stack:
            for _ in range(count):
                stack.enter_context(self._penstock("workers", "worker", "working"))
            yield
        self._processes["workers"].clear()

    @contextmanager
    def _penstock(self, who: str, command: str, announced: str) -> Iterator[dict[str, str]]:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        environ |= {f"PENSTOCK_{name}": value for name, value in self._settings.items()}
        path = self._folder / f"{command}-{time.monotonic_ns()}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "penstock", command, "--database", self._database],
                stderr=log, cwd=self._folder, env=environ, start_new_session=True,
            )  # fmt: skip
        try:
            said = _said(path, announced, process)
            self.count(who, process.pid)
            yield said
        finally:
            _end(process)


def _said(log: Path, announced: str, process: "subprocess.Popen[bytes]") -> dict[str, str]:
    until = time.monotonic() + _START_WITHIN
    while time.monotonic() < until and process.poll() is None:
        for line in log.read_text().splitlines():
            if f'"{announced}"' in line:
                said: dict[str, str] = json.loads(line)
                return said
        time.sleep(0.05)
    raise BenchError(f"a process did not start:\n{log.read_text()}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def machines(folder: Path) -> Iterator[Machines]:
    """A Temporal server with a file for its database, and a PostgreSQL."""
    with postgresql.running("track_commit_timestamp=on") as server:
        port = temporal.free_port()
        cluster = temporal.start(folder, port, durable=True)
        try:
            made = Machines(folder, postgresql.empty(server, "scale"), f"127.0.0.1:{port}")
            made.count("temporal", cluster.pid)
            made.count("postgresql", _postmaster(server))
            yield made
        finally:
            _end(cluster)


def _postmaster(url: str) -> int:
    folder = Path(parse_qs(urlsplit(url).query)["host"][0])
    return int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
