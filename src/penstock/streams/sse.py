"""A stream as an HTTP answer: Server-Sent Events, a comment while nothing happens, and an `end` that says why."""

import asyncio
import random
import time
from collections.abc import AsyncIterator
from typing import Any

from penstock.streams.hub import Hub, Kind, Listener, Matches, Permit, end_frame
from penstock.streams.reading import Place

_COMMENT_EVERY = 15.0
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    def __init__(
        self,
        hub: Hub,
        kind: Kind,
        place: Place,
        *,
        matches: Matches,
        permit: Permit,
        permit_key: Any,
        after: int | None,
        expires_at: float,
    ) -> None:
        """`expires_at` (seconds since 1970): when the access token that opened it does."""
        self._hub = hub
        self._what = kind, place
        self._how: dict[str, Any] = {"matches": matches, "permit": permit, "permit_key": permit_key, "after": after}
        self._expires_at = expires_at

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self._hub.listen(*self._what, **self._how) as (listener, missed):
            gone = asyncio.create_task(_until_gone(receive, listener))
            listener.writer = asyncio.current_task()
            try:
                await send({"type": "http.response.start", "status": 200, "headers": list(_HEADERS)})
                await self._stream(send, listener, missed)
            except OSError:
                return
            except asyncio.CancelledError:
                # Nobody reads any more; all that is left to do is to free what was theirs.
                if listener.writing_since is None or listener.reason is None:
                    raise
                if listener.writer is not None:
                    listener.writer.uncancel()
            finally:
                gone.cancel()

    async def _stream(self, send: Any, listener: Listener, missed: AsyncIterator[bytes]) -> None:
        await _write(send, listener, b": hello\n\n")
        async for frames in missed:
            await _write(send, listener, frames)
        while listener.reason is None:
            left = self._expires_at - time.time()
            # Not all at once: thousands that heard the same entry would all say it in the same moment.
            silence = _COMMENT_EVERY * random.uniform(0.7, 1.0)  # noqa: S311
            frames = await listener.take(min(silence, max(left, 0.0)))
            if self._expires_at <= time.time():
                listener.end("the access token has expired; resume with a new one")
            if frames:
                await _write(send, listener, frames)
            elif listener.behind:
                await self._catch_up(send, listener)
            elif listener.reason is None:
                await _write(send, listener, b": still here\n\n")
        await _write(send, listener, end_frame(listener.reason), more=False)

    async def _catch_up(self, send: Any, listener: Listener) -> None:
        listener.end_if_slow()
        async for frames in self._hub.missed(*self._what, listener):
            await _write(send, listener, frames)


async def _write(send: Any, listener: Listener, body: bytes, *, more: bool = True) -> None:
    listener.writing_since = begun = time.monotonic()
    await send({"type": "http.response.body", "body": body, "more_body": more})
    listener.writing_since, listener.took = None, time.monotonic() - begun


async def _until_gone(receive: Any, listener: Listener) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    listener.end("the client is gone")
