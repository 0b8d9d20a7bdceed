"""JSON-RPC 2.0 as MCP and A2A speak it over HTTP: one POST, answered with JSON or with a stream of events.

What is wrong between here and there (no connection, an HTTP status, something that is no JSON-RPC) is a communication
error with the answer's status; an error that the other side says in JSON-RPC is a runtime error, as the DSL asks.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from penstock.engine import faults
from penstock.engine.tasks.addresses import shown
from penstock.engine.tasks.event_stream import bounded, events
from penstock.engine.tasks.work import Work

MOST_MESSAGES = 10_000
_SHOWN_CHARACTERS = 500

Message = dict[str, Any]


def request(id_: str, method: str, params: Any) -> Message:
    message: Message = {"jsonrpc": "2.0", "id": id_, "method": method}
    return message if params is None else message | {"params": params}


def decode(data: bytes, whose: str) -> Message:
    try:
        message = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise faults.communication("Not a JSON-RPC answer", f"{whose} answered with something else than JSON-RPC")
    return message


def answers(message: Message, id_: str) -> bool:
    return message.get("id") == id_ and "method" not in message  # an empty result may be left out


def result(message: Message, whose: str) -> Any:
    """What was asked for; an error that the other side says is a runtime error."""
    if "error" not in message:
        return message.get("result")
    error = message["error"] if isinstance(message["error"], dict) else {}
    said = str(error.get("message") or "no message")[:_SHOWN_CHARACTERS]
    raise faults.runtime("The request failed", f"{whose} says: {said} (JSON-RPC error {error.get('code')})")


class Answer:
    """An HTTP answer whose status is a success; its body is read as messages."""

    def __init__(self, response: aiohttp.ClientResponse, whose: str, most: int) -> None:
        self.headers = response.headers
        self.status = response.status
        self.whose = whose
        self._response = response
        self._most = most

    async def messages(self) -> AsyncGenerator[Message]:
        body = bounded(self._response.content.iter_any(), self._most, self.whose)
        if self._response.content_type != "text/event-stream":
            whole = b"".join([chunk async for chunk in body])
            if whole.strip():
                yield decode(whole, self.whose)
            return
        count = 0
        async with aclosing(events(body, self._most, self.whose)) as received:
            async for data in received:
                count += 1
                if count > MOST_MESSAGES:
                    raise faults.communication(
                        "Too many messages", f"{self.whose} answered with more than {MOST_MESSAGES:,} messages"
                    )
                yield decode(data, self.whose)


@asynccontextmanager
async def post(url: URL, message: Message, headers: Mapping[str, str], work: Work) -> AsyncIterator[Answer]:
    """Sends one message. The connection is closed when the reader leaves, be the answer read or not."""
    own = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
    limits = work.tools.limits
    async with work.tools.http.stream("POST", url, own | lower(headers), msgspec.json.encode(message)) as response:
        answer = Answer(response, shown(url), limits.answer_bytes)
        if not 200 <= response.status < 300:
            raise await _refusal(answer, response.reason or f"Status {response.status}")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise faults.communication("Packed answer", f"{shown(url)} packs its answer although it was asked not to")
        yield answer


def lower(headers: Mapping[str, Any]) -> dict[str, str]:
    """Headers of which none is there twice in two spellings."""
    return {str(name).lower(): str(value) for name, value in headers.items()}


async def _refusal(answer: Answer, reason: str) -> faults.Fault:
    """Why an HTTP status is no success: in the words of its JSON-RPC error, if there is one."""
    detail = f"{answer.whose} answered with status {answer.status}"
    if location := answer.headers.get("location"):
        detail += f" and sends to {location.partition('?')[0][:_SHOWN_CHARACTERS]}: name that address"
    try:
        async for message in answer.messages():
            result(message, answer.whose)
    except faults.Fault as fault:
        if faults.same_type(fault.error.type, faults.STANDARD + "runtime"):
            return fault
    return faults.communication(reason, detail, status=answer.status)
