"""Events go to the workflows that they start in their order, each project's by itself.

One whose filters take long keeps nobody else waiting, and has no more of its events in memory than it may.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_MOST_BYTES = 16 * 1024 * 1024


class Lanes:
    def __init__(self) -> None:
        self._locks: dict[str, asyncio.Lock] = {}
        self._bytes: Counter[str] = Counter()

    def full(self, project_id: str) -> bool:
        return self._bytes[project_id] >= _MOST_BYTES

    def take(self, project_id: str, size: int) -> None:
        self._bytes[project_id] += size

    @asynccontextmanager
    async def turn(self, project_id: str, size: int) -> AsyncIterator[None]:
        """First come, first served; room for the next ones when it is over."""
        try:
            async with self._locks.setdefault(project_id, asyncio.Lock()):
                yield
        finally:
            self._bytes[project_id] -= size
            if self._bytes[project_id] <= 0:
                del self._bytes[project_id]
                self._locks.pop(project_id, None)
