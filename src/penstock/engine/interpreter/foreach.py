"""What is done with each event or message that is received."""

from typing import Any

import msgspec

from penstock.dsl import model
from penstock.engine.host import Step
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk


class Received(msgspec.Struct, frozen=True):
    """The item, and how many came before it."""

    index: int
    item: Any


async def each(
    walk: Walk, foreach: model.Foreach | None, step: Step, frame: Frame, scope: Scope, received: Received
) -> Done:
    """The item as it stands in the task's output."""
    if foreach is None:
        return Done(received.item)
    names = scope.bind(**{foreach.item: received.item, foreach.at: received.index})
    done = await walk.inside(foreach.tasks, received.item, names, f"{step.position}/e{received.index}")
    if done.then == "end":
        return done
    inner = Frame(walk.execution, names, frame.task, step)
    inner.raw, inner.input, inner.raw_output = frame.raw, frame.input, done.output
    inner.output = await walk.flow.transform(foreach.output.transform, done.output, inner)
    await walk.schemas.hold(foreach.output, inner.output, "The item's output", inner)
    if foreach.export.transform is not None:
        context = await walk.flow.transform(foreach.export.transform, inner.output, inner)
        await walk.schemas.hold(foreach.export, context, "The exported context", inner)
        walk.execution.export(context)
    return Done(inner.output)
