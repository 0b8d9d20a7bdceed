"""fork: branches side by side; all of them, or the first to finish."""

import asyncio
from typing import Any

from penstock.dsl import model
from penstock.engine.faults import Fault
from penstock.engine.host import Step
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk


async def fork(walk: Walk, task: model.Fork, step: Step, frame: Frame, scope: Scope) -> Done:
    if not task.branches:
        return Done(frame.input)
    if task.compete and (winner := walk.host.first_completed(f"{step.position}/b", len(task.branches))) is not None:
        # It won in an earlier life: the others must not begin again.
        return Done(winner)
    branches = [
        asyncio.create_task(walk.task(branch, frame.input, scope, f"{step.position}/b{number}"))
        for number, branch in enumerate(task.branches)
    ]
    try:
        return await (_first(branches) if task.compete else _all(branches))
    finally:
        for branch in branches:
            branch.cancel()
        await asyncio.gather(*branches, return_exceptions=True)


async def _all(branches: list["asyncio.Task[Done]"]) -> Done:
    """The outputs in the order of the branches. A fault of one ends them all; so does an `end`."""
    for ready in asyncio.as_completed(branches):
        done = await ready
        if done.then == "end":
            return done
    return Done([branch.result().output for branch in branches])


async def _first(branches: list["asyncio.Task[Done]"]) -> Done:
    """The first to finish wins; one that faults is out of the race. When all do, the first fault counts."""
    fault: Fault | None = None
    waiting: set[asyncio.Task[Any]] = set(branches)
    while waiting:
        ready, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for branch in branches:
            if branch in ready:
                error = branch.exception()
                if error is None:
                    done = branch.result()
                    return done if done.then == "end" else Done(done.output)
                if not isinstance(error, Fault):
                    raise error
                fault = fault or error
    assert fault is not None  # noqa: S101 - there was a branch, and none won
    raise fault
