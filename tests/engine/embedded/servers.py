"""Real servers on one database, for tests of who runs and who takes over."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.acceptance.server import PATIENCE, Server, running

_SETTINGS = {
    "jwt_secret": "a secret of these tests alone, long enough",
    "expression_processes": "1",
    "expression_time": "30s",
}


class Node:
    """One server, and somebody who is signed in there."""

    def __init__(self, server: Server, client: httpx.AsyncClient) -> None:
        self.server = server
        self.client = client

    def says(self, text: str) -> int:
        """How often its log has it."""
        return self.server.log.read_text().count(f'"event":"{text}')

    @property
    def turns(self) -> int:
        """How often it has become the engine that runs."""
        return self.says("the engine runs")

    async def made(self, path: str, body: Any) -> Any:
        answer = await self.client.post(path, json=body)
        assert answer.status_code in {200, 201}, answer.text
        return answer.json()

    async def trigger(self, workflow: Any, data: Any = None) -> str:
        made = await self.made(f"/workflows/{workflow['id']}/trigger", {"trigger_data": data or {}})
        return str(made["id"])

    async def execution(self, id_: str) -> Any:
        return (await self.client.get(f"/executions/{id_}")).json()

    async def ended(self, id_: str) -> Any:
        async def has_ended() -> bool:
            return (await self.execution(id_))["status"] not in {"pending", "running"}

        await until(has_ended)
        return await self.execution(id_)


@asynccontextmanager
async def node(folder: Path, database: str, **settings: str) -> AsyncIterator[Node]:
    async with (
        running(folder, database, **(_SETTINGS | settings)) as server,
        httpx.AsyncClient(base_url=f"{await server.url()}/api/v1", timeout=PATIENCE) as client,
    ):
        yield Node(server, client)


async def until(condition: Callable[[], Awaitable[bool]] | Callable[[], bool]) -> float:
    """How many seconds it took."""
    began = time.monotonic()
    while True:
        so = condition()
        if so if isinstance(so, bool) else await so:
            return time.monotonic() - began
        assert time.monotonic() - began < PATIENCE, "waited in vain"
        await asyncio.sleep(0.02)


class Project:
    """A project that all nodes can reach; workflows are made at the first."""

    def __init__(self, first: Node, project: Any) -> None:
        self.id = project["id"]
        self._first = first

    async def workflow(self, name: str, tasks: str) -> Any:
        head = f"document: {{dsl: '1.0.3', namespace: test, name: {name}, version: '1.0.0'}}\n"
        body = {"name": name, "config_yaml": head + tasks}
        made = await self._first.made(f"/projects/{self.id}/workflows", body)
        return await self._first.made(f"/workflows/{made['id']}/deploy", None)


async def project_on(first: Node, *others: Node) -> Project:
    tokens = await first.made("/auth/register", {"email": "olga@example.com", "password": "correct horse"})
    for each in (first, *others):
        each.client.headers["Authorization"] = f"Bearer {tokens['access_token']}"
    company = await first.made("/companies", {"name": "Acme"})
    return Project(first, await first.made(f"/organizations/{company['id']}/projects", {"name": "Shop"}))
