"""One writer, group commit: what has gathered is committed as one transaction, and only then is anybody told.

A thousand executions share one fsync. What cannot be written now (a full disk, a lost connection) is kept and tried
again: progress stops, nothing is lost. What can never be written (its execution was deleted meanwhile) is taken out,
alone, so that the others go on.
"""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
import structlog
from msgspec.structs import astuple

from penstock.engine.embedded import metrics, statements
from penstock.engine.embedded.lease import RENEW_EVERY, Lease, LeaseLost
from penstock.storage import Database, Duplicate, Refused, Statement, StorageError, Transaction
from penstock.streams import ExecutionChange, NewEvent, NewLog, append
from penstock.streams.journal import wake_all

log = structlog.get_logger()

Row = dict[str, Any]
Values = tuple[Any, ...]
"""Of a row, in the order of the statement's names."""
_MANY = 32  # executions that are worth a transaction of their own
_LONGEST_GATHERING = 0.003  # seconds
_LONGEST_UNWANTED = 0.02
_LONGEST_PAUSE = 2.0
_LONGEST_WRITE = 3.0  # seconds after which it counts as trouble
_HOLD = "SELECT FROM {} WHERE id = ANY($1::text[]::uuid[]) ORDER BY id FOR KEY SHARE"


class WriterEnded(Exception):
    """This engine's turn is over: what was not written yet is not written any more, at least not by this one."""


class StepRow(msgspec.Struct, eq=False, gc=False):
    """A step as it is to be stored, with the members in the order of the statements: whole when it is new, else what
    changed."""

    id: str
    execution_id: str
    step_name: str
    step_type: str
    reference: str
    sequence_num: int
    attempt: int
    status: str
    input_data: str | None
    output_data: str | None
    error_message: str | None
    started_at: int | None
    completed_at: int | None
    metadata: str
    position: str
    state: str | None
    stored: bool = False

    def write(self) -> tuple[Statement, Values]:
        if not self.stored:
            self.stored = True
            return statements.ADD_STEP, astuple(self)[:-1]
        return statements.CHANGE_STEP, (
            self.id,
            self.status,
            self.input_data,
            self.output_data,
            self.error_message,
            self.started_at,
            self.completed_at,
            self.metadata,
            self.state,
        )


