"""The same storm over two servers and two workers on a Temporal cluster, each of which dies as it comes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.engine.temporal.calls import LOST_AFTER
from penstock.storage import now
from tests import temporal
from tests.acceptance.server import until
from tests.chaos.peers import CountingService
from tests.chaos.people import PATIENCE
from tests.chaos.storm import Storm, said_in

_HANGS = LOST_AFTER.total_seconds() + 1.5


class Cluster:
    """A Temporal server that keeps what it was told in a file, and always has the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = temporal.free_port()
        self.address = f"127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        self._process = temporal.start(self._folder, self._port, durable=True)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    server = Cluster(folder)
    try:
        yield server
    finally:
        server.kill()


class Worker:
    def __init__(self, folder: Path, database: str, settings: dict[str, str], code: Path | None = None) -> None:
        """`code`: where another Penstock is."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        environ |= {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
        environ |= {} if code is None else {"PYTHONPATH": str(code)}
        self.log = folder / f"worker-{time.monotonic_ns()}"
        with self.log.open("w") as log:
            command = [sys.executable, "-m", "penstock", "worker", "--database", database]
            self.process = subprocess.Popen(command, stderr=log, cwd=folder, env=environ)

    def works(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        return '"working"' in self.log.read_text()


class TemporalStorm(Storm):
    pause = 1.5

    def __init__(self, folder: Path, database: str, service: CountingService, seed: int, cluster: Cluster) -> None:
        super().__init__(folder, database, service, seed, engine="temporal", temporal_address=cluster.address)
        self._cluster = cluster
        self._workers: list[Worker] = []

    async def start(self) -> None:
        self._workers.extend(Worker(self.folder, self.database, self._settings) for _ in range(2))
        await super().start()

    async def all_work(self) -> None:
        await super().all_work()
        for worker in self._workers:
            await until(worker.works)

    def excused(self) -> "Counter[str]":
        """A worker that is too busy to say that it lives is taken for lost, too."""
        said = [entry for log in self.folder.glob("worker-*") for entry in said_in(log)]
        return Counter(entry["key"] for entry in said if entry["event"].startswith("performed again"))

    # Disasters

    async def a_server_dies(self) -> None:
        """It performs no calls."""
        which = self.random.randrange(len(self._servers))
        await self._servers[which].kill()
        self._servers[which] = self._another()

    async def a_worker_dies(self) -> None:
        which, told = self.random.randrange(len(self._workers)), now()
        self._workers[which].process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(self._workers[which].process.wait)
        self.deaths.append((told, now()))
        self._workers[which] = Worker(self.folder, self.database, self._settings)

    async def a_worker_hangs(self) -> None:
        """For so long that it is taken for lost; then it goes on, with all that it had begun, or was about to."""
        process = self.random.choice(self._workers).process
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(_HANGS)
        process.send_signal(signal.SIGCONT)

    async def temporal_dies(self) -> None:
        """Who performs a call cannot say so meanwhile, and is taken for lost when it is away for long."""
        told = now()
        await asyncio.to_thread(self._cluster.kill)
        await asyncio.to_thread(self._cluster.start)
        self.deaths.append((told, now()))

    # The end

    async def all_is_heard(self) -> None:
        """One that hung may write what it had in hand as long as it is there."""
        for worker in self._workers:
            worker.process.send_signal(signal.SIGTERM)
        for worker in self._workers:
            ended = await asyncio.wait_for(asyncio.to_thread(worker.process.wait), PATIENCE)
            assert ended == 0, worker.log.read_text()
        self._workers.clear()
        await super().all_is_heard()

    async def close(self) -> None:
        await super().close()
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.process.kill()
            worker.process.wait()
