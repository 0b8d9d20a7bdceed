"""A batch of a walk, written to the platform's tables: once, and in order."""

import asyncio
from collections.abc import Iterator, Sequence

import msgspec
from sqlalchemy import bindparam, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from penstock.engine.embedded import listener, schedules, statements
from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.sealing import SEAL_INPUT, SEAL_OUTPUT
from penstock.engine.embedded.subflows import row_of
from penstock.engine.embedded.writer import Portion, Row, hold_in_place, write_rows
from penstock.engine.temporal import metrics
from penstock.engine.temporal.once import Written, numbers, undone, undone_writes
from penstock.engine.temporal.passed import Batch
from penstock.storage import Database, Statement, Transaction, now
from penstock.storage.database import Busy, Unavailable
from penstock.storage.engine_tables import temporal_executions, temporal_listeners
from penstock.storage.platform_tables import steps
from penstock.streams import ExecutionChange

_AT_ONCE = 200
DROP_LISTENER = Statement(
    delete(temporal_listeners).where(
        temporal_listeners.c.execution_id == bindparam("execution_id_"),
        temporal_listeners.c.position == bindparam("position_"),
    )
)
ADD_EVENT_IN = "add_event_in"
NEXT_RUN = "next_run"
# What a workflow may write, by the names that are sent for it.
_STATEMENTS = {
    "add_execution": statements.ADD_EXECUTION,
    "start_execution": statements.START_EXECUTION,
    "end_execution": statements.END_EXECUTION,
    "pause_execution": statements.PAUSE_EXECUTION,
    "ask": statements.ASK,
    "answered": statements.ANSWERED,
    "add_step": statements.ADD_STEP,
    "change_step": statements.CHANGE_STEP,
    "add_consumed": statements.ADD_CONSUMED,
    "consumed": listener.CONSUMED,
    ADD_EVENT_IN: statements.ADD_EVENT_IN,
    "seal_input": SEAL_INPUT,
    "seal_output": SEAL_OUTPUT,
    "drop_listener": DROP_LISTENER,
    NEXT_RUN: schedules.NEXT,
}
ADD_EXECUTION = "add_execution"
# The writer's name ends with it while it may still do again what was done: each of its batches is then looked through.
_UNSURE = "?"
_NAMES = {statement: name for name, statement in _STATEMENTS.items()}
# Touches none when there is one: then this batch was written before, or by another walk.
_FIRST = Statement(
    insert(temporal_executions)
    .values({name: bindparam(name) for name in ("execution_id", "recorded", "writer", "written")})
    .on_conflict_do_nothing()
)
# Touches none when this batch was written before, another walk of the execution wrote last, or one is missing.
_NEXT = Statement(
    update(temporal_executions)
    .where(
        temporal_executions.c.execution_id == bindparam("execution_id_"),
        temporal_executions.c.writer == bindparam("writer_"),
        temporal_executions.c.recorded == bindparam("before"),
    )
    .values({name: bindparam(name) for name in ("recorded", "written")})
)
_WRITTEN = Statement(
    select(temporal_executions.c.recorded, temporal_executions.c.writer, temporal_executions.c.written)
    .where(temporal_executions.c.execution_id == bindparam("execution_id"))
    # The other walk may be writing, too.
    .with_for_update()
)
_TAKE_OVER = Statement(
    update(temporal_executions)
    .where(temporal_executions.c.execution_id == bindparam("execution_id_"))
    .values({name: bindparam(name) for name in ("recorded", "writer", "written")})
)
_LAST = Statement(
    select(temporal_executions.c.written).where(temporal_executions.c.execution_id == bindparam("execution_id"))
)
_NUMBERS = Statement(select(steps.c.id, steps.c.sequence_num).where(steps.c.execution_id == bindparam("execution_id")))
_RENUMBER = Statement(
    update(steps).where(steps.c.id == bindparam("id_")).values(sequence_num=bindparam("sequence_num"))
)


class Apart(Exception):
    """The walk and the database are not of the same moment: one of them was restored to an older one, or another walk
    has gone on meanwhile. What counts is what is stored."""


def born(execution: Execution) -> tuple[Row, ExecutionChange]:
    return row_of(execution), ExecutionChange(execution.workflow_id, execution.created_at, None, "pending")


def name_of(statement: Statement) -> str:
    return _NAMES[statement]


async def write(database: Database, batches: Sequence[Batch]) -> None:
    """As one transaction: all that is in them, but for what was written before."""
    portions = [_portion(batch) for batch in batches]
    async with database.transaction() as tx:
        await hold_in_place(tx, portions, [row for each in portions for row in _events_in(each)])
        new = [await _new(tx, batch) for batch in sorted(batches, key=lambda batch: batch.execution_id)]
        await write_rows(tx, [_portion(batch) for batch in new if batch is not None])


async def _new(tx: Transaction, batch: Batch) -> Batch | None:
    return batch if await _is_next(tx, batch) else await _undone(tx, batch)


async def _is_next(tx: Transaction, batch: Batch) -> bool:
    names = batch.names
    kept = _kept(batch)
    text = msgspec.json.encode(kept).decode()
    if batch.number == 1:
        return await _begin(tx, batch, text)
    found = await tx.run(
        _NEXT,
        execution_id_=batch.execution_id,
        writer_=names.writer,
        before=batch.number - 1,
        recorded=batch.number,
        written=text,
    )
    return bool(found)


