"""A server of the Model Context Protocol, made with its official SDK. As a program it speaks over standard input."""

import os
import sys
from queue import SimpleQueue
from typing import Any

import anyio
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

peer = MCPServer("peer", version="7")
happened: SimpleQueue[str] = SimpleQueue()


@peer.tool()
def add(a: int, b: int) -> int:
    return a + b


@peer.tool()
def environment() -> list[str]:
    return sorted(os.environ)


@peer.tool()
def repeat(text: str, times: int) -> str:
    return text * times


@peer.tool()
def refuse() -> str:
    raise ToolError("not today")


@peer.tool()
async def never(marker: str) -> str:
    happened.put(f"began {marker}")
    try:
        await anyio.sleep_forever()
    finally:
        happened.put(f"ended {marker}")
    return ""


@peer.tool()
def end() -> None:
    print("cannot go on, token s3cret-value", file=sys.stderr, flush=True)
    os._exit(3)


@peer.resource("notes://today")
def today() -> str:
    return "rain"


@peer.resource("notes://{day}")
def note(day: str) -> str:
    return f"no note of {day}"


@peer.prompt()
def greet(name: str) -> str:
    return f"Greet {name}!"


@peer.tool()
async def chatty(context: Context[Any, Any]) -> str:
    for step in range(3):
        await context.report_progress(step, 3)
    return "done"


if __name__ == "__main__":
    peer.run()
