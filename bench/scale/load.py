"""So many executions under way at any time, each followed by the stream of events to its end."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import httpx

from bench.accounts.servers import BenchError

_PATIENCE = 300


@dataclass
class Load:
    """What came of it; times are milliseconds."""

    seconds: float
    ends: list[float]
    """From sending a trigger to hearing that it has ended."""
    late: list[float]
    """From an event's own time to hearing it."""


@dataclass
class _Hearing:
    ended: dict[str, "asyncio.Future[float]"] = field(default_factory=dict)
    late: list[float] = field(default_factory=list)

    def of(self, execution_id: str) -> "asyncio.Future[float]":
        return self.ended.setdefault(execution_id, asyncio.get_running_loop().create_future())

    def hear(self, event: dict[str, Any]) -> None:
        self.late.append((time.time() - datetime.fromisoformat(event["created_at"]).timestamp()) * 1e3)
        if event["type"] == "workflow.completed":
            self.of(event["execution_id"]).set_result(time.perf_counter())
        elif event["type"] == "workflow.faulted":
            self.of(event["execution_id"]).set_exception(BenchError(f"an execution failed: {event}"))


class Caller:
    def __init__(self, client: httpx.AsyncClient, project_id: str) -> None:
        self._client = client
        self._project_id = project_id

    async def workflow(self, name: str, definition: str) -> str:
        body = {"name": name, "config_yaml": definition}
        made = await self._client.post(f"/projects/{self._project_id}/workflows", json=body)
        id_ = str(made.raise_for_status().json()["id"])
        (await self._client.post(f"/workflows/{id_}/deploy")).raise_for_status()
        return id_

    async def load(self, workflow_id: str, count: int, at_once: int) -> Load:
        """The next is asked for when one has ended."""
        hearing, left, ends = _Hearing(), iter(range(count)), list[float]()

        async def ask() -> None:
            for _ in left:
                ends.append(await self._ask(workflow_id, hearing))

        async with self._listening(workflow_id, hearing):
            began = time.perf_counter()
            await asyncio.gather(*(ask() for _ in range(at_once)))
            return Load(time.perf_counter() - began, ends, hearing.late)

    async def paced(self, workflow_id: str, count: int, rate: float) -> Load:
        """So many a second are asked for, whatever has ended."""
        hearing = _Hearing()

        async def ask(number: int) -> float:
            await asyncio.sleep(number / rate)
            return await self._ask(workflow_id, hearing)

        async with self._listening(workflow_id, hearing):
            began = time.perf_counter()
            ends = await asyncio.gather(*(ask(number) for number in range(count)))
            return Load(time.perf_counter() - began, ends, hearing.late)

    async def _ask(self, workflow_id: str, hearing: _Hearing) -> float:
        began = time.perf_counter()
        answer = await self._client.post(f"/workflows/{workflow_id}/trigger", json={})
        ended = hearing.of(answer.raise_for_status().json()["id"])
        return (await asyncio.wait_for(ended, _PATIENCE) - began) * 1e3

    @asynccontextmanager
    async def _listening(self, workflow_id: str, hearing: _Hearing) -> AsyncIterator[None]:
        async with self._client.stream("GET", f"/workflows/{workflow_id}/events/stream", timeout=None) as stream:
            stream.raise_for_status()
            listening = asyncio.create_task(_listen(stream, hearing))
            try:
                yield
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)


async def _listen(stream: httpx.Response, hearing: _Hearing) -> None:
    async for line in stream.aiter_lines():
        if line.startswith("data:") and "created_at" in (event := json.loads(line[5:])):
            hearing.hear(event)


@asynccontextmanager
async def calling(url: str) -> AsyncIterator[Caller]:
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=f"{url}/api/v1", timeout=60, limits=limits) as client:

        async def made(path: str, body: dict[str, Any]) -> Any:
            return (await client.post(path, json=body)).raise_for_status().json()

        who = {"email": "bench@example.com", "password": "correct horse battery"}
        client.headers["authorization"] = f"Bearer {(await made('/auth/register', who))['access_token']}"
        company = (await made("/companies", {"name": "Bench"}))["id"]
        project = (await made(f"/organizations/{company}/projects", {"name": "Bench"}))["id"]
        yield Caller(client, project)
