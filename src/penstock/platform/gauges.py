"""What `/metrics` shows of the database, looked up now and then: whoever asks for the metrics waits for no query.

Every server on the same database shows the same numbers.
"""

import asyncio

import structlog
from prometheus_client import Gauge
from sqlalchemy import bindparam, func, select

from penstock.http.metrics import registry
from penstock.platform.recurring import Recurring
from penstock.storage import Statement, StorageError, now
from penstock.storage.platform_tables import audit_entries, executions
from penstock.storage.sqlite import SqliteDatabase

log = structlog.get_logger()
_FIRST = 1.0  # second: who starts has better things to do
_EVERY = 15.0

_up = Gauge("penstock_database_up", "1 when the database answered the last time, else 0.", registry=registry)
_bytes = Gauge("penstock_database_bytes", "Size of the database, with SQLite's write-ahead log.", registry=registry)
_unended = Gauge(
    "penstock_executions_unended", "Executions in the database that have not ended.", ["status"], registry=registry
)
_oldest_pending = Gauge(
    "penstock_executions_oldest_pending_seconds", "Age of the oldest execution that has not begun.", registry=registry
)
_overdue = Gauge(
    "penstock_retention_overdue_seconds",
    "For how long the oldest that retention should have deleted is overdue; up to an hour is usual.",
    ["what"],
    registry=registry,
)

_of_status = executions.c.completed_at.is_(None), executions.c.status == bindparam("status")
_COUNT = Statement(select(func.count()).select_from(executions).where(*_of_status))
_OLDEST = Statement(select(func.min(executions.c.created_at)).where(*_of_status))
_OLDEST_ENDED = Statement(select(func.min(executions.c.completed_at)))
_OLDEST_AUDIT = Statement(select(func.min(audit_entries.c.created_at)))
_SIZE = Statement(select(func.pg_database_size(func.current_database())))


class Gauges(Recurring):
    async def _run(self) -> None:
        await asyncio.sleep(_FIRST)
        while True:
            try:
                await self.look()
                _up.set(1)
            except StorageError as error:
                _up.set(0)
                log.warning("the numbers of the database could not be looked up", error=str(error))
            await asyncio.sleep(_EVERY)

    async def look(self) -> None:
        _bytes.set(await self._size())
        for status in ("pending", "running"):
            # One after the other: the index of what has not ended is by status.
            _unended.labels(status).set((await self._database.slow(_COUNT, status=status))[0][0])
        _oldest_pending.set(_seconds_since(await self._oldest(_OLDEST, status="pending")))
        for what, statement, keep in (
            ("executions", _OLDEST_ENDED, self._settings.execution_retention),
            ("audit", _OLDEST_AUDIT, self._settings.audit_retention),
        ):
            overdue = _seconds_since(await self._oldest(statement)) - keep if keep else 0.0
            _overdue.labels(what).set(max(overdue, 0.0))

    async def _size(self) -> int:
        if isinstance(self._database, SqliteDatabase):
            path = self._database.path
            files = (path, path.with_name(path.name + "-wal"))
            return sum(file.stat().st_size for file in files if file.exists())
        return int((await self._database.slow(_SIZE))[0][0])

    async def _oldest(self, statement: Statement, **params: str) -> int | None:
        rows = await self._database.slow(statement, **params)
        return None if rows[0][0] is None else int(rows[0][0])


def _seconds_since(at: int | None) -> float:
    return 0.0 if at is None else max((now() - at) / 1_000_000, 0.0)
