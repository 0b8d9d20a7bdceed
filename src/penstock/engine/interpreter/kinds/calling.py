"""call: a protocol, a function of the definition, or one that a catalog has."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

from penstock.dsl import build, model
from penstock.dsl.values import Constant, Members, Value, variables_of
from penstock.engine.faults import configuration, expression, runtime
from penstock.engine.host import Step
from penstock.engine.interpreter.foreach import Received, each
from penstock.engine.interpreter.scope import Frame, Scope
from penstock.engine.interpreter.walk import Done, Walk
from penstock.engine.tasks.work import Authorization

PROTOCOLS = frozenset({"http", "openapi", "grpc", "asyncapi", "mcp", "a2a"})
_DEEPEST = 50  # a level takes a few frames of Python's stack, and that has a thousand
_TEMPLATE = re.compile(r"\{([^{}]*)\}")
# Members in which addresses stand, with `{name}` for a member of the input, and those that hold such members.
_ADDRESSES = frozenset({"endpoint", "uri", "server"})
_PLACES = frozenset({"endpoint", "server", "service", "document", "proto", "agentCard", "transport", "http"})


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
    function = walk.execution.workflow.functions.get(task.function)
    if function is None:
        function = await _found_elsewhere(walk, task, frame)
    data = frame.input if task.arguments is None else await walk.flow.value(task.arguments, frame.input, frame)
    done = await walk.task(function, data, Scope(attempt=scope.attempt), f"{step.position}/f")
    return done if done.then == "end" else Done(done.output)


async def _found_elsewhere(walk: Walk, task: model.Call, frame: Frame) -> model.Task:
    _, _, catalog = task.function.rpartition("@")
    known = walk.execution.workflow.catalogs.get(catalog)
    place = None if known is None else await walk.flow.value(known, frame.input, frame)
    if place is not None:
        place = await _named_authentication(walk, place, frame)
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
    resolved = await _resolve(walk, task.arguments, frame)
    if not isinstance(resolved, dict):
        raise expression("Not arguments", "what a call is made with is an object")
    return await _named_authentication(walk, resolved, frame)


async def _authorization(walk: Walk, arguments: Value, step: Step, frame: Frame) -> Authorization | None:
    """`$authorization` in the call itself: the policy is resolved before everything else."""
    policy = _policy_in(arguments)
    if policy is None:
        return None
    resolved = await _named_authentication(
        walk, {"authentication": await walk.flow.value(policy, frame.input, frame)}, frame
    )
    return (await walk.host.perform(step, "authorize", resolved)).authorization


def _policy_in(value: Value) -> Value | None:
    match value:
        case Members(items):
            for name, item in items:
                if name == "authentication":
                    return item
                if (found := _policy_in(item)) is not None:
                    return found
        case Constant(dict() as data):
            for name, item in data.items():
                if name == "authentication":
                    return Constant(item)
                if (found := _policy_in(Constant(item))) is not None:
                    return found
    return None


async def _resolve(walk: Walk, value: Value, frame: Frame, name: str = "") -> Any:
    """The value with expressions evaluated, and `{name}` filled in where an address is written out."""
    match value:
        case Members(items) if not name or name in _PLACES:
            return {key: await _resolve(walk, item, frame, key) for key, item in items}
        case Constant(dict() as data) if not name or name in _PLACES:
            return {key: await _resolve(walk, Constant(item), frame, key) for key, item in data.items()}
        case Constant(str() as text) if name in _ADDRESSES and "{" in text:
            return _filled(text, frame.input)
        case _:
            return await walk.flow.value(value, frame.input, frame)


def _filled(text: str, data: Any) -> str:
    """RFC 6570's simple expansion, over the members of the input."""

    def fill(match: re.Match[str]) -> str:
        value = data.get(match[1]) if isinstance(data, dict) else None
        match value:
            case None:
                return ""
            case bool():
                return "true" if value else "false"
            case str() | int() | float():
                return quote(str(value), safe="")
            case _:
                raise expression(
                    "Not a URI template", f"{{{match[1][:100]}}} must be text, a number, a boolean or null"
                )

    return _TEMPLATE.sub(fill, text)


async def _named_authentication(walk: Walk, data: dict[str, Any], frame: Frame) -> dict[str, Any]:
    """Policies of the definition in place of their names, wherever an authentication stands."""
    resolved: dict[str, Any] = {}
    for name, item in data.items():
        if name == "authentication":
            resolved[name] = await _policy(walk, item, frame)
        elif isinstance(item, dict) and name in _PLACES:
            resolved[name] = await _named_authentication(walk, item, frame)
        else:
            resolved[name] = item
    return resolved


async def _policy(walk: Walk, given: Any, frame: Frame) -> Any:
    name = given if isinstance(given, str) else given.get("use") if isinstance(given, dict) else None
    if not isinstance(name, str):
        return given
    known = walk.execution.workflow.authentications.get(name)
    if known is None:
        raise configuration("No such authentication", f"use.authentications has no {name!r}")
    return await walk.flow.value(known, frame.input, frame)


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
