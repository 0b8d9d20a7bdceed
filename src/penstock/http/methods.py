"""HEAD and OPTIONS, the same for every address, from what the application says to other methods."""

import asyncio
from typing import Any


def takes_head(path: str) -> bool:
    """Where a GET only reads. Who just looks ahead (a chat, a mail scanner) must sign nobody in or out."""
    return not path.startswith("/user/") and "/auth/" not in path


async def head(app: Any, scope: Any, send: Any) -> None:
    """The answer of GET without its body."""
    begun = asyncio.Event()
    messages = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def nobody_reads() -> Any:
        if (message := next(messages, None)) is not None:
            return message
        # A stream ends when its reader is gone.
        await begun.wait()
        return {"type": "http.disconnect"}

    async def send_start(message: Any) -> None:
        if message["type"] == "http.response.start":
            await send(message)
            await send({"type": "http.response.body", "body": b""})
            begun.set()

    read = scope | {"method": "GET"}
    await app(read, nobody_reads, send_start)
    scope["path_template"] = read.get("path_template", "unmatched")


async def options(app: Any, scope: Any, send: Any) -> None:
    """What an address takes. Litestar's own answer knows the method that was registered first, and no other; its
    refusal of a method that no address takes knows them all."""

    async def nothing() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    refused = False

    async def send_allowed(message: Any) -> None:
        nonlocal refused
        if message["type"] == "http.response.start" and message["status"] == 405:
            refused = True
            allow = dict(message["headers"])[b"allow"]
            message = {"type": "http.response.start", "status": 204, "headers": [(b"allow", allow)]}
        elif refused:
            message = {"type": "http.response.body", "body": b""}
        await send(message)

    asked = scope | {"method": "TRACE"}
    await app(asked, nothing, send_allowed)
    scope["path_template"] = asked.get("path_template", "unmatched")


def with_head(allow: str, path: str) -> str:
    """The header `Allow` of an address that takes these."""
    taken = {name.strip() for name in allow.split(",")}
    return ", ".join(sorted(taken | ({"HEAD"} if "GET" in taken and takes_head(path) else set())))
