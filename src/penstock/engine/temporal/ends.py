"""The end of an execution that no workflow can write: what it did cannot be stored, or its workflow is gone."""

from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import encoded, rfc3339
from penstock.engine.faults import Error
from penstock.storage import Database, now
from penstock.streams import ExecutionChange, Level, NewEvent, NewLog, append

_TOLD = {"failed": ("workflow.faulted", "faultedAt"), "cancelled": ("workflow.cancelled", "cancelledAt")}


async def end(database: Database, execution_id: str, status: str, error: Error | None) -> None:
    """Nothing happens when it has ended, or is gone."""
    at = now()
    async with database.transaction() as tx:
        row = await tx.one(statements.FIND, id=execution_id)
        if row is None or row["status"] not in {"pending", "running"}:
            return
        ended = {
            "id_": execution_id,
            "status": status,
            "output_data": None,
            "error_message": error.message if error is not None else None,
            "error": encoded(error.as_data()) if error is not None else None,
            "started_at": row["started_at"] or at,
            "completed_at": at,
        }
        await tx.run(statements.END_EXECUTION, **ended)
        for step in await tx.all(statements.STEPS, execution_id=execution_id):
            if step["status"] in {"pending", "running"}:
                changed = {name: step[name] for name in statements.CHANGING[1:]}
                changed |= {"status": "cancelled", "started_at": step["started_at"] or at, "completed_at": at}
                await tx.run(statements.CHANGE_STEP, id_=step["id"], **changed)
        workflow_id, (type_, when) = str(row["workflow_id"]), _TOLD[status]
        data = {"name": execution_id, when: rfc3339(at)}
        said = f"execution {status}" + (f": {error.message}" if error is not None else "")
        level = Level.ERROR if status == "failed" else Level.INFO
        await append(
            tx,
            events=[NewEvent(workflow_id, type_, execution_id, None, data, at)],
            logs=[NewLog(workflow_id, level, said, "engine", execution_id, {}, at)],
            executions=[ExecutionChange(workflow_id, row["created_at"], row["status"], status)],
        )
