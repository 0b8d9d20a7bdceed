"""Values that are dear to fetch: each kept until its time is over, and fetched once for all who ask meanwhile."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
Fetch = Callable[[T | None], Awaitable[tuple[T, float]]]
"""Given the value that was kept before, if any; returns the new one, and for how many seconds it is good."""


class _Entry(msgspec.Struct, Generic[T]):
    value: T
    until: float
    weight: int


class Kept(Generic[T]):
    """At most `most` of whatever `weigh` measures; what was not used for longest goes first."""

    def __init__(
        self,
        most: int,
        weigh: Callable[[T], int] = lambda _: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._weigh = weigh
        self._clock = clock
        self._entries: OrderedDict[str, _Entry[T]] = OrderedDict()
        self._weight = 0
        self._fetching: dict[str, asyncio.Task[T]] = {}

    async def get(self, key: str, fetch: Fetch[T]) -> T:
        entry = self._entries.get(key)
        if entry is not None and self._clock() < entry.until:
            self._entries.move_to_end(key)
            return entry.value
        task = self._fetching.get(key)
        if task is None:
            task = asyncio.create_task(self._fetched(key, fetch, entry.value if entry is not None else None))
            self._fetching[key] = task
            task.add_done_callback(lambda done: self._done(key, done))
        # One who gives up must not take the answer from those who wait for it too.
        return await asyncio.shield(task)

    def stale(self, key: str, this: Callable[[T], bool]) -> None:
        """`this` value is no longer good. Another, that somebody fetched meanwhile, stays."""
        entry = self._entries.get(key)
        if entry is not None and this(entry.value):
            entry.until = 0.0

    async def close(self) -> None:
        tasks = list(self._fetching.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._entries.clear()

    async def _fetched(self, key: str, fetch: Fetch[T], before: T | None) -> T:
        value, seconds = await fetch(before)
        self._keep(key, _Entry(value, self._clock() + seconds, self._weigh(value)))
        return value

    def _keep(self, key: str, entry: _Entry[T]) -> None:
        old = self._entries.pop(key, None)
        self._weight += entry.weight - (old.weight if old is not None else 0)
        self._entries[key] = entry
        while self._weight > self._most:
            _, gone = self._entries.popitem(last=False)
            self._weight -= gone.weight

    def _done(self, key: str, task: asyncio.Task[T]) -> None:
        self._fetching.pop(key, None)
        if not task.cancelled():
            task.exception()  # all who waited may have gone: then nobody else asks for it
