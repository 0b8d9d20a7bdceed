"""Streams of a real server with its engine: hundreds listen, some do not read, the server is killed, and nobody misses
anything. `python -m bench streams` is the same with thousands."""

import asyncio
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from bench.streams.listeners import Heard, Listener, listen, listen_all, request_for

from tests.acceptance.server import PATIENCE, running, until

pytestmark = pytest.mark.anyio

SHORT = """\
document: {dsl: 1.0.3, namespace: tests, name: short, version: 1.0.0}
do:
  - one: {set: {n: 1}}
  - pause: {wait: {milliseconds: 50}}
  - two: {set: {n: 2}}
"""
LONG = """\
document: {dsl: 1.0.3, namespace: tests, name: long, version: 1.0.0}
do:
  - count:
      for: {each: n, in: "${ [range(2500)] }"}
      do:
        - keep: {set: {n: "${ $n }"}}
"""


class Caller:
    """Someone who owns a project on a server, wherever that listens at present."""

    def __init__(self) -> None:
        self.url = self.token = self.project = ""

    async def begin(self, url: str) -> None:
        self.url = url
        self.token = (await self.made("/auth/register", {"email": "a@example.com", "password": "correct horse"}))[
            "access_token"
        ]
        company = await self.made("/companies", {"name": "Acme"})
        self.project = (await self.made(f"/organizations/{company['id']}/projects", {"name": "Mill"}))["id"]

    async def workflow(self, name: str, definition: str) -> str:
        body = {"name": name, "config_yaml": definition}
        return str((await self.made(f"/projects/{self.project}/workflows", body))["id"])

    async def made(self, path: str, body: Any) -> Any:
        async with self._client() as client:
            answer = await client.post(path, json=body)
            assert answer.status_code == 201, answer.text
            return answer.json()

    async def executed(self, workflow: str, times: int) -> None:
        """Triggered so many times at once, and all ended."""
        async with self._client() as client:
            answers = await asyncio.gather(*(client.post(f"/workflows/{workflow}/trigger") for _ in range(times)))
            assert {answer.status_code for answer in answers} == {201}
        await self.all_ended(workflow)

    async def all_ended(self, workflow: str) -> None:
        async with self._client() as client:
            for status in ("pending", "running"):
                while (await client.get(f"/workflows/{workflow}/executions?status={status}")).json()["total"]:
                    await asyncio.sleep(0.05)

    async def newest(self, workflow: str) -> tuple[Any, int]:
        """The newest event, and how many there are."""
        async with self._client() as client:
            page = (await client.get(f"/workflows/{workflow}/events?page_size=1")).json()
        return page["items"][0], page["total"]

    def _client(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.AsyncClient(base_url=f"{self.url}/api/v1", headers=headers, timeout=PATIENCE)


def stream_of(workflow: str) -> str:
    return f"/api/v1/workflows/{workflow}/events/stream"


def heard_all(listener: Listener, total: int) -> bool:
    """Every event, once and in order."""
    ids = listener.heard.ids
    return len(ids) == total and ids == sorted(set(ids))


async def resumed(caller: Caller, workflow: str, listeners: Sequence[Listener]) -> list[Listener]:
    """Each from the last event that it heard whole."""
    gate = asyncio.Semaphore(20)

    async def one(before: Listener) -> Listener:
        async with gate:
            after = (before.heard.ids or [0])[-1]
            return await listen(caller.url, stream_of(workflow), caller.token, after, before.heard)

    return list(await asyncio.gather(*(one(listener) for listener in listeners)))


async def test_across_a_killed_server_hundreds_of_listeners_hear_every_event_once_and_in_order(
    tmp_path: Path, database_url: str
) -> None:
    caller = Caller()
    async with running(tmp_path, database_url) as server:
        await caller.begin(await server.url())
        workflow = await caller.workflow("Short", SHORT)
        listeners = await listen_all(caller.url, stream_of(workflow), [caller.token], 200)
        await caller.executed(workflow, 3)
        # These are under way when it is killed.
        trigger = asyncio.gather(*(caller.made(f"/workflows/{workflow}/trigger", {}) for _ in range(5)))
        await trigger
        await server.kill()
        await asyncio.gather(*(listener.closed for listener in listeners))
    async with running(tmp_path, database_url) as server:
        caller.url = await server.url()
        listeners = await resumed(caller, workflow, listeners)
        await caller.executed(workflow, 2)
        newest, total = await caller.newest(workflow)
        await until(lambda: all(listener.heard.has(newest["id"]) for listener in listeners))
        assert total > 10 * 8
        assert all(heard_all(listener, total) for listener in listeners)


async def test_who_does_not_read_delays_nobody_and_resumes_without_loss(tmp_path: Path, sqlite_url: str) -> None:
    caller = Caller()
    async with running(tmp_path, sqlite_url) as server:
        await caller.begin(await server.url())
        workflow = await caller.workflow("Long", LONG)
        deaf = [await listen_slowly(caller, workflow) for _ in range(5)]
        reading = await listen_all(caller.url, stream_of(workflow), [caller.token], 5)
        await caller.executed(workflow, 2)
        newest, total = await caller.newest(workflow)
        last = newest["id"]
        assert total > 10_000
        await until(lambda: all(listener.heard.has(last) for listener in reading))
        assert all(heard_all(listener, total) for listener in reading)
        for listener in deaf:
            assert not listener.heard.has(last)
            listener.transport.resume_reading()
        # Some catch up, others were let go of and go on from where they were.
        await until(lambda: all(one.heard.has(last) or one.closed.done() for one in deaf))
        again = await resumed(caller, workflow, [one for one in deaf if one.closed.done()])
        await until(lambda: all(one.heard.has(last) for one in again))
        assert all(heard_all(listener, total) for listener in deaf)


async def listen_slowly(caller: Caller, workflow: str) -> Listener:
    """With a small buffer of its own, and not reading."""
    host, port = caller.url.removeprefix("http://").split(":")
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, (host, int(port)))
    request = request_for(caller.url, stream_of(workflow), caller.token)
    _, listener = await loop.create_connection(lambda: Listener(request, Heard()), sock=sock)
    await listener.opened
    listener.transport.pause_reading()
    return listener


async def test_a_listener_at_the_server_whose_engine_waits_hears_all(tmp_path: Path, postgresql_url: str) -> None:
    caller = Caller()
    async with running(tmp_path / "one", postgresql_url) as one, running(tmp_path / "two", postgresql_url) as two:
        urls = [await one.url(), await two.url()]
        await until(lambda: any('"the engine runs"' in server.log.read_text() for server in (one, two)))
        runs = ['"the engine runs"' in server.log.read_text() for server in (one, two)]
        assert sorted(runs) == [False, True]
        runner, waiter = urls[runs.index(True)], urls[runs.index(False)]
        await caller.begin(runner)
        workflow = await caller.workflow("Short", SHORT)
        (listener,) = await listen_all(waiter, stream_of(workflow), [caller.token], 1)
        for _ in range(3):
            await caller.executed(workflow, 1)
            newest, total = await caller.newest(workflow)
            await until(lambda id_=newest["id"]: listener.heard.has(id_))  # type: ignore[misc]
            assert heard_all(listener, total)
