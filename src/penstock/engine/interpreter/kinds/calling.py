"""call: a protocol, a function of the definition, or one that a catalog has."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from penstock.dsl import build, model
from penstock.dsl.values import Constant, Members, Value, variables_of
from penstock.engine.faults import configuration, expression, runtime
from penstock.engine.host import Step
from penstock.engine.interpreter.addresses import resolved, resource, with_policies
from penstock.engine.interpreter.foreach import Received, each
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk
from penstock.engine.tasks.work import Authorization

PROTOCOLS = frozenset({"http", "openapi", "grpc", "asyncapi", "mcp", "a2a"})
# What a call is made to, by the members that say it.
_CALLED = frozenset({"endpoint", "service", "server", "transport", "http"})
_DEEPEST = 50  # a level takes a few frames of Python's stack, and that has a thousand


async def call(walk: Walk, task: model.Call, step: Step, frame: Frame, scope: Scope) -> Done:
    if task.function not in PROTOCOLS:
        return await _function(walk, task, step, frame, scope)
    arguments = await _arguments(walk, task, step, frame)
    if task.subscription is not None:
        return await _subscribe(walk, task.subscription, step, frame, scope, arguments)
    performed = await walk.host.perform(step, task.function, arguments)
    frame.authorization = performed.authorization
    return Done(performed.output)


async def _function(walk: Walk, task: model.Call, step: Step, frame: Frame, scope: Scope) -> Done:
    """A function is a task; what it is called with is its input, and it sees nothing of where it is called."""
    if step.position.count("/f") >= _DEEPEST:
        raise runtime("Too deep", f"functions may call each other {_DEEPEST} levels deep")
    function, foreign = walk.execution.workflow.functions.get(task.function), scope.foreign
    if function is None:
        function, foreign = await _found_elsewhere(walk, task, frame), True
    data = frame.input if task.arguments is None else await walk.flow.value(task.arguments, frame.input, frame)
    done = await walk.task(function, data, Scope(attempt=scope.attempt, foreign=foreign), f"{step.position}/f")
    return done if done.then == "end" else Done(done.output)


async def _found_elsewhere(walk: Walk, task: model.Call, frame: Frame) -> model.Task:
    _, _, catalog = task.function.rpartition("@")
    known = walk.execution.workflow.catalogs.get(catalog)
    place = None if known is None else await resource(walk.flow, known, frame.within(Scope()))
    data = await walk.host.find_function(task.function, place)
    try:
        # As large as a whole definition, and not to be trusted more.
        return await walk.host.aside(
            lambda: build.task_of(data, walk.execution.workflow, task.name, f"{task.reference}/call")
        )
    except build.NotValid as error:
        raise configuration("Not a function", f"{task.function}: {error}") from None


async def _arguments(walk: Walk, task: model.Call, step: Step, frame: Frame) -> dict[str, Any]:
    if task.arguments is None:
        return {}
    if "authorization" in variables_of(task.arguments):
        frame.authorization = await _authorization(walk, task.arguments, step, frame)
    arguments = await resolved(walk.flow, task.arguments, frame)
    if not isinstance(arguments, dict):
        raise expression("Not arguments", "what a call is made with is an object")
    return await with_policies(walk.flow, arguments, frame)


async def _authorization(walk: Walk, arguments: Value, step: Step, frame: Frame) -> Authorization | None:
    """`$authorization` in the call itself: the policy is resolved before everything else."""
    policy = _policy_in(arguments)
    if policy is None:
        return None
    given = await resource(walk.flow, Members((("authentication", policy),)), frame)
    return (await walk.host.perform(step, "authorize", given)).authorization


def _policy_in(value: Value) -> Value | None:
    """The policy of the call itself, not of a document that it reads; what is in a body is data."""
    members = _members(value)
    if "authentication" in members:
        return members["authentication"]
    inner = (_policy_in(item) for name, item in members.items() if name in _CALLED)
    return next((found for found in inner if found is not None), None)


def _members(value: Value) -> dict[str, Value]:
    match value:
        case Members(items):
            return dict(items)
        case Constant(dict() as data):
            return {name: Constant(item) for name, item in data.items()}
        case _:
            return {}


async def _subscribe(
    walk: Walk, subscription: model.Subscription, step: Step, frame: Frame, scope: Scope, arguments: dict[str, Any]
) -> Done:
    """Messages, one after the other, until there are enough of them."""
    outputs: list[Any] = []
    limit = None
    if subscription.duration is not None:
        limit = (await walk.flow.duration(subscription.duration, frame.input, frame)) / 1_000_000
    timer = asyncio.timeout(limit)
    try:
        async with timer, walk.host.subscribe(step, arguments) as messages:
            return await _receive(walk, subscription, step, frame, scope, messages, outputs)
    except TimeoutError:
        if not timer.expired():
            raise
        return Done(outputs)


async def _receive(
    walk: Walk,
    subscription: model.Subscription,
    step: Step,
    frame: Frame,
    scope: Scope,
    messages: AsyncIterator[Any],
    outputs: list[Any],
) -> Done:
    async for message in messages:
        if subscription.filter is not None and not await walk.flow.holds(subscription.filter, message, frame):
            continue
        if subscription.condition_to_go_on is not None and not await walk.flow.holds(
            subscription.condition_to_go_on, message, frame
        ):
            break
        done = await each(walk, subscription.foreach, step, frame, scope, Received(len(outputs), message))
        outputs.append(done.output)
        if done.then == "end":
            return Done(outputs, "end")
        if subscription.amount is not None and len(outputs) >= subscription.amount:
            break
        if subscription.condition_to_end is not None and await walk.flow.holds(
            subscription.condition_to_end, message, frame
        ):
            break
    return Done(outputs)
