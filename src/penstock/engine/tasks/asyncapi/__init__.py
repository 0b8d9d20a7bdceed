"""`call: asyncapi`: sends a message, or receives some, as an AsyncAPI document describes.

A payload is JSON, unless it is a text or the document says another content type. What comes is JSON where it can be
read as such, else a text, else base64. The output of sending is the message that was sent.
"""

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from importlib import import_module
from typing import Any, cast

import msgspec

from penstock.engine import faults
from penstock.engine.tasks import resources
from penstock.engine.tasks.asyncapi.document import Document, located
from penstock.engine.tasks.asyncapi.target import Client, Inbound, Outbound, Target
from penstock.engine.tasks.work import Performed, Work

# Imported when they are first needed: the file, and what must be installed for it.
_CLIENTS = {
    "amqp": ("over_amqp", "amqp"),
    "http": ("over_http", ""),
    "kafka": ("over_kafka", "kafka"),
    "ws": ("over_websocket", ""),
    "mqtt": ("over_mqtt", "mqtt"),
    "mqtt5": ("over_mqtt", "mqtt"),
    "nats": ("over_nats", "nats"),
    "redis": ("over_redis", "redis"),
}
_WITHOUT_HEADERS = ("mqtt", "redis")


async def perform(arguments: Mapping[str, Any], work: Work) -> Performed:
    target = await _target(arguments, work)
    message = arguments.get("message") or {}
    client = await _client(target.protocol)
    headers = {str(name): _text(value) for name, value in (message.get("headers") or {}).items()}
    if headers and target.protocol in _WITHOUT_HEADERS:
        work.says("warn", f"messages of {target.protocol} have no headers: they are left out")
    began = time.perf_counter()
    seconds = work.seconds
    try:
        async with asyncio.timeout(seconds):
            await client.publish(target, Outbound(_encoded(message.get("payload")), headers), work)
    except TimeoutError:
        raise faults.communication("No answer in time", f"{target} took more than {seconds:g} seconds") from None
    work.says("info", f"published to {target}", ms=round((time.perf_counter() - began) * 1000))
    return Performed(dict(message))


async def subscribe(arguments: Mapping[str, Any], work: Work) -> AsyncGenerator[dict[str, Any]]:
    """Messages as they come, until the reader leaves: `payload`, `headers` and, where there is one, `correlationId`."""
    target = await _target(arguments, work)
    client = await _client(target.protocol)
    work.says("info", f"subscribed to {target}")
    async with aclosing(client.subscribe(target, work)) as received:
        async for message in received:
            yield _message(message, target)


async def _target(arguments: Mapping[str, Any], work: Work) -> Target:
    found = await resources.document(arguments["document"], work)
    return Document(found.data, found.address).target(arguments)


async def _client(protocol: str) -> Client:
    module, extra = _CLIENTS[protocol]
    try:
        loaded = await asyncio.to_thread(import_module, f"{__name__}.{module}")
    except ImportError:
        raise faults.configuration(
            f"{protocol} is not installed", f"install penstock[{extra}] on the server to call services over {protocol}"
        ) from None
    return cast(Client, loaded)


def _message(received: Inbound, target: Target) -> dict[str, Any]:
    message = {"payload": _decoded(received.payload), "headers": dict(received.headers)}
    correlation = located(target.correlation, message)
    return message if correlation is None else message | {"correlationId": str(correlation)}


def _encoded(payload: Any) -> bytes:
    try:
        return payload.encode() if isinstance(payload, str) else msgspec.json.encode(payload)
    except UnicodeEncodeError:
        raise faults.validation("Not a payload", "the payload holds half a character") from None


def _decoded(payload: bytes) -> Any:
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return b64encode(payload).decode()


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
