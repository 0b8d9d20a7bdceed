"""AsyncAPI over MQTT: 3.1.1, whose messages have no headers, and 5, whose messages have user properties. At least once,
unless the document says otherwise."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.asyncapi.credentials import credentials, secured
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target, telling_once
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work

_MOST_WAITING = 10_000
_VERSIONS = {"mqtt": aiomqtt.ProtocolVersion.V311, "mqtt5": aiomqtt.ProtocolVersion.V5}


async def publish(target: Target, message: Outbound, work: Work) -> None:
    async with _connected(target, work) as client:
        retain = target.bindings.get("retain") is True
        await client.publish(
            target.address,
            message.payload,
            qos=_quality(target),
            retain=retain,
            properties=_properties(target, message, work) if target.protocol == "mqtt5" else None,
        )


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    async with _connected(target, work) as client:
        await client.subscribe(target.address, qos=_quality(target))
        async for message in client.messages:
            if len(message.payload) > work.tools.limits.answer_bytes:
                raise too_large(work.tools.limits.answer_bytes, str(target))
            yield Inbound(message.payload, {**_headers(message), "topic": str(message.topic)})


def _properties(target: Target, message: Outbound, work: Work) -> Properties:
    properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
    properties.ContentType = target.content_type
    properties.UserProperty = list({"Idempotency-Key": work.key, **message.headers}.items())
    return properties


def _headers(message: aiomqtt.Message) -> dict[str, str]:
    """Version 3.1.1 has none."""
    return {str(name): str(value) for name, value in getattr(message.properties, "UserProperty", None) or ()}


def _quality(target: Target) -> int:
    given = target.bindings.get("qos")
    return given if isinstance(given, int) and 0 <= given <= 2 else 1


@asynccontextmanager
async def _connected(target: Target, work: Work) -> AsyncIterator[aiomqtt.Client]:
    user, password = await credentials(target.policy, work)
    address = await reaching.reached(work.tools.egress, target.host, target.port)
    context = await secured(target, work)
    tls: Any = _Named(target.host, context) if context is not None else None
    client = aiomqtt.Client(
        address,
        target.port,
        username=user if user is not None else ("token" if password else None),
        password=password,
        protocol=_VERSIONS[target.protocol],
        timeout=reaching.CONNECT_SECONDS,
        queue_type=_Waiting.of(target, work),
        max_queued_incoming_messages=_MOST_WAITING,
        tls_context=tls,
    )
    try:
        async with client:
            yield client
    except aiomqtt.MqttError as error:
        raise faults.communication("MQTT failed", f"{target}: {str(error)[:200]}") from error
    except ValueError as error:
        raise faults.configuration("Not an MQTT topic", f"{target.address[:200]!r}: {error}") from error
    finally:
        if tls is not None:
            tls.close()
        await _left(client)


async def _left(client: aiomqtt.Client) -> None:
    """Who is cancelled before the broker has greeted, or is not greeted in time, would be connected for a minute more:
    the library closes only what it has opened to the end, and opens it in a thread."""
    client._client.on_socket_open = _too_late
    await asyncio.sleep(0)  # what the thread has put on the loop comes first
    client._client._sock_close()


def _too_late(_: Any, __: Any, opened: Any) -> None:
    opened.close()
    raise OSError("nobody waits for it any more")


class _Waiting(asyncio.Queue[aiomqtt.Message]):
    """What came and was not taken yet, in bytes too: 10,000 pictures are more than a server has room for."""

    def __init__(self, most: int, lost: Callable[[], None], maxsize: int) -> None:
        super().__init__(maxsize)
        self._most = most
        self._lost = lost
        self._bytes = 0

    @classmethod
    def of(cls, target: Target, work: Work) -> Any:
        return partial(cls, 4 * work.tools.limits.answer_bytes, telling_once(target, work))

    def put_nowait(self, item: aiomqtt.Message) -> None:
        if self.full() or (self._bytes and self._bytes + len(item.payload) > self._most):
            self._lost()
            raise asyncio.QueueFull
        self._bytes += len(item.payload)
        super().put_nowait(item)

    def _get(self) -> aiomqtt.Message:
        item: aiomqtt.Message = super()._get()
        self._bytes -= len(item.payload)
        return item


class _Named:
    """TLS with the name of the host while the connection goes to the address that was checked. What the library asks
    of a context, and no more."""

    check_hostname = True

    def __init__(self, host: str, context: ssl.SSLContext) -> None:
        self._host = host
        self._context = context
        self._socket: ssl.SSLSocket | None = None

    def wrap_socket(self, sock: Any, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        self._socket = self._context.wrap_socket(sock, *arguments, **options | {"server_hostname": self._host})
        return self._socket

    def close(self) -> None:
        """The library leaves open what it could not make secure."""
        if self._socket is not None:
            self._socket.close()
