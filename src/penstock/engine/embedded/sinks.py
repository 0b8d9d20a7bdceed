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


class Sinks:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts

    async def send(self, event: Json) -> None:
        """Returns when every sink has it, or has refused it often enough."""
        if self._parts.limits.sinks:
            await asyncio.gather(*(self._send(sink, event) for sink in self._parts.limits.sinks))

    async def _send(self, sink: str, event: Json) -> None:
        content, delay = encoded(event).encode(), 1.0
        headers = {"content-type": "application/cloudevents+json"}
        async with self._parts.performer.tools.egress.client(timeout=_SECONDS) as client:
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    answer = await client.post(sink, content=content, headers=headers)
                    if answer.is_success:
                        return
                    reason = f"it answered {answer.status_code}"
                except httpx.HTTPError as error:
                    reason = str(error) or type(error).__name__
                log.warning("an event was not taken by its sink", sink=sink, attempt=attempt, reason=reason)
                if attempt < _ATTEMPTS:
                    await asyncio.sleep(delay)
                    delay *= 2
