"""The same storm over two servers and two workers on a Temporal cluster, each of which dies as it comes."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx

from penstock.engine.temporal.calls import LOST_AFTER
from penstock.storage import now
from tests import temporal
from tests.acceptance.server import Server, until
from tests.chaos.peers import CountingService
from tests.chaos.storm import PATIENCE, SETTINGS, Storm

_FOLLOWED = "chain"
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


class _Either(httpx.AsyncHTTPTransport):
    """To each of the servers in turn, as a proxy would; whoever finds one dead asks again."""

    def __init__(self, servers: list[Server]) -> None:
        super().__init__()
        self._servers = servers
        self._turn = count()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        server = self._servers[next(self._turn) % len(self._servers)]
        if server.process.poll() is not None or not (url := server.announced()):
            raise httpx.ConnectError("there is nobody")
        found = httpx.URL(url)
        request.url = request.url.copy_with(host=found.host, port=found.port)
        return await super().handle_async_request(request)


class TemporalStorm(Storm):
    pause = 0.6

    def __init__(self, folder: Path, database: str, service: CountingService, seed: int, cluster: Cluster) -> None:
        super().__init__(folder, database, service, seed)
        self._cluster = cluster
        self._settings = {**SETTINGS, "engine": "temporal", "temporal_address": cluster.address}
        self._servers: list[Server] = []
        self._workers: list[Worker] = []
        self._client = httpx.AsyncClient(base_url="http://either/api/v1", timeout=20, transport=_Either(self._servers))
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        for _ in range(2):
            self._servers.append(Server(self.folder, self.database, **self._settings))
            self._workers.append(Worker(self.folder, self.database, self._settings))
        await self._all_work()

    async def set_up(self) -> None:
        await super().set_up()
        self._following = asyncio.create_task(self._follow(_FOLLOWED))

    async def _all_work(self) -> None:
        for server in self._servers:
            await server.url()
        for worker in self._workers:
            await until(worker.works)

    def excused(self) -> "Counter[str]":
        """A worker that is too busy to say that it lives is taken for lost, too."""
        lines = [line for log in self.folder.glob("worker-*") for line in log.read_text().splitlines()]
        # The SDK warns, in its own words, of what a worker that hung had done before it was told to leave it.
        said = [json.loads(line) for line in lines if line.startswith("{")]
        return Counter(entry["key"] for entry in said if entry["event"].startswith("performed again"))

    # Disasters

    async def a_server_dies(self) -> None:
        which = self.random.randrange(len(self._servers))
        await self._servers[which].kill()
        self._servers[which] = Server(self.folder, self.database, **self._settings)

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

    # Somebody who listens all the while, and resumes at whichever server is there

    async def _follow(self, kind: str) -> None:
        heard = self.heard[kind] = []
        while True:
            after = {"Last-Event-ID": str(heard[-1] if heard else 0)}
            try:
                async with self._client.stream("GET", f"{self._events(kind)}/stream", headers=after) as stream:
                    assert stream.status_code in {200, 503}, stream.status_code
                    async for line in stream.aiter_lines():
                        if line.startswith("id:"):
                            heard.append(int(line[3:]))  # noqa: PERF401 - a stream that breaks keeps what came
            except httpx.TransportError:
                await asyncio.sleep(0.05)

    def _events(self, kind: str) -> str:
        return f"/workflows/{self.workflows[kind]}/events"

    async def _heard_all(self, kind: str) -> None:
        newest = (await self._client.get(self._events(kind), params={"page_size": 1})).json()["items"]
        await until(lambda: self._listens() and self.heard[kind][-1:] == [each["id"] for each in newest])

    def _listens(self) -> bool:
        assert self._following is not None
        if self._following.done():
            self._following.result()
        return True

    # The end

    async def end(self, unended: Callable[[], Awaitable[int]]) -> None:
        await self._all_work()
        await super().end(unended)
        await self._heard_all(_FOLLOWED)

    async def stop(self) -> None:
        await self._all_work()
        if self._following is not None:
            self._following.cancel()
        await self._client.aclose()
        for worker in self._workers:
            worker.process.send_signal(signal.SIGTERM)
        for server in self._servers:
            assert await server.stop() == 0
        for worker in self._workers:
            ended = await asyncio.wait_for(asyncio.to_thread(worker.process.wait), PATIENCE)
            assert ended == 0, worker.log.read_text()

    async def close(self) -> None:
        for process in [each.process for each in self._servers] + [each.process for each in self._workers]:
            if process.poll() is None:
                process.kill()
            process.wait()
