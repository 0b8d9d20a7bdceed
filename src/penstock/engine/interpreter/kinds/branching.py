"""fork: branches side by side; all of them, or the first to finish."""

import asyncio
from typing import Any

from penstock.dsl import model
from penstock.engine.faults import Fault
from penstock.engine.host import Step
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk

Running = list["asyncio.Task[Done]"]


async def fork(walk: Walk, task: model.Fork, step: Step, frame: Frame, scope: Scope) -> Done:
    if not task.branches:
        return Done(frame.input)
    places = [f"{step.position}/b{number}" for number in range(len(task.branches))]
    if (number := _decided(walk, task, places)) is not None:
        # In an earlier life: the other branches must not begin again.
        return _inside(await walk.task(task.branches[number], frame.input, scope, places[number]))
    order: list[int] = []

    async def run(number: int) -> Done:
        done = await walk.task(task.branches[number], frame.input, scope, places[number])
        order.append(number)
        return done

    branches = [asyncio.create_task(run(number)) for number in range(len(places))]
    try:
        return await (_first(branches, order, frame.input) if task.compete else _all(branches))
    finally:
        for branch in branches:
            branch.cancel()
        await asyncio.gather(*branches, return_exceptions=True)


def _decided(walk: Walk, task: model.Fork, places: list[str]) -> int | None:
    """The branch that was the first to end the fork in an earlier life, if one did."""
    known = [(number, step) for number, place in enumerate(places) if (step := walk.host.known(place)) is not None]
    ended = [(step.completed_at or 0, number) for number, step in known if _ends(task, step)]
    return min(ended)[1] if ended else None


def _ends(task: model.Fork, branch: Step) -> bool:
    if task.compete:
        return branch.status == "completed"
    return branch.status == "failed" or (branch.status == "completed" and branch.state.get("then") == "end")


def _inside(done: Done) -> Done:
    return done if done.then == "end" else Done(done.output)


async def _all(branches: Running) -> Done:
    """The outputs in the order of the branches. A fault of one ends them all; so does an `end`."""
    for ready in asyncio.as_completed(branches):
        done = await ready
        if done.then == "end":
            return done
    return Done([branch.result().output for branch in branches])


async def _first(branches: Running, order: list[int], data: Any) -> Done:
    """The first to finish wins. One that faults or is skipped is out of the race; when all are, a fault counts."""
    fault: Fault | None = None
    waiting: set[asyncio.Task[Done]] = set(branches)
    while waiting:
        ready, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for number in order:
            if (done := branches[number].result()).then is not None:
                return _inside(done)
        # In the order of the branches: a walk that is repeated must come to the same one.
        fault = fault or _fault_among([branch for branch in branches if branch in ready])
    if fault is not None:
        raise fault
    return Done(data)


def _fault_among(ready: Running) -> Fault | None:
    for branch in ready:
        error = branch.exception()
        if error is not None:
            if not isinstance(error, Fault):
                raise error
            return error
    return None
