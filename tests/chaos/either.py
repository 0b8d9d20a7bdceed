"""Two servers at one address, as a proxy makes of them, and somebody who listens there all the while."""

import asyncio
from itertools import count

import httpx

from tests.acceptance.server import Server, until


class Either(httpx.AsyncHTTPTransport):
    """To each of the servers in turn; whoever finds one dead asks again."""

    def __init__(self, servers: list[Server]) -> None:
        super().__init__()
        self._servers = servers
        self._turn = count()
        self._found: dict[Server, str] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if not self._servers:
            raise httpx.ConnectError("there is nobody")
        server = self._servers[next(self._turn) % len(self._servers)]
        if server.process.poll() is not None or not (url := self._url(server)):
            raise httpx.ConnectError("there is nobody")
        found = httpx.URL(url)
        request.url = request.url.copy_with(host=found.host, port=found.port)
        return await super().handle_async_request(request)

    def _url(self, server: Server) -> str:
        # Its log grows with every request, and is not read again for each.
        if not self._found.get(server):
            try:
                self._found[server] = server.announced()
            except AssertionError:
                return ""  # it has died since it was looked at
        return self._found[server]


class Follower:
    """Hears every event of a workflow, or every line of its log, and resumes at whichever server is there."""

    def __init__(self, client: httpx.AsyncClient, path: str) -> None:
        self.heard: list[int] = []
        self._client = client
        self.path = path
        self._task = asyncio.create_task(self._follow())

    async def _follow(self) -> None:
        while True:
            after = {"Last-Event-ID": str(self.heard[-1] if self.heard else 0)}
            try:
                async with self._client.stream("GET", f"{self.path}/stream", headers=after) as stream:
                    assert stream.status_code in {200, 503}, stream.status_code
                    async for line in stream.aiter_lines():
                        if line.startswith("id:"):
                            self.heard.append(int(line[3:]))
            except httpx.TransportError:
                await asyncio.sleep(0.05)

    async def has_heard(self, newest: list[int]) -> None:
        await until(lambda: self._listens() and self.heard[-1:] == newest)

    def _listens(self) -> bool:
        if self._task.done():
            self._task.result()
        return True

    def stop(self) -> None:
        self._task.cancel()
