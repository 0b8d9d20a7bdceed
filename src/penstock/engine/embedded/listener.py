"""One listening step: what it is offered, in the order in which it came, and what it consumes."""

import asyncio
from collections.abc import AsyncIterator, Iterable

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


class Listener:
    def __init__(self, writer: Writer, execution_id: str, position: str, sealed: Sealed) -> None:
        self.consumed: list[Received] = []
        self.position = position
        self._writer = writer
        self._execution_id = execution_id
        self._sealed = sealed
        self._seen: dict[int, asyncio.Future[None]] = {}
        self._early: list[tuple[Offered, asyncio.Future[None]]] | None = []
        self._waiting: asyncio.Queue[tuple[Offered, asyncio.Future[None]]] = asyncio.Queue()
        self._deciding: asyncio.Future[None] | None = None
        self._hidden: frozenset[str] = frozenset()

    def recall(self, rows: Iterable[tuple[int, str]]) -> None:
        """What it consumed in an earlier life."""
        self.consumed = [Received(number, self._sealed.read(text)) for number, text in rows]
        decided = asyncio.get_running_loop().create_future()
        decided.set_result(None)
        self._seen = {received.number: decided for received in self.consumed}

    def begin(self, kept: list[Offered]) -> None:
        """First what was there before it listened, then what has come meanwhile."""
        early, self._early = self._early or [], None
        merged = {offered.received.number: (offered, decided) for offered, decided in early}
        for offered in kept:
            number = offered.received.number
            if number not in self._seen:
                self._seen[number] = asyncio.get_running_loop().create_future()
                merged[number] = (offered, self._seen[number])
        for number in sorted(merged):
            self._waiting.put_nowait(merged[number])

    def offer(self, offered: Offered) -> "asyncio.Future[None]":
        """The future is done when it has decided. What it was offered before it is not offered again."""
        number = offered.received.number
        if number not in self._seen:
            self._seen[number] = asyncio.get_running_loop().create_future()
            if self._early is not None:
                self._early.append((offered, self._seen[number]))
            else:
                self._waiting.put_nowait((offered, self._seen[number]))
        return self._seen[number]

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        self._decided()
        offered, self._deciding = await self._waiting.get()
        self._hidden = offered.hidden
        return offered.received

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
        await self._writer.flush()
        self._decided()

    def _decided(self) -> None:
        if self._deciding is not None and not self._deciding.done():
            self._deciding.set_result(None)

    def end(self) -> None:
        """Whatever it was still offered is nothing to it any more."""
        self._decided()
        early, self._early = self._early or [], None
        while not self._waiting.empty():
            early.append(self._waiting.get_nowait())
        for _, decided in early:
            if not decided.done():
                decided.set_result(None)
