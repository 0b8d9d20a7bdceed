"""A batch of a walk, written to the platform's tables: once, and in order."""

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from penstock.engine.embedded import listener, statements
from penstock.engine.embedded.sealing import SEAL_INPUT, SEAL_OUTPUT
from penstock.engine.embedded.writer import Portion, hold_in_place, write_rows
from penstock.engine.temporal.passed import Batch
from penstock.storage import Database, Statement
from penstock.storage.engine_tables import temporal_executions, temporal_listeners

DROP_LISTENER = Statement(
    delete(temporal_listeners).where(
        temporal_listeners.c.execution_id == bindparam("execution_id_"),
        temporal_listeners.c.position == bindparam("position_"),
    )
)
# What a workflow may write, by the names that are sent for it.
_STATEMENTS = {
    "add_execution": statements.ADD_EXECUTION,
    "start_execution": statements.START_EXECUTION,
    "end_execution": statements.END_EXECUTION,
    "pause_execution": statements.PAUSE_EXECUTION,
    "answered": statements.ANSWERED,
    "add_step": statements.ADD_STEP,
    "change_step": statements.CHANGE_STEP,
    "add_consumed": statements.ADD_CONSUMED,
    "consumed": listener.CONSUMED,
    "add_event_in": statements.ADD_EVENT_IN,
    "seal_input": SEAL_INPUT,
    "seal_output": SEAL_OUTPUT,
    "drop_listener": DROP_LISTENER,
}
_NAMES = {statement: name for name, statement in _STATEMENTS.items()}
_number = insert(temporal_executions).values(execution_id=bindparam("execution_id"), recorded=bindparam("number"))
# None is touched when this batch, or a later one, was written before.
_NUMBER = Statement(
    _number.on_conflict_do_update(
        index_elements=["execution_id"],
        set_={"recorded": _number.excluded.recorded},
        where=temporal_executions.c.recorded < _number.excluded.recorded,
    )
)
RECORDED = Statement(
    select(temporal_executions.c.recorded).where(temporal_executions.c.execution_id == bindparam("execution_id"))
)


def name_of(statement: Statement) -> str:
    return _NAMES[statement]


async def write(database: Database, batch: Batch) -> None:
    writes = [(_STATEMENTS[name], row) for name, row in batch.writes]
    portion = Portion({}, writes, batch.events, batch.logs, batch.changes)
    events_in = [row for statement, row in writes if statement is statements.ADD_EVENT_IN and isinstance(row, dict)]
    async with database.transaction() as tx:
        await hold_in_place(tx, [portion], events_in)
        if await tx.run(_NUMBER, execution_id=batch.execution_id, number=batch.number):
            await write_rows(tx, [portion])
