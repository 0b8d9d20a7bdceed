"""for: the output of one round is the input of the next."""

import asyncio

from penstock.dsl import model
from penstock.engine.faults import expression
from penstock.engine.host import Step
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk

_ROUNDS_AT_ONCE = 100


async def for_(walk: Walk, task: model.For, step: Step, frame: Frame, scope: Scope) -> Done:
    items = await walk.flow.ask(task.items, frame.input, frame)
    if items is None:
        items = []
    if not isinstance(items, list):
        raise expression("Not a list", "what for.in gives is no list: write [ ] around it, as in [.pets[]]")
    data = frame.input
    for index, item in enumerate(items):
        # Rounds of no tasks would keep everybody else waiting.
        if index % _ROUNDS_AT_ONCE == _ROUNDS_AT_ONCE - 1:
            await asyncio.sleep(0)
        names = scope.bind(**{task.each: item, task.at: index})
        if task.condition_to_go_on is not None:
            inner = Frame(walk.execution, names, task, step)
            inner.raw, inner.input = frame.raw, frame.input
            if not await walk.flow.holds(task.condition_to_go_on, data, inner):
                break
        done = await walk.inside(task.tasks, data, names, f"{step.position}/i{index}")
        if done.then == "end":
            return done
        data = done.output
    return Done(data)
