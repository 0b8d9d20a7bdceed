"""Triggers, and deaths at random moments, for some time; then calm, until all has ended."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import msgspec

from penstock.storage import now
from tests.acceptance.server import Server
from tests.chaos.peers import CountingService, Postgresql
from tests.chaos.workflows import KINDS, LINKS, definition

PATIENCE = 120.0
_TRIGGERED = [name for name, kind in KINDS.items() if kind.triggered and name != "listener"]
_AT_ONCE = 4
SETTINGS = {
    "jwt_secret": "a secret of these tests alone, long enough",
    "expression_processes": "1",
    "access_ttl": "24h",
}


class Asked(msgspec.Struct, frozen=True):
    """A trigger that was acknowledged."""

    kind: str
    n: int
    execution_id: str


class Storm:
    kinds = tuple(KINDS)
    """The workflows that there are."""
    pause = 0.1
    """Seconds at most between a trigger and the next."""

    def __init__(self, folder: Path, database: str, service: CountingService, seed: int) -> None:
        self.folder = folder
        self.database = database
        self.service = service
        self.random = random.Random(seed)
        self.workflows: dict[str, str] = {}
        self.asked: list[Asked] = []
        self.deaths: list[tuple[int, int]] = []
        """When the server was told to die, and when it was dead, in microseconds since 1970."""
        self.heard: dict[str, list[int]] = {}
        """By kind, the ids of events as somebody heard them who listened all the while."""
        self._server: Server | None = None
        self._client = httpx.AsyncClient(timeout=20)
        self._n = 0

    # The server

    async def start(self) -> None:
        self._server = Server(self.folder, self.database, **SETTINGS)
        self._client.base_url = httpx.URL(f"{await self._server.url()}/api/v1")

    async def kill(self) -> None:
        assert self._server is not None
        told = now()
        await self._server.kill()
        self.deaths.append((told, now()))

    async def stop(self) -> None:
        assert self._server is not None
        assert await self._server.stop() == 0
        await self._client.aclose()

    async def close(self) -> None:
        """Whatever happened."""
        if self._server is not None and self._server.process.poll() is None:
            await self._server.kill()

    def excused(self) -> "Counter[str]":
        """Keys of calls that were performed again, as those said who did so, and how often."""
        return Counter()

    # What is asked of it

    async def set_up(self) -> None:
        answer = await self._made("/auth/register", {"email": "chaos@example.com", "password": "correct horse"})
        self._client.headers["Authorization"] = f"Bearer {answer['access_token']}"
        company = await self._made("/companies", {"name": "Chaos"})
        project = await self._made(f"/organizations/{company['id']}/projects", {"name": "Chaos"})
        for name in self.kinds:
            body = {"name": name, "config_yaml": definition(name, self.service.url)}
            made = await self._made(f"/projects/{project['id']}/workflows", body)
            self.workflows[name] = made["id"]
            assert (await self._client.post(f"/workflows/{made['id']}/deploy")).status_code == 200
        for source, target, type_, data in LINKS:
            link: dict[str, Any] = {"target_workflow_id": self.workflows[target], "link_type": type_}
            link |= {} if data is None else {"config": {"input": data}}
            await self._made(f"/workflows/{self.workflows[source]}/links", link)

    async def _made(self, path: str, body: Any) -> Any:
        answer = await self._client.post(path, json=body)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def trigger(self, kind: str, n: int) -> None:
        """Asked again, with the same key, until it is acknowledged."""
        url, key = f"/workflows/{self.workflows[kind]}/trigger", f"{kind}-{n}"
        until = time.monotonic() + PATIENCE
        while True:
            assert time.monotonic() < until, f"{key} was never acknowledged"
            try:
                answer = await self._client.post(url, json={"trigger_data": {"n": n}}, headers={"Idempotency-Key": key})
            except httpx.TransportError:
                await asyncio.sleep(0.05)
                continue
            if answer.status_code in {200, 201}:
                self.asked.append(Asked(kind, n, answer.json()["id"]))
                return
            assert answer.status_code in {500, 503}, answer.text
            await asyncio.sleep(0.05)

    async def keep_triggering(self, calm: asyncio.Event) -> None:
        while not calm.is_set():
            self._n += 1
            n, kind = self._n, self.random.choice(_TRIGGERED)
            if kind == "emitter":
                # Whoever comes first, they must meet.
                pair = ["listener", "emitter"]
                self.random.shuffle(pair)
                for each in pair:
                    await self.trigger(each, n)
            else:
                await self.trigger(kind, n)
            await asyncio.sleep(self.random.uniform(0, self.pause))

    # The storm

    async def rage(self, seconds: float, disasters: list[Callable[[], Awaitable[None]]]) -> None:
        """Each of the disasters in turn, for so long, but all of them once at least."""
        calm = asyncio.Event()
        triggering = [asyncio.create_task(self.keep_triggering(calm)) for _ in range(_AT_ONCE)]
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

    async def die_and_return(self) -> None:
        await self.kill()
        await self.start()

    async def end(self, unended: Callable[[], Awaitable[int]]) -> None:
        """Nothing new; what is under way has its time."""
        if "tick" in self.workflows:
            answer = await self._client.post(f"/workflows/{self.workflows['tick']}/stop")
            assert answer.status_code == 200, answer.text
        until = time.monotonic() + PATIENCE
        while (left := await unended()) > 0:
            assert time.monotonic() < until, f"{left} executions do not end"
            await asyncio.sleep(0.1)


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