async def _begin(tx: Transaction, batch: Batch, written: str) -> bool:
    """Whether it is the first of its execution. Raises `Refused` when that was deleted."""
    id_, writer = batch.execution_id, batch.names.writer
    return bool(await tx.run(_FIRST, execution_id=id_, recorded=batch.number, writer=writer, written=written))


async def _undone(tx: Transaction, batch: Batch) -> Batch | None:
    """What of it an earlier walk has not written; None when it came before. Raises `Apart`."""
    names, row = batch.names, await tx.one(_WRITTEN, execution_id=batch.execution_id)
    if row is None:
        await _begin(tx, batch, "")
        raise Apart
    if int(row["recorded"]) < batch.number - 1:
        raise Apart
    kept, same = _decoded(row["written"]), row["writer"].strip(_UNSURE) == names.writer
    if same and batch.number <= kept.last:
        return None
    if not same and kept.is_ahead_of(names, batch.number):
        raise Apart
    done = frozenset() if kept.era != names.era else frozenset(kept.earlier if same else [*kept.earlier, *kept.own])
    earlier = sorted(done.difference(names.all))
    taken_over = _kept(batch, earlier)
    await tx.run(
        _TAKE_OVER,
        execution_id_=batch.execution_id,
        recorded=max(batch.number, int(row["recorded"])),
        writer=names.writer + (_UNSURE if earlier else ""),
        written=msgspec.json.encode(taken_over).decode(),
    )
    await _renumber(tx, batch.execution_id, numbers(batch.writes))
    return msgspec.structs.replace(
        batch,
        writes=undone_writes(batch.writes, names, done),
        events=undone(batch.events, names.events, done),
        logs=undone(batch.logs, names.logs, done),
        changes=undone(batch.changes, names.changes, done),
    )


def _kept(batch: Batch, earlier: Sequence[str] = ()) -> Written:
    names = batch.names
    own = [*names.unsure, *names.all]
    return Written(
        era=names.era, run=names.run, history=names.history, at=now(), sure=names.sure,
        last=batch.number, own=own, earlier=list(earlier),
    )  # fmt: skip


async def take_over(database: Database, execution_id: str, run: str) -> int:
    """A walk begins, from what is stored, in this history: those of others write no more. The number of the last batch
    that there is."""
    if await last_written(database, execution_id) is None:
        return 0
    async with database.transaction() as tx:
        row = await tx.one(_WRITTEN, execution_id=execution_id)
        recorded = 0 if row is None else int(row["recorded"])
        if row is not None and _decoded(row["written"]).run != run:
            text = msgspec.json.encode(Written(era=recorded, run=run, last=recorded)).decode()
            await tx.run(_TAKE_OVER, execution_id_=execution_id, recorded=recorded, writer="", written=text)
    return recorded


async def last_written(database: Database, execution_id: str) -> Written | None:
    row = await database.one(_LAST, execution_id=execution_id)
    return None if row is None else _decoded(row[0])


def _decoded(text: str) -> Written:
    return msgspec.json.decode(text, type=Written)


async def _renumber(tx: Transaction, execution_id: str, wanted: dict[str, int]) -> None:
    """Branches may have begun in another order in the walk that was lost. This one's counts; who has a number that is
    another's now goes to the end, until this walk comes to it, too."""
    if not wanted:
        return
    stored = {str(row[0]): int(row[1]) for row in await tx.all(_NUMBERS, execution_id=execution_id)}
    last = max((*stored.values(), *wanted.values()))
    for id_, number in wanted.items():
        for other in [other for other, taken in stored.items() if taken == number and other != id_]:
            last = stored[other] = last + 1
            await tx.run(_RENUMBER, id_=other, sequence_num=last)
        if stored.get(id_, number) != number:
            stored[id_] = number
            await tx.run(_RENUMBER, id_=id_, sequence_num=number)


def _portion(batch: Batch) -> Portion:
    writes = [(_STATEMENTS[name], row) for name, row in batch.writes]
    return Portion({}, writes, batch.events, batch.logs, batch.changes)


def _events_in(portion: Portion) -> Iterator[Row]:
    for statement, row in portion.writes:
        if statement is statements.ADD_EVENT_IN and isinstance(row, dict):
            yield row


class Recording:
    """What the workflows of a worker have to write at the same time is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._waiting: list[_Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def write(self, batch: Batch) -> None:
        """Returns when it is durable."""
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((batch, done))
        if self._writing is None:
            self._writing = asyncio.create_task(self._run())
        with metrics.writing(batch):
            await done

    async def _run(self) -> None:
        try:
            while self._waiting:
                taken, self._waiting = self._waiting[:_AT_ONCE], self._waiting[_AT_ONCE:]
                metrics.batches.observe(len(taken))
                with metrics.commit_seconds.time():
                    await self._write(taken)
        finally:
            self._writing = None

    async def _write(self, taken: "list[_Waiting]") -> None:
        try:
            await write(self._database, [batch for batch, _ in taken])
        except (Busy, Unavailable) as error:
            _tell(taken, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told to whom it concerns
            if len(taken) == 1:
                _tell(taken, error)
                return
            # One of them can never be written; the others can.
            for half in (taken[: len(taken) // 2], taken[len(taken) // 2 :]):
                await self._write(half)
        else:
            _tell(taken, None)


_Waiting = tuple[Batch, "asyncio.Future[None]"]


def _tell(told: list[_Waiting], error: Exception | None) -> None:
    for _, done in told:
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
