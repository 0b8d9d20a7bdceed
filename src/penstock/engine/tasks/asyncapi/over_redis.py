"""AsyncAPI over Redis: publish and subscribe, whose messages have no headers and are kept for nobody."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from redis._parsers import _AsyncRESP2Parser
from redis.asyncio import Connection, ConnectionPool, Redis
from redis.exceptions import InvalidResponse, RedisError

from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.asyncapi.credentials import credentials, secured
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work

_BESIDES = 64 * 1024  # what an answer holds beside a message


async def publish(target: Target, message: Outbound, work: Work) -> None:
    async with _connected(target, work) as client:
        await client.publish(target.address, message.payload)


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    most = work.tools.limits.answer_bytes
    async with _connected(target, work) as client, client.pubsub() as channel:
        await channel.subscribe(target.address)
        async for message in channel.listen():
            if message["type"] != "message":
                continue
            if len(message["data"]) > most:
                raise too_large(most, str(target))
            yield Inbound(message["data"])


@asynccontextmanager
async def _connected(target: Target, work: Work) -> AsyncIterator[Any]:
    user, password = await credentials(target.policy, work)
    address = await reaching.reached(work.tools.egress, target.host, target.port)
    tls = await secured(target, work)
    named: dict[str, Any] = {"name": target.host, "tls": tls} if tls is not None else {}
    pool = ConnectionPool(
        connection_class=_Named if target.tls else Connection,
        host=address,
        port=target.port,
        username=user,
        password=password,
        socket_connect_timeout=reaching.CONNECT_SECONDS,
        protocol=2,
        parser_class=partial(_Bounded, 4 * work.tools.limits.answer_bytes + _BESIDES),
        **named,
    )
    try:
        async with Redis(connection_pool=pool) as client:
            yield client
    except (RedisError, OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise faults.communication("Redis failed", f"{target}: {str(error)[:200]}") from error
    finally:
        await pool.disconnect()


class _Bounded(_AsyncRESP2Parser):
    """No answer is endless: the library would read as much as the server says that there is."""

    def __init__(self, most: int, socket_read_size: int) -> None:
        super().__init__(socket_read_size)
        self._most = most

    async def _read(self, length: int) -> Any:
        self._require(length)
        return await super()._read(length)

    async def _readline(self) -> Any:
        self._require(0)
        return await super()._readline()

    def _require(self, length: int) -> None:
        if self._pos + length > self._most:
            raise InvalidResponse(f"an answer of more than {self._most:,} bytes")


class _Named(Connection):
    """TLS with the name of the host while the connection goes to the address that was checked."""

    def __init__(self, name: str, tls: ssl.SSLContext, **options: Any) -> None:
        super().__init__(**options)
        self._name = name
        self._tls = tls

    def _connection_arguments(self) -> Mapping[str, Any]:
        own = {"ssl": self._tls, "server_hostname": self._name}
        return {**super()._connection_arguments(), **own}
