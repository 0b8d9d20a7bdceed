"""What a performing task says, on its way to the execution's log while it runs."""

from typing import Any

import structlog

from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel
from penstock.engine.temporal.passed import Perform
from penstock.storage import Database, StorageError, now
from penstock.streams import Level, NewLog, append

log = structlog.get_logger()
_LEVELS = {"debug": Level.DEBUG, "info": Level.INFO, "warn": Level.WARN, "error": Level.ERROR}
_MOST_WAITING = 10_000


class Lines:
    def __init__(self, database: Database, asked: Perform, secrets: Secrets, least: Level) -> None:
        self.size = 0
        self._database = database
        self._asked = asked
        self._secrets = secrets
        self._least = least
        self._waiting: list[NewLog] = []

    def say(self, level: LogLevel, message: str, **fields: Any) -> None:
        if _LEVELS[level] < self._least or len(self._waiting) >= _MOST_WAITING:
            return
        self.size += len(message)
        self._waiting.append(
            NewLog(
                self._asked.workflow_id,
                _LEVELS[level],
                self._secrets.mask_text(message),
                self._asked.task or "engine",
                self._asked.execution_id,
                self._secrets.mask(fields),
                now(),
            )
        )

    async def write(self) -> None:
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        try:
            async with self._database.transaction() as tx:
                await append(tx, logs=waiting)
        except StorageError as error:
            log.warning("lines of a task's log could not be written", error=str(error))
            self._waiting = waiting + self._waiting
