"""AsyncAPI over AMQP 0-9-1. A channel is a queue, or where its bindings name an exchange, a routing key there.

Exchanges and queues are whoever's who runs the broker: a message that no queue takes is an error, unless it goes to an
exchange; who listens at an exchange has a queue of their own meanwhile. A message counts as consumed when it is taken.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import aiormq
from aiormq.abc import AbstractChannel, DeliveredMessage
from aiormq.exceptions import AMQPError, ChannelInvalidStateError
from pamqp.commands import Basic
from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.asyncapi.credentials import credentials, secured
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work

_AHEAD = 10  # messages that are on their way while one is looked at
_DURABLE = 2


async def publish(target: Target, message: Outbound, work: Work) -> None:
    exchange = _exchange(target)
    async with _opened(target, work) as channel:
        answer = await channel.basic_publish(
            message.payload,
            exchange=exchange,
            routing_key=target.address if exchange else _queue(target),
            mandatory=target.bindings.get("mandatory", not exchange) is True,
            properties=Basic.Properties(
                content_type=target.content_type,
                delivery_mode=1 if target.bindings.get("deliveryMode") == 1 else _DURABLE,
                headers=dict(message.headers),
                message_id=work.key,
            ),
        )
        if not isinstance(answer, Basic.Ack):
            raise faults.communication("AMQP failed", f"{target}: the broker did not take the message")


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    most = work.tools.limits.answer_bytes
    async with _opened(target, work) as channel:
        came: asyncio.Queue[DeliveredMessage | None] = asyncio.Queue()
        channel.closing.add_done_callback(lambda _: came.put_nowait(None))
        await channel.basic_qos(prefetch_count=_AHEAD)
        await channel.basic_consume(await _queue_to_hear(channel, target), came.put)
        while (message := await came.get()) is not None:
            if len(message.body) > most:
                raise too_large(most, str(target))
            await channel.basic_ack(message.delivery.delivery_tag)  # type: ignore[union-attr,arg-type]
            yield Inbound(message.body, _headers(message), message.header.properties.content_type)
        raise faults.communication("Connection lost", f"{target} ended the connection")


async def _queue_to_hear(channel: AbstractChannel, target: Target) -> str:
    exchange = _exchange(target)
    if not exchange:
        return _queue(target)
    declared = await channel.queue_declare(exclusive=True, auto_delete=True)
    name = str(declared.queue)
    await channel.queue_bind(name, exchange, routing_key=target.address)
    return name


def _headers(message: DeliveredMessage) -> dict[str, str]:
    properties = message.header.properties
    headers = {str(name): _text(value) for name, value in (properties.headers or {}).items()}
    known = {"message_id": properties.message_id, "correlation_id": properties.correlation_id}
    return headers | {name: value for name, value in known.items() if value is not None}


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, (bytes, bytearray)) else str(value)


def _exchange(target: Target) -> str:
    return "" if target.channel.get("is") == "queue" else _name(target, "exchange")


def _queue(target: Target) -> str:
    return _name(target, "queue") or target.address


def _name(target: Target, what: str) -> str:
    described = target.channel.get(what)
    name = described.get("name") if isinstance(described, dict) else None
    return name if isinstance(name, str) else ""


@asynccontextmanager
async def _opened(target: Target, work: Work) -> AsyncIterator[AbstractChannel]:
    user, password = await credentials(target.policy, work)
    address = await reaching.reached(work.tools.egress, target.host, target.port)
    url = URL.build(
        scheme="amqps" if target.tls else "amqp",
        user=user or "guest",
        password=password if password is not None else "guest",
        host=address,
        port=target.port,
        path=target.path or "/",
    )
    named: dict[str, Any] = {"server_hostname": target.host} if target.tls else {}
    connection = aiormq.Connection(url, context=await secured(target, work), **named)
    try:
        async with asyncio.timeout(reaching.CONNECT_SECONDS):
            await connection.connect()
            channel = await connection.channel()
        yield channel
    except (AMQPError, ChannelInvalidStateError, OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise faults.communication("AMQP failed", f"{target}: {_reason(error)}") from error
    finally:
        with suppress(AMQPError, ChannelInvalidStateError, OSError, TimeoutError):
            async with asyncio.timeout(2):
                await connection.close()


def _reason(error: Exception) -> str:
    return str(error)[:200] or type(error).__name__
