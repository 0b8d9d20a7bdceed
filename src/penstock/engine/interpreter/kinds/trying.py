"""try: which errors are caught, whether and when the attempt is made again, and what is done about it."""

import asyncio
from typing import Any

from penstock.dsl import model
from penstock.engine.faults import Error, Exhausted, Fault, same_type
from penstock.engine.host import Step
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk

_LONGEST_DELAY = 24 * 3600 * 1_000_000


async def try_(walk: Walk, task: model.Try, step: Step, frame: Frame, scope: Scope) -> Done:
    # What was waited for when the power went is waited for still, and nothing is decided twice.
    walk.execution.recall(step.state)
    if (known := step.state.get("caught")) is not None:
        return await _handle(walk, task.catch, step, frame, scope, Error(**known))
    attempt = int(step.state.get("attempt", 1))
    if (retry_at := step.state.get("retry_at")) is not None:
        await walk.host.sleep(step, retry_at)
    while True:
        try:
            return await _attempt(walk, task, step, frame, scope, attempt)
        except Exhausted:
            raise
        except Fault as fault:
            error = fault.error
            caught = _handler(walk, task, step, frame, scope, error)
            if not await _catches(walk, task.catch, frame, caught, error):
                raise
            at = await _retry_at(walk, task.catch.retry, step, frame, caught, attempt)
            if at is None:
                if task.catch.retry is not None and task.catch.tasks is None:
                    # It was only said how to try again: what fails for good is nobody's success.
                    raise
                return await _handle(walk, task.catch, step, frame, scope, error)
        attempt += 1
        step.state = step.state | {"attempt": attempt, "retry_at": at} | walk.execution.exported
        walk.host.retried(step, attempt, error, at)
        # Even with no delay: attempts that fail at once must not keep everybody else waiting.
        await asyncio.sleep(0)
        await walk.host.sleep(step, at)


async def _attempt(walk: Walk, task: model.Try, step: Step, frame: Frame, scope: Scope, attempt: int) -> Done:
    async def work() -> Done:
        return await walk.inside(task.tasks, frame.input, scope.in_attempt(attempt), f"{step.position}/a{attempt}")

    limit = task.catch.retry.attempt_limit if task.catch.retry is not None else None
    if limit is None:
        return await work()
    started = step.state.get("retry_at") or step.started_at or walk.host.now()
    try:
        return await walk.within(limit, started, frame.input, frame, work)
    except Fault as fault:
        raise fault.at(task.reference) from None


def _handler(walk: Walk, task: model.Try, step: Step, frame: Frame, scope: Scope, error: Error) -> Frame:
    """What the expressions of the handler see."""
    inner = Frame(walk.execution, scope.bind(**{task.catch.name: error.as_data()}), task, step)
    inner.raw, inner.input = frame.raw, frame.input
    return inner


async def _catches(walk: Walk, catch: model.Catch, frame: Frame, caught: Frame, error: Error) -> bool:
    if catch.errors is not None:
        wanted = await walk.flow.value(catch.errors, frame.input, frame)
        if not _matches(wanted, error):
            return False
    if catch.when is not None and not await walk.flow.holds(catch.when, frame.input, caught):
        return False
    return catch.except_when is None or not await walk.flow.holds(catch.except_when, frame.input, caught)


def _matches(wanted: Any, error: Error) -> bool:
    if not isinstance(wanted, dict):
        return True
    given = error.as_data()
    for name, value in wanted.items():
        if name == "type":
            if not same_type(str(value), error.type):
                return False
        elif name == "details":
            if value != error.detail:
                return False
        elif given.get(name) != value:
            return False
    return True


async def _retry_at(
    walk: Walk, retry: model.Retry | None, step: Step, frame: Frame, caught: Frame, attempt: int
) -> int | None:
    """When the next attempt is made; None when there is none."""
    if retry is None:
        return None
    if retry.most_attempts is not None and attempt > retry.most_attempts:
        return None
    if retry.when is not None and not await walk.flow.holds(retry.when, frame.input, caught):
        return None
    if retry.except_when is not None and await walk.flow.holds(retry.except_when, frame.input, caught):
        return None
    at = walk.host.now() + await _delay(walk, retry, step, frame, caught, attempt)
    if retry.limit is not None:
        allowed = await walk.flow.duration(retry.limit, frame.input, caught)
        if at > (step.started_at or walk.host.now()) + allowed:
            return None
    return at


async def _delay(walk: Walk, retry: model.Retry, step: Step, frame: Frame, caught: Frame, attempt: int) -> int:
    delay = 0 if retry.delay is None else await walk.flow.duration(retry.delay, frame.input, caught)
    if retry.backoff == "linear":
        delay *= attempt
    elif retry.backoff == "exponential":
        delay *= 2 ** min(attempt - 1, 40)
    if retry.jitter is not None:
        least, most = [await walk.flow.duration(each, frame.input, caught) for each in retry.jitter]
        delay += least + round(_spread(walk, f"{step.position}/a{attempt}") * max(0, most - least))
    return min(delay, _LONGEST_DELAY)


def _spread(walk: Walk, place: str) -> float:
    """Between 0 and 1: another for each execution and attempt, and the same whenever it is walked again."""
    return int(walk.host.id_for(place)[:8], 16) / 0xFFFFFFFF


async def _handle(walk: Walk, catch: model.Catch, step: Step, frame: Frame, scope: Scope, error: Error) -> Done:
    if catch.tasks is None:
        return Done(frame.input)
    if "caught" not in step.state:
        step.state = step.state | {"caught": error.as_data()} | walk.execution.exported
        walk.host.remembered(step)
    names = scope.bind(**{catch.name: error.as_data()})
    return await walk.inside(catch.tasks, frame.input, names, f"{step.position}/c")
