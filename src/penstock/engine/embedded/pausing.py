"""What is written when an execution is paused, or goes on."""

from penstock.dsl.model import Workflow
from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, encoded, qualified_name, rfc3339
from penstock.engine.embedded.writer import Portion
from penstock.streams import NewEvent


def note(portion: Portion, execution: Execution, workflow: Workflow | None, type_: str, when: str, at: int) -> None:
    details = execution.details
    details.pop("paused_at", None)
    if execution.paused_at is not None:
        details["paused_at"] = rfc3339(execution.paused_at)
    execution.metadata = encoded(details)
    row = {"id_": execution.id, "paused_at": execution.paused_at, "metadata": execution.metadata}
    portion.writes.append((statements.PAUSE_EXECUTION, row))
    name = qualified_name(workflow, execution.id) if workflow is not None else execution.id
    data = {"name": name, when: rfc3339(at)}
    portion.events.append(NewEvent(execution.workflow_id, type_, execution.id, None, data, at))
