"""Work that a server does again and again, for as long as it runs."""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress

from penstock.settings import Settings
from penstock.storage import Database


class Recurring(ABC):
    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    @abstractmethod
    async def _run(self) -> None:
        """Until it is cancelled."""
