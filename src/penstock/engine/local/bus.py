"""Events between what runs here: kept until somebody consumes them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from penstock.engine.host import Json, Received


class Bus:
    """An event that was consumed is offered to nobody who begins to listen afterwards; who listened before gets it."""

    def __init__(self) -> None:
        self._waiting: dict[int, Received] = {}
        self._ears: list[asyncio.Queue[Received]] = []
        self._number = 0

    def publish(self, event: Json) -> None:
        self._number += 1
        received = Received(self._number, event)
        self._waiting[received.number] = received
        for ear in self._ears:
            ear.put_nowait(received)

    def consume(self, received: Received) -> None:
        self._waiting.pop(received.number, None)

    @contextmanager
    def hear(self) -> Iterator["asyncio.Queue[Received]"]:
        ear: asyncio.Queue[Received] = asyncio.Queue()
        for received in self._waiting.values():
            ear.put_nowait(received)
        self._ears.append(ear)
        try:
            yield ear
        finally:
            self._ears.remove(ear)


class LocalListening:
    """What one step hears. `consumed` is what it consumed before; more is added as it consumes."""

    def __init__(self, bus: Bus, ear: "asyncio.Queue[Received]", consumed: list[Received]) -> None:
        self.consumed = list(consumed)
        self._remembered = consumed
        self._bus = bus
        self._ear = ear

    async def __aiter__(self) -> AsyncIterator[Received]:
        numbers = {received.number for received in self.consumed}
        while True:
            received = await self._ear.get()
            if received.number not in numbers:
                yield received

    async def consume(self, received: Received) -> None:
        self._remembered.append(received)
        self._bus.consume(received)
