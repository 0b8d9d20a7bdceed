"""Triggers, and deaths at random moments, for some time; then calm, until all has ended."""

import asyncio
import json
import random
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from penstock.engine.embedded import lease
from penstock.storage import now
from tests.acceptance.server import Server, halt, until
from tests.chaos.either import Either, Follower
from tests.chaos.peers import CountingService, Postgresql
from tests.chaos.people import PATIENCE, Asked, People
from tests.chaos.workflows import KINDS, LINKS, SCHEDULED, definition

_AT_ONCE = 4
FOLLOWED = "chain"
_HANGS = 4 * lease.PATIENCE
_ON_ITS_WAY = 20_000_000  # microseconds that a request may take from who sends it to the service, and more
SETTINGS = {
    "jwt_secret": "a secret of these tests alone, long enough",
    "expression_processes": "1",
    "expression_time": "30s",
    "access_ttl": "24h",
}


class Storm:
    """Two servers on one database, one of which runs the engine at a time."""

    kinds = tuple(KINDS)
    """The workflows that there are."""
    pause = 0.1
    """Seconds at most between a trigger and the next."""

    def __init__(self, folder: Path, database: str, service: CountingService, seed: int, **settings: str) -> None:
        self.folder = folder
        self.database = database
        self.service = service
        self.random = random.Random(seed)
        self.workflows: dict[str, str] = {}
        self.deaths: list[tuple[int, int]] = []
        """When who performs calls was told to die, and when it was dead, in microseconds since 1970."""
        self.heard: dict[str, list[int]] = {}
        """The ids of events and log lines as somebody heard them who listened all the while."""
        self._ended: dict[Path, int] = {}
        """By their logs: when servers that are not there any more had ended."""
        self._settings = SETTINGS | settings
        self._servers: list[Server] = []
        self._client = httpx.AsyncClient(base_url="http://either/api/v1", timeout=20, transport=Either(self._servers))
        self._followers: list[Follower] = []
        self._people = People(self._client, self.workflows, self.random, self.pause, service.url)

    @property
    def asked(self) -> list[Asked]:
        return self._people.asked

    @property
    def told(self) -> list[int]:
        return self._people.told

    # The servers

    def _another(self) -> Server:
        return Server(self.folder, self.database, **self._settings)

    async def start(self) -> None:
        self._servers.extend([self._another(), self._another()])
        await self.all_work()

    async def all_work(self) -> None:
        for server in self._servers:
            await server.url()

    async def stop(self) -> None:
        await self.all_work()
        for follower in self._followers:
            follower.stop()
        await self._client.aclose()
        for server in self._servers:
            assert await server.stop() == 0, server.log.read_text()
        self.deaths.extend(self._overlaps())

    async def close(self) -> None:
        """Whatever happened."""
        for server in self._servers:
            if server.process.poll() is None:
                await server.kill()

    def excused(self) -> "Counter[str]":
        """Keys of calls that were performed again, and how often: who was taken for dead does what it was about to do
        when it goes on, until it knows."""
        overlaps = self._overlaps()
        return Counter(
            request["key"]
            for request in self.service.requests
            if any(began <= request["at"] <= knew + _ON_ITS_WAY for began, knew in overlaps)
        )

    def _overlaps(self) -> list[tuple[int, int]]:
        """When an engine began to run while another still took itself for the one that does, and when that one knew, or
        ended without."""
        began: dict[int, int] = {}
        knew: dict[int, int] = {}
        ended: dict[int, int] = {}
        for log in self.folder.glob("log-*"):
            fence = 0
            for entry in said_in(log):
                if entry["event"] == "the engine runs":
                    fence = entry["fence"]
                    began[fence] = _microseconds(entry["timestamp"])
                elif entry["event"].startswith("another engine has taken over"):
                    knew[fence] = _microseconds(entry["timestamp"])
            ended[fence] = self._ended.get(log, 0)
        followed = {fence: min((began[other] for other in began if other > fence), default=None) for fence in began}
        taken = {fence: at for fence, at in followed.items() if at is not None}
        unknowing = {fence: ended[fence] for fence, at in taken.items() if at < ended.get(fence, 0)}
        return [(taken[fence], at) for fence, at in (unknowing | knew).items() if fence in taken]

    # What runs there

    async def set_up(self) -> None:
        answer = await self._made("/auth/register", {"email": "chaos@example.com", "password": "correct horse"})
        self._client.headers["Authorization"] = f"Bearer {answer['access_token']}"
        company = await self._made("/companies", {"name": "Chaos"})
        project = await self._made(f"/organizations/{company['id']}/projects", {"name": "Chaos"})
        self._people.project_id = project["id"]
        for name in self.kinds:
            body = {"name": name, "config_yaml": definition(name, self.service.url)}
            made = await self._made(f"/projects/{project['id']}/workflows", body)
            self.workflows[name] = made["id"]
            assert (await self._client.post(f"/workflows/{made['id']}/deploy", timeout=PATIENCE)).status_code == 200
        for source, target, type_, data in LINKS:
            link: dict[str, Any] = {"target_workflow_id": self.workflows[target], "link_type": type_}
            link |= {} if data is None else {"config": {"input": data}}
            await self._made(f"/workflows/{self.workflows[source]}/links", link)
        for what in ("events", "logs"):
            follower = Follower(self._client, f"/workflows/{self.workflows[FOLLOWED]}/{what}")
            self._followers.append(follower)
            self.heard[what] = follower.heard

    async def _made(self, path: str, body: Any) -> Any:
        answer = await self._client.post(path, json=body, timeout=PATIENCE)
        assert answer.status_code == 201, answer.text
        return answer.json()

    # The storm

    async def rage(self, seconds: float, disasters: Sequence[Callable[[], Awaitable[None]]]) -> None:
        """Each of the disasters in turn, for so long, but all of them once at least."""
        calm = asyncio.Event()
        triggering = [asyncio.create_task(self._people.keep_triggering(calm)) for _ in range(_AT_ONCE)]
        until, turn = time.monotonic() + seconds, 0
        while time.monotonic() < until or turn < len(disasters):
            await asyncio.sleep(self.random.uniform(0.3, 2.5))
            for task in triggering:
                if task.done():
                    task.result()
            await disasters[turn % len(disasters)]()
            turn += 1
        calm.set()
        await asyncio.gather(*triggering)

    async def a_server_dies(self) -> None:
        await self._dies(self.random.randrange(len(self._servers)))

    async def all_servers_die(self) -> None:
        for which in range(len(self._servers)):
            await self._dies(which)
        await self.all_work()

    async def _dies(self, which: int) -> None:
        told = now()
        await self._servers[which].kill()
        self._has_ended(which, told)

    def _has_ended(self, which: int, told: int) -> None:
        self.deaths.append((told, now()))
        self._ended[self._servers[which].log] = now()
        self._servers[which] = self._another()

    async def a_server_leaves(self) -> None:
        """As it is told when it is to be replaced."""
        which, told = self.random.randrange(len(self._servers)), now()
        await self._servers[which].url()
        assert await self._servers[which].stop() == 0
        self._has_ended(which, told)

    async def a_server_hangs(self) -> None:
        """The one that runs the engine, until the other one has taken over; then it goes on with what it was about to
        do."""
        await self.all_work()
        await until(lambda: _since_when_it_runs(self._runner()))
        hung = self._runner()
        await halt(hung, self.database)
        ends = time.monotonic() + _HANGS
        while self._runner() is hung and time.monotonic() < ends:
            await asyncio.sleep(0.1)
        hung.process.send_signal(signal.SIGCONT)

    def _runner(self) -> Server:
        return max(self._servers, key=_since_when_it_runs)

    async def end(self, unended: Callable[[], Awaitable[int]]) -> None:
        """Nothing new; what is under way has its time."""
        await self.all_work()
        for name in SCHEDULED:
            await self._has_run(name)
            await self._people.until_answered(f"/workflows/{self.workflows[name]}/stop")
        ends = time.monotonic() + PATIENCE
        while (left := await unended()) > 0:
            assert time.monotonic() < ends, f"{left} executions or events do not end"
            await asyncio.sleep(0.1)

    async def all_is_heard(self) -> None:
        """By who listens, once nobody writes any more."""
        for follower in self._followers:
            newest = await self._read(follower.path)
            await follower.has_heard([each["id"] for each in newest])

    async def _read(self, path: str) -> list[Any]:
        """The newest one of those that are there."""
        answer = await self._people.until_answered(path, method="GET", params={"page_size": 1})
        items: list[Any] = answer.json()["items"]
        return items

    async def _has_run(self, name: str) -> None:
        """Once at least, however busy the machine was: else nothing would be said of schedules."""
        runs, until = f"/workflows/{self.workflows[name]}/executions", time.monotonic() + PATIENCE
        while not await self._read(runs):
            assert time.monotonic() < until, f"{name} was not started by its schedule"
            await asyncio.sleep(0.1)


def _since_when_it_runs(server: Server) -> int:
    """By the number that the engine got; 0 when it has not run yet."""
    entries = said_in(server.log)
    return max((int(entry["fence"]) for entry in entries if entry["event"] == "the engine runs"), default=0)


def said_in(log: Path) -> Iterator[dict[str, Any]]:
    """In whole lines: the last one may be being written. Temporal's SDK has words of its own."""
    whole, _, _ = log.read_text().rpartition("\n")
    return (json.loads(line) for line in whole.splitlines() if line.startswith("{"))


async def cut_connections(url: str) -> None:
    """As a proxy or a firewall does, whatever was being said."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'penstock' AND pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()


async def restart(server: Postgresql) -> None:
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)


def _microseconds(timestamp: str) -> int:
    return int(datetime.fromisoformat(timestamp).timestamp() * 1_000_000)
