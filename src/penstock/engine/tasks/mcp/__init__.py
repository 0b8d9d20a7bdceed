"""`call: mcp`: asks a server of the Model Context Protocol, over HTTP or as a process, one thing.

Each call is a session of its own: initialize, the method, the end. A tool that says `isError` has answered: that is
the call's output, which a workflow can look at; only what JSON-RPC calls an error is one.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from typing import Any, Protocol

from penstock import __version__
from penstock.dsl.durations import NotADuration, microseconds
from penstock.engine import faults
from penstock.engine.tasks import jsonrpc
from penstock.engine.tasks.jsonrpc import Message
from penstock.engine.tasks.mcp.process import as_process
from penstock.engine.tasks.mcp.streamable_http import over_http
from penstock.engine.tasks.work import Authorization, Performed, Work

METHODS = (
    "tools/list",
    "tools/call",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/read",
    "resources/templates/list",
)
_PROTOCOL_VERSION = "2025-06-18"
_CALL = "call"


class Connection(Protocol):
    whose: str
    """How people know the server."""
    authorization: Authorization | None

    def ask(self, message: Message) -> AsyncGenerator[Message]:
        """Sends a request, and gives what comes until the reader leaves."""

    async def tell(self, message: Message) -> None:
        """Sends what is not answered."""

    def agreed(self, protocol_version: str) -> None: ...


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    method = arguments.get("method")
    if method not in METHODS:
        raise faults.configuration("Unknown MCP method", f"{method!r} is none of {', '.join(METHODS)}")
    seconds, own = _seconds(arguments.get("timeout"), work)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds), _connection(arguments.get("transport"), work) as connection:
            await _initialize(connection, arguments)
            output = await _call(connection, str(method), arguments.get("parameters"))
    except TimeoutError:
        fault = faults.timeout if own else faults.communication
        raise fault("No answer in time", f"the MCP server did not answer {method} in {seconds:g} seconds") from None
    work.says("info", f"MCP {method} {connection.whose}", ms=round((time.perf_counter() - began) * 1000))
    return Performed(output, connection.authorization)


def _seconds(given: Any, work: Work) -> tuple[float, bool]:
    """How long it may take, and whether that is the workflow's own word."""
    if given is None:
        return work.seconds, False
    try:
        return microseconds(given) / 1_000_000, True
    except NotADuration as error:
        raise faults.configuration("Not a duration", f"timeout: {error}") from error


def _connection(transport: Any, work: Work) -> AbstractAsyncContextManager[Connection]:
    match transport:
        case {"http": {"endpoint": _} as http}:
            return over_http(http, work)
        case {"stdio": {"command": str()} as stdio}:
            return as_process(stdio, work)
        case _:
            raise faults.configuration(
                "No MCP transport", "transport needs `http` with an endpoint, or `stdio` with a command"
            )


async def _initialize(connection: Connection, arguments: Mapping[str, Any]) -> None:
    client = arguments.get("client") or {}
    about = {
        "protocolVersion": arguments.get("protocolVersion") or _PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {
            "name": str(client.get("name") or "penstock"),
            "version": str(client.get("version") or client.get("description") or __version__),
        },
    }
    answer = await _asked(connection, jsonrpc.request("initialize", "initialize", about))
    match answer:
        case {"protocolVersion": str() as version}:
            connection.agreed(version)
        case _:
            raise faults.communication("Not an MCP server", f"{connection.whose} answered initialize without a version")
    await connection.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})


async def _call(connection: Connection, method: str, parameters: Any) -> Any:
    try:
        return await _asked(connection, jsonrpc.request(_CALL, method, parameters or {}))
    except asyncio.CancelledError:
        # A closed connection means nothing to a server: it would go on. The end of the session follows.
        await _give_up(connection)
        raise


async def _give_up(connection: Connection) -> None:
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": _CALL}}
    try:
        async with asyncio.timeout(1):
            await connection.tell(cancelled)
    except (faults.Fault, TimeoutError):
        pass  # it has been told, or cannot be told


async def _asked(connection: Connection, message: Message) -> Any:
    async with aclosing(connection.ask(message)) as received:
        async for answer in received:
            if jsonrpc.answers(answer, message["id"]):
                return jsonrpc.result(answer, connection.whose)
            if "method" in answer and "id" in answer:
                await connection.tell(_reply(answer))
    raise faults.communication("No answer", f"{connection.whose} ended before it answered {message['method']}")


def _reply(request: Message) -> Message:
    """To what a server may ask of us. We said that we can do nothing, so nothing but `ping` is expected."""
    if request["method"] == "ping":
        return {"jsonrpc": "2.0", "id": request["id"], "result": {}}
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "not supported"}}
