"""run: a process of this machine, or another workflow."""

from typing import Any

from penstock.dsl import model
from penstock.engine.host import ChildOf, Step
from penstock.engine.interpreter.addresses import resource
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk


async def run(walk: Walk, task: model.Run, step: Step, frame: Frame, _scope: Scope) -> Done:
    if task.process == "script":
        # Its code may be read from elsewhere.
        arguments = await resource(walk.flow, task.arguments, frame)
    else:
        arguments = await walk.flow.value(task.arguments, frame.input, frame)
    if task.process == "workflow":
        output = await _workflow(walk, task, step, frame, arguments)
    else:
        output = await _process(walk, task, step, arguments)
    return Done(output if task.awaited else frame.input)


async def _workflow(walk: Walk, task: model.Run, step: Step, frame: Frame, arguments: dict[str, Any]) -> Any:
    child = ChildOf(
        str(arguments.get("namespace", walk.execution.workflow.document.namespace)),
        str(arguments["name"]),
        str(arguments.get("version", "latest")),
    )
    data = arguments.get("input", frame.input)
    output = await walk.host.run_workflow(step, child, data, awaited=task.awaited)
    return None if task.returned == "none" else output


async def _process(walk: Walk, task: model.Run, step: Step, arguments: dict[str, Any]) -> Any:
    if "source" in arguments:
        code = await walk.host.read(arguments["source"])
        arguments = {name: value for name, value in arguments.items() if name != "source"} | {"code": code}
    performed = await walk.host.perform(
        step, task.process, arguments | {"return": task.returned, "await": task.awaited}
    )
    return performed.output
