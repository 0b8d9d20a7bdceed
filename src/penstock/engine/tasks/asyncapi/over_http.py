"""AsyncAPI over HTTP: a message is a request; those that come are a stream of events, or lines."""

import time
from collections.abc import AsyncGenerator, Mapping

import aiohttp
from multidict import CIMultiDict
from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks import authentication
from penstock.engine.tasks.addresses import shown, url_of
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target
from penstock.engine.tasks.event_stream import bounded, events, lines
from penstock.engine.tasks.exchange import Call, exchange
from penstock.engine.tasks.work import Work


def address_of(target: Target, scheme: str) -> URL:
    secure = f"{scheme}s" if target.tls else scheme
    host = f"[{target.host}]" if ":" in target.host else target.host
    return url_of(f"{secure}://{host}:{target.port}{target.path}/{target.address.removeprefix('/')}")


async def publish(target: Target, message: Outbound, work: Work) -> None:
    headers = CIMultiDict({"Idempotency-Key": work.key, "Content-Type": target.content_type})
    headers.update(message.headers)
    method = str(target.bindings.get("method") or "POST")
    url = address_of(target, "http")
    await exchange(Call(method, url, headers, message.payload, policy=target.policy, output="raw"), work)


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    url = address_of(target, "http")
    headers, _ = await authentication.headers(target.policy, work)
    own = {"Accept": "text/event-stream, application/x-ndjson, application/json"}
    began = time.perf_counter()
    async with work.tools.http.stream("GET", url, own | headers) as response:
        ms = round((time.perf_counter() - began) * 1000)
        work.says("info", f"GET {shown(url)} → {response.status}", status=response.status, ms=ms)
        if response.status != 200:
            raise faults.communication(
                response.reason or "No messages", f"{shown(url)} answered {response.status}", status=response.status
            )
        async for data in _messages(response, work.tools.limits.answer_bytes, shown(url)):
            yield Inbound(data, _plain(response.headers))


async def _messages(response: aiohttp.ClientResponse, most: int, whose: str) -> AsyncGenerator[bytes]:
    chunks = response.content.iter_any()
    if response.content_type == "application/json":
        yield b"".join([chunk async for chunk in bounded(chunks, most, whose)])
        return
    split = events if response.content_type == "text/event-stream" else lines
    async for data in split(chunks, most, whose):
        if data:
            yield data


def _plain(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
