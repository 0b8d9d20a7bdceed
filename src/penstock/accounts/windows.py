"""Counting what happened within the last hour: in this process, in Redis, or in Redis for as long as it answers."""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import structlog
from limits import RateLimitItem
from limits.aio.storage import RedisStorage
from limits.aio.strategies import MovingWindowRateLimiter
from limits.errors import StorageError

log = structlog.get_logger()
T = TypeVar("T")
_REDIS_TIMEOUT = 1.0
_REDIS_PAUSE = 5.0


class Windows(ABC):
    """A moving window for each limit and key."""

    @abstractmethod
    async def hit(self, limit: RateLimitItem, *key: str) -> bool:
        """Count one, unless the window is full; False when it is."""

    @abstractmethod
    async def test(self, limit: RateLimitItem, *key: str) -> bool:
        """Whether one more would be counted."""

    @abstractmethod
    async def clear(self, limit: RateLimitItem, *key: str) -> None: ...

    @abstractmethod
    async def free_at(self, limit: RateLimitItem, *key: str) -> float:
        """When a full window has room again."""

    async def close(self) -> None:
        return


class MemoryWindows(Windows):
    """Our own, since that of `limits` starts a thread for every key that it knows after every hit."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._times: dict[str, deque[float]] = {}
        self._sweep_at = 1024

    async def hit(self, limit: RateLimitItem, *key: str) -> bool:
        times = self._live(limit, key)
        if len(times) >= limit.amount:
            return False
        # Kept as the time at which it no longer counts, so that sweeping needs no limit at hand.
        times.append(self._clock() + limit.get_expiry())
        self._times[limit.key_for(*key)] = times
        self._sweep()
        return True

    async def test(self, limit: RateLimitItem, *key: str) -> bool:
        return len(self._live(limit, key)) < limit.amount

    async def clear(self, limit: RateLimitItem, *key: str) -> None:
        self._times.pop(limit.key_for(*key), None)

    async def free_at(self, limit: RateLimitItem, *key: str) -> float:
        times = self._live(limit, key)
        return times[0] if len(times) >= limit.amount else self._clock()

    def _live(self, limit: RateLimitItem, key: tuple[str, ...]) -> deque[float]:
        times = self._times.get(limit.key_for(*key), deque())
        while times and times[0] <= self._clock():
            times.popleft()
        return times

    def _sweep(self) -> None:
        """Forget keys of which nothing counts any more; done whenever twice as many are known as after the last."""
        if len(self._times) < self._sweep_at:
            return
        at = self._clock()
        self._times = {key: times for key, times in self._times.items() if times and times[-1] > at}
        self._sweep_at = max(1024, 2 * len(self._times))


class RedisWindows(Windows):
    """Shared by every server that counts in the same Redis. Raises `StorageError` when that is away."""

    def __init__(self, url: str) -> None:
        # A Redis that hangs must not hold up sign-ins, nor the slots in which passwords are compared.
        self._storage = RedisStorage(
            f"async+{url}",
            wrap_exceptions=True,
            implementation="redispy",
            socket_timeout=_REDIS_TIMEOUT,
            socket_connect_timeout=_REDIS_TIMEOUT,
        )
        self._windows = MovingWindowRateLimiter(self._storage)

    async def hit(self, limit: RateLimitItem, *key: str) -> bool:
        return await self._windows.hit(limit, *key)

    async def test(self, limit: RateLimitItem, *key: str) -> bool:
        return await self._windows.test(limit, *key)

    async def clear(self, limit: RateLimitItem, *key: str) -> None:
        await self._windows.clear(limit, *key)

    async def free_at(self, limit: RateLimitItem, *key: str) -> float:
        return (await self._windows.get_window_stats(limit, *key)).reset_time

    async def close(self) -> None:
        bridge: Any = self._storage.bridge
        await bridge.get_connection().aclose()


class Guarded(Windows):
    """Redis; while it is away, this process's own memory: guessing stays limited, and nobody is shut out."""

    def __init__(self, shared: Windows, clock: Callable[[], float] = time.monotonic) -> None:
        self._shared = shared
        self._own = MemoryWindows()
        self._clock = clock
        self._away_until = 0.0

    async def hit(self, limit: RateLimitItem, *key: str) -> bool:
        return await self._first(lambda windows: windows.hit(limit, *key))

    async def test(self, limit: RateLimitItem, *key: str) -> bool:
        return await self._first(lambda windows: windows.test(limit, *key))

    async def clear(self, limit: RateLimitItem, *key: str) -> None:
        await self._own.clear(limit, *key)
        await self._first(lambda windows: windows.clear(limit, *key))

    async def free_at(self, limit: RateLimitItem, *key: str) -> float:
        return await self._first(lambda windows: windows.free_at(limit, *key))

    async def close(self) -> None:
        await self._shared.close()

    async def _first(self, ask: Callable[[Windows], Awaitable[T]]) -> T:
        if self._clock() >= self._away_until:
            try:
                return await ask(self._shared)
            except StorageError as error:
                # Not asked again for a while: else every sign-in would wait for the same answer to fail.
                self._away_until = self._clock() + _REDIS_PAUSE
                log.warning("Redis is away; this server counts rate limits by itself", error=str(error.storage_error))
        return await ask(self._own)
