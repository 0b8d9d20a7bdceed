"""AsyncAPI over a WebSocket: a message is a message. It has no headers; those of the task go with the handshake."""

from collections.abc import AsyncGenerator

import aiohttp

from penstock.engine import faults
from penstock.engine.tasks import authentication
from penstock.engine.tasks.asyncapi.over_http import address_of
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work


async def publish(target: Target, message: Outbound, work: Work) -> None:
    headers, _ = await authentication.headers(target.policy, work)
    own = {"Idempotency-Key": work.key}
    async with work.tools.http.websocket(address_of(target, "http"), own | dict(message.headers) | headers) as socket:
        try:
            await socket.send_str(message.payload.decode())
        except UnicodeDecodeError:
            await socket.send_bytes(message.payload)


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    headers, _ = await authentication.headers(target.policy, work)
    async with work.tools.http.websocket(address_of(target, "http"), headers) as socket:
        async for message in socket:
            match message.type:
                case aiohttp.WSMsgType.TEXT:
                    yield Inbound(str(message.data).encode())
                case aiohttp.WSMsgType.BINARY:
                    yield Inbound(bytes(message.data))
                case _:
                    break
        if socket.close_code == aiohttp.WSCloseCode.MESSAGE_TOO_BIG:
            raise too_large(work.tools.limits.answer_bytes, str(target))
        if socket.close_code != aiohttp.WSCloseCode.OK:
            raise faults.communication("Connection lost", f"{target} ended with code {socket.close_code}")