class Portion(msgspec.Struct, eq=False):
    """What one execution has to write."""

    steps: dict[str, StepRow] = {}
    writes: list[tuple[Statement, Row | Values]] = []
    """In the order of `_ORDER`, whatever the order in which they came."""
    events: list[NewEvent] = []
    logs: list[NewLog] = []
    changes: list[ExecutionChange] = []
    ended: int = 0
    """How many of its steps have."""

    def frozen(self) -> "Portion":
        """As it stands now: what its execution does meanwhile is for the next batch."""
        writes: list[tuple[Statement, Row | Values]] = [step.write() for step in self.steps.values()]
        begun: tuple[Statement, Row | Values] | None = None
        for write in self.writes:
            if write[0] is statements.START_EXECUTION:
                begun = write
                continue
            if write[0] is statements.END_EXECUTION:
                begun = None  # its end says when it began, too
            writes.append(write)
        if begun is not None:
            writes.append(begun)
        return Portion({}, writes, self.events, self.logs, self.changes, self.ended)


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
        self._waiting: list[asyncio.Future[None]] = []

    @property
    def waited_for(self) -> int:
        return len(self._waiting)

    def written(self) -> asyncio.Future[None]:
        """Done when it is durable. Each has their own: one that is cancelled is nobody else's."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.append(waiting)
        return waiting

    def tell(self, error: Exception | None = None) -> None:
        for waiting in self._waiting:
            if waiting.done():
                continue
            if error is None:
                waiting.set_result(None)
            else:
                waiting.set_exception(error)


class Writer:
    def __init__(self, database: Database, lease: Lease, dropped: Callable[[str], None]) -> None:
        self._database = database
        self._lease = lease
        self._dropped = dropped
        self._gathering = Batch()
        self._something = asyncio.Event()
        self._wanted = asyncio.Event()
        self._puts = 0
        self._writing: Batch | None = None
        self._ended = False
        self._trouble: str | None = None
        self._since: float | None = None

    @property
    def trouble(self) -> str | None:
        """Why nothing can be written at present."""
        if self._since is not None and (seconds := time.monotonic() - self._since) > _LONGEST_WRITE:
            return self._trouble or f"nothing could be written for {seconds:.0f} s"
        return self._trouble

    def of(self, execution_id: str) -> Portion:
        """Where an execution puts what it has to write. It is durable after the next `flush`."""
        self._puts += 1
        portions = self._gathering.portions
        portion = portions.get(execution_id)
        if portion is None:
            portion = portions[execution_id] = Portion()
            self._something.set()
        return portion

    async def flush(self, execution_id: str | None = None) -> None:
        """Returns when all that was put before is durable, or all that this execution has put. Raises `WriterEnded`."""
        self.require_open()
        for batch in (self._gathering, self._writing):
            if batch is not None and (execution_id in batch.portions or (execution_id is None and batch.portions)):
                self._wanted.set()
                await batch.written()
                return

    def require_open(self) -> None:
        if self._ended:
            raise WriterEnded

    async def run(self) -> None:
        """Until it is cancelled; raises `LeaseLost` when another engine has taken over."""
        try:
            await self._run()
        finally:
            self._ended = True
            for batch in (self._writing, self._gathering):
                if batch is not None:
                    batch.tell(WriterEnded())

    async def _run(self) -> None:
        while True:
            try:
                async with asyncio.timeout(RENEW_EVERY):
                    await self._something.wait()
            except TimeoutError:
                self._since = time.monotonic()
                await self._renew()
                self._since = None
                continue
            await self._gather()
            batch = self._writing = self._gathering
            self._gathering = Batch()
            self._something.clear()
            self._wanted.clear()
            self._since = time.monotonic()
            await self._write({name: portion.frozen() for name, portion in batch.portions.items()})
            metrics.portions.observe(len(batch.portions))
            metrics.steps.inc(sum([portion.ended for portion in batch.portions.values()]))
            metrics.commit_seconds.observe(time.monotonic() - self._since)
            self._writing = self._since = None
            batch.tell()

    async def _gather(self) -> None:
        """Until somebody waits for it, and whoever is ready in this very moment has put what they have, too: what an
        execution does up to its next wait is one write. But not until all wait: while these are written, others
        compute."""
        if not self._wanted.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(_LONGEST_UNWANTED):
                    await self._wanted.wait()
        until = time.monotonic() + _LONGEST_GATHERING
        while self._gathering.waited_for < _MANY and time.monotonic() < until:
            puts = self._puts
            await asyncio.sleep(0)
            if self._puts == puts:
                return

    async def _renew(self) -> None:
        try:
            async with self._database.transaction() as tx:
                await self._lease.require(tx)
            self._trouble = None
        except StorageError as error:
            self._trouble = str(error)

    async def _write(self, portions: Mapping[str, Portion]) -> None:
        attempt, pause = _Attempt(portions), 0.05
        while True:
            try:
                await self._commit(attempt)
            except LeaseLost:
                raise
            except Exception as error:
                if not attempt.apart and _is_for_ever(error):
                    log.info("a batch cannot be written as one", executions=len(portions), error=str(error))
                    attempt.apart = True
                    continue
                if not isinstance(error, StorageError):
                    raise
                self._trouble = str(error)
                log.warning("the engine waits: nothing can be written", error=str(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            else:
                self._trouble = None
                await self._give_up(attempt)
                return

    async def _give_up(self, attempt: "_Attempt") -> None:
        for execution_id, error in attempt.refused.items():
            if await self._was_deleted(attempt.portions[execution_id]):
                log.info("an execution was deleted while it ran", execution_id=execution_id)
            else:
                log.error("an execution cannot be stored and is given up", execution_id=execution_id, error=str(error))
            self._dropped(execution_id)

    async def _was_deleted(self, portion: Portion) -> bool:
        """Its workflow was, with all that ran: nobody need see to it."""
        told = [entry.workflow_id for entry in portion.events] + [change.workflow_id for change in portion.changes]
        try:
            return bool(told) and await self._database.one(statements.WORKFLOW, id=told[0]) is None
        except StorageError:
            return False

    async def _commit(self, attempt: "_Attempt") -> None:
        async with self._database.transaction() as tx:
            beat = await self._lease.require(tx)
            if attempt.beat is not None and beat > attempt.beat:
                # It was committed the last time; only the answer to its COMMIT was lost.
                workflow_ids = attempt.workflow_ids
                tx.after_commit(lambda: wake_all(workflow_ids))
                return
            attempt.beat = beat
            if attempt.apart:
                attempt.refused = {}
                await _write_apart(tx, attempt.portions, attempt.refused)
            else:
                await write_rows(tx, list(attempt.portions.values()))


class _Attempt:
    """To write these, however often it takes. Each try would bear the same beat, unless the one before it happened."""

    def __init__(self, portions: Mapping[str, Portion]) -> None:
        self.portions = portions
        self.beat: int | None = None
        self.apart = False
        """One of them can never be written: each by itself, if need be."""
        self.refused: dict[str, Exception] = {}

    @property
    def workflow_ids(self) -> set[str]:
        portions = self.portions.values()
        events = {entry.workflow_id for portion in portions for entry in portion.events}
        return events | {entry.workflow_id for portion in portions for entry in portion.logs}


def _is_for_ever(error: Exception) -> bool:
    """It would be the same the next time; data that the driver cannot even send, too."""
    return isinstance(error, (Refused, Duplicate)) or not isinstance(error, StorageError)


async def _write_apart(tx: Transaction, portions: Mapping[str, Portion], refused: dict[str, Exception]) -> None:
    """What can never be written is found by halves, and left out. All others stay in one transaction: what an
    execution starts at its end would be lost if it were in another, and the server died between the two."""
    try:
        async with tx.part():
            await write_rows(tx, list(portions.values()))
    except Exception as error:
        if not _is_for_ever(error):
            raise
        items = list(portions.items())
        if len(items) == 1:
            refused[items[0][0]] = error
            return
        for half in (items[: len(items) // 2], items[len(items) // 2 :]):
            await _write_apart(tx, dict(half), refused)


async def hold_in_place(tx: Transaction, portions: Sequence[Portion], events_in: Sequence[Row]) -> None:
    """What the rows refer to, from the top down and each by id, as whoever deletes it does. PostgreSQL would hold it
    when it meets each row, after others that a deletion waits for; and then both would wait for each other."""
    if tx.dialect != "postgresql":
        return
    if events_in:
        await tx.run_text(_HOLD.format("projects"), sorted({str(row["project_id"]) for row in events_in}))
    held = {entry.workflow_id for portion in portions for entry in portion.events}
    held |= {change.workflow_id for portion in portions for change in portion.changes}
    if held:
        await tx.run_text(_HOLD.format("workflows"), sorted(held))


async def write_rows(tx: Transaction, portions: Sequence[Portion]) -> None:
    grouped: dict[Statement, list[Any]] = {}
    for portion in portions:
        for statement, row in portion.writes:
            grouped.setdefault(statement, []).append(row)
    await hold_in_place(tx, portions, grouped.get(statements.ADD_EVENT_IN, ()))
    for statement in sorted(grouped, key=lambda each: _ORDER.get(each, len(_ORDER))):
        rows = grouped[statement]
        if statement is statements.ADD_EVENT_IN:
            await statements.lock_events_in(tx)
        await (tx.run_many if isinstance(rows[0], dict) else tx.run_rows)(statement, rows)
    await append(
        tx,
        events=[entry for portion in portions for entry in portion.events],
        logs=[entry for portion in portions for entry in portion.logs],
        executions=[change for portion in portions for change in portion.changes],
    )
