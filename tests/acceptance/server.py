"""The real server as a process of its own, for tests that stop it, kill it or take its disk away."""

import asyncio
import json
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import httpx

from tests import processes

PATIENCE = 240  # seconds; starting a process takes five of processor, of which a busy machine gives a tenth
PASSWORD = "correct horse"


async def until(condition: Callable[[], Any]) -> Any:
    """Wait for what we wait for, but not for ever."""
    ends = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < ends, "waited in vain"
        await asyncio.sleep(0.01)
    return found


class Server:
    def __init__(self, folder: Path, database: str, *arguments: str, **settings: str) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
        environ |= {"PENSTOCK_LIMIT_CREATE": "100000", "PENSTOCK_PORT": "0", "PYTHONPATH": str(folder)}
        # Also by the clock: a machine with far more to do than cores takes the usual ten seconds for itself.
        environ |= {"PENSTOCK_EXPRESSION_TIME": "60s"}
        environ |= {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / f"log-{time.monotonic_ns()}"
        with self.log.open("w") as log:
            command = ["serve", "--database", database, *arguments]
            self.process = processes.start(command, cwd=folder, env=environ, stderr=log.fileno())

    def announced(self) -> str:
        """Where it listens, once it says so; a server that ended instead is a failure with its log."""
        assert self.process.poll() is None, self.log.read_text()
        for line in self.log.read_text().splitlines(keepends=True):
            if '"serving"' in line and line.endswith("\n"):  # all of it
                return f"http://{json.loads(line)['listen']}"
        return ""

    async def url(self) -> str:
        return str(await until(self.announced))

    async def ended(self) -> int:
        return await asyncio.wait_for(asyncio.to_thread(self.process.wait), PATIENCE)

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await self.ended()

    async def kill(self) -> None:
        self.process.kill()
        await self.ended()


async def halt(server: Server, database: str) -> None:
    """SIGSTOP. On SQLite not while it holds the file's lock, which nobody could take from a process that is there."""
    while True:
        server.process.send_signal(signal.SIGSTOP)
        if not database.startswith("sqlite:///"):
            return
        with closing(sqlite3.connect(database.removeprefix("sqlite:///"), isolation_level=None)) as rival:
            try:
                rival.execute("PRAGMA busy_timeout = 0")
                rival.execute("BEGIN IMMEDIATE")
                rival.execute("ROLLBACK")
            except sqlite3.OperationalError:
                server.process.send_signal(signal.SIGCONT)
                await asyncio.sleep(0.02)
            else:
                return


@asynccontextmanager
async def running(folder: Path, database: str, *arguments: str, **settings: str) -> AsyncIterator[Server]:
    server = Server(folder, database, *arguments, **settings)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            await server.kill()


async def refusal(folder: Path, database: str, *arguments: str, **settings: str) -> tuple[int, str]:
    """How a server that cannot start ends, and what it says."""
    async with running(folder, database, *arguments, **settings) as server:
        return await server.ended(), server.log.read_text()


async def sign_up(client: httpx.AsyncClient, email: str) -> httpx.Response:
    return await client.post("/user/create", data={"email": email, "password": PASSWORD, "signin": "1"})


async def sign_in(client: httpx.AsyncClient, email: str) -> httpx.Response:
    return await client.post("/user/auth", data={"email": email, "password": PASSWORD})
