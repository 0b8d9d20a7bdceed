"""Who is next when all processes are busy: each project in turn, so that one with many expressions keeps nobody out."""

import asyncio
from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    def __init__(self) -> None:
        self._waiting: OrderedDict[str, deque[asyncio.Future[T]]] = OrderedDict()

    def __len__(self) -> int:
        return sum(not turn.done() for queue in self._waiting.values() for turn in queue)

    def join(self, who: str) -> asyncio.Future[T]:
        turn: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(who, deque()).append(turn)
        return turn

    def next(self) -> asyncio.Future[T] | None:
        """The one whose turn it is, if anyone still waits."""
        while self._waiting:
            who, queue = self._waiting.popitem(last=False)
            turn = queue.popleft()
            if queue:
                self._waiting[who] = queue
            if not turn.done():
                return turn
        return None
