"""The end of executions that are cancelled where no engine runs them: they are marked, and said to be."""

from collections.abc import Sequence

from penstock.http.times import rfc3339
from penstock.platform.executions import queries
from penstock.storage import Row, Transaction, now
from penstock.streams import ExecutionChange, Level, NewEvent, NewLog, append


async def end_cancelled(tx: Transaction, unended: Sequence[Row], user_id: str) -> None:
    """`unended` are rows with id, workflow_id, status and created_at, locked."""
    at = now()
    ids = [{"id_": row["id"], "now": at} for row in unended]
    await tx.run_many(queries.CANCEL, ids)
    await tx.run_many(queries.CANCEL_STEPS, ids)
    await append(
        tx,
        events=[
            NewEvent(row["workflow_id"], "workflow.cancelled", row["id"], data={"cancelledAt": rfc3339(at)})
            for row in unended
        ],
        logs=[
            NewLog(row["workflow_id"], Level.INFO, "execution cancelled", "engine", row["id"], {"user_id": user_id})
            for row in unended
        ],
        executions=[
            ExecutionChange(row["workflow_id"], row["created_at"], row["status"], "cancelled") for row in unended
        ],
    )
