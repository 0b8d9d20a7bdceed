"""Clients of event streams by the thousand, on bare connections, so that they cost little beside the server."""

import asyncio
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

_ID = re.compile(rb"^id: (\d+)\n", re.MULTILINE)
_AT_ONCE = 50  # connections that are being opened


class NotStreaming(Exception):
    """The server answered something else."""


@dataclass
class Heard:
    """What one listener heard, as it came: read only when it is asked for, as that would keep the others waiting."""

    pieces: list[tuple[float, bytes]] = field(default_factory=list)

    def entries(self) -> list[tuple[int, float]]:
        """The id of each whole entry, and when its last piece came."""
        found, rest = [], b""
        for at, piece in self.pieces:
            # An empty one: the connection was cut, and with it what had not come whole.
            data = rest + piece if piece else b""
            whole = data.rfind(b"\n\n") + 2
            if whole > 1:
                found += [(int(id_), at) for id_ in _ID.findall(data, 0, whole)]
                rest = data[whole:]
            else:
                rest = data
        return found

    def has(self, id_: int) -> bool:
        """Whether it came lately."""
        return any(b"id: %d\n" % id_ in piece for _, piece in self.pieces[-4:])

    @property
    def ids(self) -> list[int]:
        return [id_ for id_, _ in self.entries()]

    @property
    def end(self) -> str:
        """Why the server ended the stream; empty when it did not say."""
        text = b"".join(data for _, data in self.pieces)
        return text.rpartition(b"event: end\n")[2].partition(b"\n\n")[0].decode() if b"event: end\n" in text else ""


class Listener(asyncio.Protocol):
    """One connection. `heard` may be that of an earlier connection, which it goes on with."""

    def __init__(self, request: bytes, heard: Heard) -> None:
        self.heard = heard
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport
        self._request = request
        self._rest = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        if self.opened.done():
            self.heard.pieces.append((time.time(), data))
        else:
            self._begin(data)

    def _begin(self, data: bytes) -> None:
        self._rest += data
        if b": hello\n\n" not in self._rest:
            if b"\r\n\r\n" in self._rest and not self._rest.startswith(b"HTTP/1.1 200"):
                self.opened.set_exception(NotStreaming(self._rest.decode(errors="replace")[:500]))
            return
        rest = self._rest.partition(b": hello\n\n")[2]
        self._rest = b""
        self.opened.set_result(None)
        if rest:
            self.data_received(rest)

    def connection_lost(self, _: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(NotStreaming("the connection was closed"))
            self.opened.exception()
        self.heard.pieces.append((time.time(), b""))
        if not self.closed.done():
            self.closed.set_result(None)


def request_for(url: str, path: str, token: str, after: int | None = None) -> bytes:
    lines = [f"GET {path} HTTP/1.1", f"Host: {urlsplit(url).netloc}", f"Authorization: Bearer {token}"]
    if after is not None:
        lines.append(f"Last-Event-ID: {after}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


async def listen(url: str, path: str, token: str, after: int | None = None, heard: Heard | None = None) -> Listener:
    """Connected, and the server has begun to answer."""
    place, loop = urlsplit(url), asyncio.get_running_loop()
    request = request_for(url, path, token, after)
    _, listener = await loop.create_connection(
        lambda: Listener(request, heard if heard is not None else Heard()), str(place.hostname), place.port or 80
    )
    await listener.opened
    return listener


async def listen_all(url: str, path: str, tokens: Sequence[str], count: int) -> list[Listener]:
    """So many, taking turns with the tokens."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> Listener:
        async with gate:
            return await listen(url, path, tokens[number % len(tokens)])

    return list(await asyncio.gather(*(one(number) for number in range(count))))


async def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether it came to be so in this time."""
    ends = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends:
            return False
        await asyncio.sleep(0.02)
    return True
