"""Emitted events sent on over HTTP, as CloudEvents in structured mode: at least once, with some patience."""

import asyncio

import httpx
import structlog

from penstock.engine.embedded.execution import encoded
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.host import Json

log = structlog.get_logger()

_ATTEMPTS = 5
_SECONDS = 10.0
_AT_ONCE = 32
_FIRST_PAUSE = 1.0


class Sinks:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        # A sink that is down does not get thousands of requests at the same time when it is back.
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def send(self, event: Json) -> None:
        """Returns when every sink has it, or has refused it often enough."""
        if self._parts.limits.sinks:
            await asyncio.gather(*(self._send(sink, event) for sink in self._parts.limits.sinks))

    async def _send(self, sink: str, event: Json) -> None:
        content, pause = encoded(event).encode(), _FIRST_PAUSE
        for attempt in range(1, _ATTEMPTS + 1):
            refusal = await self._refusal(sink, content)
            if refusal is None:
                return
            log.warning("an event was not taken by its sink", sink=sink, attempt=attempt, reason=refusal)
            if attempt < _ATTEMPTS:
                await asyncio.sleep(pause)
                pause *= 2

    async def _refusal(self, sink: str, content: bytes) -> str | None:
        """Why it was not taken; None when it was."""
        headers = {"content-type": "application/cloudevents+json"}
        try:
            async with self._places, self._parts.performer.tools.egress.client(timeout=_SECONDS) as client:
                answer = await client.post(sink, content=content, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            return str(error) or type(error).__name__
        return None if answer.is_success else f"it answered {answer.status_code}"
