"""One listening step: what it is offered, in the order in which it came, and what it consumes."""

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import msgspec
from sqlalchemy import bindparam, true, update

from penstock.engine.embedded import statements
from penstock.engine.embedded.sealing import Sealed
from penstock.engine.embedded.writer import Writer
from penstock.engine.host import Json, Received
from penstock.storage import Statement
from penstock.storage.engine_tables import inbox

CONSUMED = Statement(update(inbox).where(inbox.c.id == bindparam("id_")).values(consumed=true()))


class Offered(msgspec.Struct, frozen=True):
    received: Received
    hidden: frozenset[str] = frozenset()
    """Secrets of whoever emitted it: who consumes it hides them, too."""
    lineage: Json = {}
    """What it passes on to an execution that it starts."""


Waiting = tuple[Offered | int, "asyncio.Future[None]"]
"""The future is done when the listener has decided. Of those that have to wait long, there is only the number."""
Read = Callable[[int], Awaitable[Offered | None]]
_MOST_IN_MEMORY = 100


class Listener:
    def __init__(
        self, writer: Writer, execution_id: str, position: str, sealed: Sealed, read: Read | None = None
    ) -> None:
        self.consumed: list[Received] = []
        self.position = position
        self._writer = writer
        self._execution_id = execution_id
        self._sealed = sealed
        self._read = read
        self._seen: dict[int, asyncio.Future[None]] = {}
        self._kept: AsyncIterator[Offered] | None = None
        self._early: dict[int, Waiting] = {}
        """Offered while it still reads what was kept, among which it comes to them in their order."""
        self._last_kept: float = math.inf
        self._first: deque[Waiting] = deque()
        self._waiting: asyncio.Queue[Waiting] = asyncio.Queue()
        self._deciding: asyncio.Future[None] | None = None
        self._hidden: frozenset[str] = frozenset()

    def recall(self, rows: Iterable[tuple[int, str]]) -> None:
        """What it consumed in an earlier life. Some of that may have been offered to this one already."""
        self.consumed = [Received(number, self._sealed.read(text)) for number, text in rows]
        for received in self.consumed:
            self._early.pop(received.number, None)
            decided = self._seen.setdefault(received.number, asyncio.get_running_loop().create_future())
            if not decided.done():
                decided.set_result(None)

    async def begin(self, kept: AsyncIterator[Offered], last: int) -> None:
        """First what was there before it listened, up to the last of it, then what has come meanwhile.

        What was there may be more than there is memory for: it is read as it is asked for.
        """
        self._kept, self._last_kept = kept, last
        for number in sorted(self._early):
            if number > last:
                self._waiting.put_nowait(self._early.pop(number))
        if (first := await self._next_kept()) is not None:
            self._first.append(first)

    async def _next_kept(self) -> Waiting | None:
        """Of what was there; None when there is no more of it."""
        while self._kept is not None:
            offered = await anext(self._kept, None)
            if offered is None:
                self._kept, self._last_kept = None, -1
                # Somebody else consumed these before it came to them; they were offered to this one all the same.
                self._first.extend(self._early.pop(number) for number in sorted(self._early))
            elif (number := offered.received.number) in self._early:
                return offered, self._early.pop(number)[1]
            elif number not in self._seen:
                self._seen[number] = asyncio.get_running_loop().create_future()
                return offered, self._seen[number]
        return None

    def offer(self, offered: Offered) -> "asyncio.Future[None]":
        """The future is done when it has decided. What it was offered before it is not offered again."""
        number = offered.received.number
        if number not in self._seen:
            self._seen[number] = asyncio.get_running_loop().create_future()
            waiting = self._kept_short(offered), self._seen[number]
            if number <= self._last_kept:
                self._early[number] = waiting
            else:
                self._waiting.put_nowait(waiting)
        return self._seen[number]

    def _kept_short(self, offered: Offered) -> Offered | int:
        """A listener that takes long with each may have a hundred thousand before it: they are in the database."""
        is_far = len(self._early) + self._waiting.qsize() >= _MOST_IN_MEMORY
        return offered.received.number if is_far and self._read is not None else offered

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        while True:
            self._decided()
            waiting, self._deciding = await self._next()
            offered = await self._opened(waiting)
            if offered is not None:
                self._hidden = offered.hidden
                return offered.received

    async def _opened(self, waiting: Offered | int) -> Offered | None:
        """None when it is gone: it expired while it waited."""
        if isinstance(waiting, Offered):
            return waiting
        return await self._read(waiting) if self._read is not None else None

    async def _next(self) -> Waiting:
        if not self._first and (kept := await self._next_kept()) is not None:
            return kept
        return self._first.popleft() if self._first else await self._waiting.get()

    async def consume(self, received: Received) -> None:
        self._sealed.learn(self._hidden)
        portion = self._writer.of(self._execution_id)
        row = {
            "execution_id": self._execution_id,
            "position": self.position,
            "number": received.number,
            "event": self._sealed.stored(received.event),
        }
        portion.writes.append((statements.ADD_CONSUMED, row))
        portion.writes.append((CONSUMED, {"id_": received.number}))
        await self._writer.flush(self._execution_id)
        self._decided()

    def _decided(self) -> None:
        if self._deciding is not None and not self._deciding.done():
            self._deciding.set_result(None)

    def end(self) -> None:
        """Whatever it was still offered is nothing to it any more."""
        self._decided()
        left = [*self._early.values(), *self._first]
        while not self._waiting.empty():
            left.append(self._waiting.get_nowait())
        for _, decided in left:
            if not decided.done():
                decided.set_result(None)
