"""A client of Server-Sent Events that talks ASGI: httpx would wait for the end of an answer that has none."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock.http.edge import App


class Frame(dict[str, str]):
    """One event: its fields by name."""

    @property
    def json(self) -> Any:
        return json.loads(self["data"])


class Stream:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.pieces = 0
        self.body = b""
        self.comments = 0
        self.blocked = asyncio.Event()
        self.blocked.set()
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._gone = asyncio.Event()
        self._started = asyncio.Event()
        self._requested = False

    async def receive(self) -> dict[str, Any]:
        if not self._requested:
            self._requested = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await self.blocked.wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        self.pieces += 1
        self.body += message["body"]
        *whole, rest = self.body.split(b"\n\n") if self.status == 200 else [self.body]
        if self.status == 200:
            self.body = rest
            for text in whole:
                self._take(text.decode())
        self._started.set()
        if not message.get("more_body"):
            self._frames.put_nowait(None)

    def _take(self, text: str) -> None:
        if text.startswith(":"):
            self.comments += 1
        else:
            self._frames.put_nowait(Frame(line.split(": ", 1) for line in text.split("\n")))

    async def next(self, seconds: float = 60) -> Frame | None:
        """The next event; None at the end."""
        async with asyncio.timeout(seconds):
            return await self._frames.get()

    async def some(self, count: int, seconds: float = 60) -> list[Frame]:
        found: list[Frame] = []
        for _ in range(count):
            frame = await self.next(seconds)
            assert frame is not None, found
            found.append(frame)
        return found

    async def end(self, seconds: float = 60) -> tuple[list[Frame], str]:
        """What still came, and the reason that the server gave."""
        frames = []
        while (frame := await self.next(seconds)) is not None:
            frames.append(frame)
        assert frames[-1]["event"] == "end"
        return frames[:-1], frames[-1].json["reason"]

    async def started(self) -> None:
        async with asyncio.timeout(60):
            await self._started.wait()

    def hang_up(self) -> None:
        self._gone.set()


@asynccontextmanager
async def streaming(app: App, path: str, token: str, **headers: str) -> AsyncIterator[Stream]:
    """An open stream; the client vanishes at the end of the block, and the server must have let go of it."""
    stream = Stream()
    path, _, query = path.partition("?")
    sent = {"authorization": f"Bearer {token}", **{name.replace("_", "-"): value for name, value in headers.items()}}
    scope = {
        "type": "http",
        "method": "GET",
        "path": f"/api/v1{path}",
        "raw_path": f"/api/v1{path}".encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "client": ("198.51.100.9", 50000),
        "server": ("localhost", 80),
        "state": {},
        "extensions": {},
    }
    task = asyncio.create_task(app(scope, stream.receive, stream.send))
    try:
        await stream.started()
        yield stream
    finally:
        stream.hang_up()
        stream.blocked.set()
        async with asyncio.timeout(60):
            await task
