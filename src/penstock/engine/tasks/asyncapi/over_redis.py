"""AsyncAPI over Redis: publish and subscribe, whose messages have no headers and are kept for nobody."""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from redis.asyncio import Connection, ConnectionPool, Redis
from redis.exceptions import RedisError

from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.asyncapi.credentials import credentials, secured
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work


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
        **named,
    )
    try:
        async with Redis(connection_pool=pool) as client:
            yield client
    except (RedisError, OSError) as error:
        raise faults.communication("Redis failed", f"{target}: {str(error)[:200]}") from error
    finally:
        await pool.disconnect()


class _Named(Connection):
    """TLS with the name of the host while the connection goes to the address that was checked."""

    def __init__(self, name: str, tls: ssl.SSLContext, **options: Any) -> None:
        super().__init__(**options)
        self._name = name
        self._tls = tls

    def _connection_arguments(self) -> Mapping[str, Any]:
        own = {"ssl": self._tls, "server_hostname": self._name}
        return {**super()._connection_arguments(), **own}
