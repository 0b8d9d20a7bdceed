"""Walks a definition: control flow and data flow, and no I/O of its own (that is the host's)."""

from typing import Any

from penstock.dsl.model import Workflow
from penstock.engine.faults import Fault
from penstock.engine.host import Host
from penstock.engine.interpreter.kinds import KINDS
from penstock.engine.interpreter.scope import Execution, Frame, Scope
from penstock.engine.interpreter.walk import Walk

__all__ = ["interpret"]


async def interpret(workflow: Workflow, host: Host, data: Any, started_at: int) -> Any:
    """The workflow's output. Raises `Fault`."""
    try:
        execution = Execution(workflow, host.execution_id, data, started_at, _secrets(workflow, host))
        walk, frame = Walk(host, execution, KINDS), Frame(execution, Scope())
        frame.input = data
        if workflow.timeout is None:
            output = await _interpret(workflow, walk, frame, data)
        else:
            output = await walk.within(
                workflow.timeout, started_at, data, frame, lambda: _interpret(workflow, walk, frame, data)
            )
    except Fault as fault:
        host.cancel_rest()
        raise fault.at("/") from None
    host.cancel_rest()
    return output


def _secrets(workflow: Workflow, host: Host) -> dict[str, Any]:
    """`$secrets`: those that the definition names, and no others; one that is missing is a fault."""
    return {name: host.secrets.get(name) for name in workflow.secrets}


async def _interpret(workflow: Workflow, walk: Walk, frame: Frame, data: Any) -> Any:
    flow = walk.flow
    if workflow.input.schema is not None:
        await walk.schemas.hold(workflow.input, data, "The workflow's input", frame)
    if workflow.input.transform is not None:
        frame.input = data = await flow.transform(workflow.input.transform, data, frame)
    done = await walk.sequence(workflow.tasks, data, Scope(), "")
    output = done.output
    if workflow.output.transform is not None:
        output = await flow.transform(workflow.output.transform, output, frame)
    if workflow.output.schema is not None:
        await walk.schemas.hold(workflow.output, output, "The workflow's output", frame)
    return output
