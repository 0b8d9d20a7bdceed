"""set, switch, raise, wait, do."""

from typing import Any

from penstock.dsl import model
from penstock.engine.faults import Error, Fault, expression, told
from penstock.engine.host import Step
from penstock.engine.interpreter.addresses import with_addresses
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk


async def set_(walk: Walk, task: model.Set, _step: Step, frame: Frame, _scope: Scope) -> Done:
    return Done(await walk.flow.value(task.data, frame.input, frame))


async def do(walk: Walk, task: model.Do, step: Step, frame: Frame, scope: Scope) -> Done:
    return await walk.inside(task.tasks, frame.input, scope, step.position)


async def switch(walk: Walk, task: model.Switch, _step: Step, frame: Frame, _scope: Scope) -> Done:
    """The first case that is met, else the one without a condition, else on as the task says."""
    default = None
    for case in task.cases:
        if case.when is None:
            default = case
        elif await walk.flow.holds(case.when, frame.input, frame):
            return Done(frame.input, case.then)
    return Done(frame.input, None if default is None else default.then)


async def raise_(walk: Walk, task: model.Raise, _step: Step, frame: Frame, _scope: Scope) -> Done:
    given = await with_addresses(walk.flow, task.error, frame, "type")
    raise Fault(_error(given))


def _error(given: Any) -> Error:
    if not isinstance(given, dict):
        raise expression("Not an error", "an error is an object with type and status")
    try:
        status = int(given.get("status", 500))
    except (TypeError, ValueError, OverflowError):
        raise expression("Not an error", "the status of an error is a number") from None
    said = {
        name: told(text if isinstance(text := given[name], str) else str(text))
        for name in ("title", "detail", "instance")
        if given.get(name) is not None
    }
    return Error(told(str(given.get("type", "about:blank"))), status, **said)


async def wait(walk: Walk, task: model.Wait, step: Step, frame: Frame, _scope: Scope) -> Done:
    duration = await walk.flow.duration(task.duration, frame.input, frame)
    started = step.started_at if step.started_at is not None else walk.host.now()
    await walk.host.sleep(step, started + duration)
    return Done(frame.input)
