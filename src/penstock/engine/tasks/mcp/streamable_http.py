"""MCP's streamable HTTP: each message is a POST; its answer is JSON or a stream of events; a header is the session."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks import authentication, jsonrpc
from penstock.engine.tasks.addresses import endpoint_of, shown, url_of
from penstock.engine.tasks.jsonrpc import Message
from penstock.engine.tasks.work import Authorization, Work

_GOODBYE_SECONDS = 2.0


class HttpConnection:
    def __init__(self, url: URL, headers: Mapping[str, str], authorization: Authorization | None, work: Work) -> None:
        self.whose = shown(url)
        self.authorization = authorization
        self._url = url
        self._headers = dict(headers)
        self._work = work
        self._session: str | None = None

    def agreed(self, protocol_version: str) -> None:
        self._headers["mcp-protocol-version"] = protocol_version

    async def ask(self, message: Message) -> AsyncGenerator[Message]:
        headers = self._headers
        if message["method"] != "initialize":
            # One key is one request: who keeps answers by key must not give that of `initialize` again.
            headers = {"idempotency-key": self._work.key} | headers
        async with jsonrpc.post(self._url, message, headers, self._work) as answer:
            self._remember(answer.headers.get("mcp-session-id"))
            async with aclosing(answer.messages()) as messages:
                async for received in messages:
                    yield received

    async def tell(self, message: Message) -> None:
        async with jsonrpc.post(self._url, message, self._headers, self._work):
            pass

    def _remember(self, session: str | None) -> None:
        if session and self._session is None:
            self._session = session
            self._headers["mcp-session-id"] = session

    async def end(self) -> None:
        if self._session is None:
            return
        try:
            async with (
                asyncio.timeout(_GOODBYE_SECONDS),
                self._work.tools.http.stream("DELETE", self._url, self._headers),
            ):
                pass
        except (faults.Fault, TimeoutError):
            pass  # it forgets the session by itself, some day


@asynccontextmanager
async def over_http(transport: Mapping[str, Any], work: Work) -> AsyncIterator[HttpConnection]:
    address, policy = endpoint_of(transport["endpoint"])
    url = url_of(address)
    proof, authorization = await authentication.headers(policy, work)
    given = jsonrpc.lower(transport.get("headers") or {})
    connection = HttpConnection(url, jsonrpc.lower(proof) | given, authorization, work)
    try:
        yield connection
    finally:
        await connection.end()
