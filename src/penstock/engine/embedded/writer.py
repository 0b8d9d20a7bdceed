"""One writer, group commit: what has gathered is committed as one transaction, and only then is anybody told.

A thousand executions share one fsync. What cannot be written now (a full disk, a lost connection) is kept and tried
again: progress stops, nothing is lost. What can never be written (its execution was deleted meanwhile) is taken out,
alone, so that the others go on.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
import structlog

from penstock.engine.embedded import statements
from penstock.engine.embedded.lease import RENEW_EVERY, Lease
from penstock.storage import Database, Statement, StorageError, Transaction
from penstock.storage.database import Busy, Unavailable
from penstock.streams import ExecutionChange, NewEvent, NewLog, append

log = structlog.get_logger()

Row = dict[str, Any]
_LONGEST_PAUSE = 5.0
_SLICE = 200  # rows that are written to SQLite before others get their turn


class StepRow(msgspec.Struct, eq=False):
    """A step as it is to be stored: written whole when it is new, else what changed."""

    row: Row
    stored: bool = False


class Portion(msgspec.Struct, eq=False):
    """What one execution has to write."""

    steps: dict[str, StepRow] = {}
    writes: list[tuple[Statement, Row]] = []
    """In the order of `_ORDER`, whatever the order in which they came."""
    events: list[NewEvent] = []
    logs: list[NewLog] = []
    changes: list[ExecutionChange] = []

    def frozen(self) -> "Portion":
        """As it stands now: what its execution does meanwhile is for the next batch."""
        writes = list(self.writes)
        for step in self.steps.values():
            if step.stored:
                writes.append((statements.CHANGE_STEP, _changing(step.row)))
            else:
                writes.append((statements.ADD_STEP, dict(step.row)))
                step.stored = True
        return Portion({}, writes, self.events, self.logs, self.changes)


def _changing(row: Row) -> Row:
    return {"id_": row["id"]} | {name: row[name] for name in statements.CHANGING[1:]}


# Others follow, in the order in which they came.
_ORDER = {
    statement: number
    for number, statement in enumerate(
        (
            statements.ADD_EXECUTION,
            statements.START_EXECUTION,
            statements.ADD_STEP,
            statements.CHANGE_STEP,
            statements.ADD_CONSUMED,
            statements.PAUSE_EXECUTION,
            statements.END_EXECUTION,
        )
    )
}


class Batch:
    def __init__(self) -> None:
        self.portions: dict[str, Portion] = {}
        self.written: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def of(self, name: str) -> Portion:
        portion = self.portions.get(name)
        if portion is None:
            portion = self.portions[name] = Portion()
        return portion


class Writer:
    def __init__(self, database: Database, lease: Lease, dropped: Callable[[str], None]) -> None:
        self._database = database
        self._lease = lease
        self._dropped = dropped
        self._gathering = Batch()
        self._something = asyncio.Event()
        self._writing: Batch | None = None
        self.trouble: str | None = None
        """Why nothing can be written at present."""

    def of(self, execution_id: str) -> Portion:
        """Where an execution puts what it has to write. It is durable after the next `flush`."""
        self._something.set()
        return self._gathering.of(execution_id)

    async def flush(self) -> None:
        """Returns when all that was put before is durable."""
        if self._gathering.portions:
            await asyncio.shield(self._gathering.written)
        elif self._writing is not None:
            await asyncio.shield(self._writing.written)

    async def run(self) -> None:
        """Until it is cancelled; raises `LeaseLost` when another engine has taken over."""
        while True:
            try:
                async with asyncio.timeout(RENEW_EVERY):
                    await self._something.wait()
            except TimeoutError:
                await self._renew()
                continue
            # Executions that are ready in this very moment put what they have, too.
            await asyncio.sleep(0)
            self._something.clear()
            batch = self._writing = self._gathering
            self._gathering = Batch()
            await self._write({name: portion.frozen() for name, portion in batch.portions.items()})
            self._writing = None
            batch.written.set_result(None)

    async def _renew(self) -> None:
        try:
            async with self._database.transaction() as tx:
                await self._lease.require(tx)
            self.trouble = None
        except StorageError as error:
            self.trouble = str(error)

    async def _write(self, portions: Mapping[str, Portion]) -> None:
        pause = 0.05
        while True:
            try:
                await self._commit(list(portions.values()))
            except (Busy, Unavailable) as error:
                self.trouble = str(error)
                log.warning("the engine waits: nothing can be written", error=str(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            except StorageError as error:
                if len(portions) == 1:
                    self._give_up(next(iter(portions)), error)
                else:
                    log.warning("a batch cannot be written; its executions are written one by one", error=str(error))
                    for name, portion in portions.items():
                        await self._write({name: portion})
                return
            else:
                self.trouble = None
                return

    def _give_up(self, execution_id: str, error: StorageError) -> None:
        log.error("an execution cannot be stored and is given up", execution_id=execution_id, error=str(error))
        self._dropped(execution_id)

    async def _commit(self, portions: Sequence[Portion]) -> None:
        beat: int | None = None
        try:
            async with self._database.transaction() as tx:
                beat = await self._lease.require(tx)
                await _write_rows(tx, portions)
        except Unavailable:
            # A connection that was lost at the COMMIT does not say whether it happened; the lease does.
            if beat is None or not await self._lease.has_reached(beat):
                raise


async def _write_rows(tx: Transaction, portions: Sequence[Portion]) -> None:
    grouped: dict[Statement, list[Row]] = {}
    for portion in portions:
        for statement, row in portion.writes:
            grouped.setdefault(statement, []).append(row)
    for statement in sorted(grouped, key=lambda each: _ORDER.get(each, len(_ORDER))):
        rows = grouped[statement]
        for begin in range(0, len(rows), _SLICE):
            await tx.run_many(statement, rows[begin : begin + _SLICE])
            if len(rows) > _SLICE:
                await asyncio.sleep(0)
    await append(
        tx,
        events=[entry for portion in portions for entry in portion.events],
        logs=[entry for portion in portions for entry in portion.logs],
        executions=[change for portion in portions for change in portion.changes],
    )
