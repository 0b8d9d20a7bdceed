"""emit and listen."""

import re
from typing import Any

from penstock.dsl import model
from penstock.dsl.grammar.values import MOMENT
from penstock.engine.faults import expression
from penstock.engine.host import Listening, Received, Step
from penstock.engine.interpreter import foreach
from penstock.engine.interpreter.addresses import with_addresses
from penstock.engine.interpreter.correlation import Correlator
from penstock.engine.interpreter.scope import Frame, Scope, moment
from penstock.engine.interpreter.walk import Done, Walk

_NAME = re.compile(r"[a-z0-9]{1,100}")
_TEXTS = frozenset({"id", "source", "type", "subject", "time", "datacontenttype", "dataschema"})
_DATA = frozenset({"data", "data_base64"})


async def emit(walk: Walk, task: model.Emit, step: Step, frame: Frame, _scope: Scope) -> Done:
    given = await with_addresses(walk.flow, task.event, frame, "source", "dataschema")
    attributes = _attributes(given)
    started = step.started_at if step.started_at is not None else walk.host.now()
    event: dict[str, Any] = {
        "specversion": "1.0",
        "id": walk.host.id_for(step.position),
        "time": moment(started)["iso8601"],
        **attributes,
    }
    if "data" in event:
        event.setdefault("datacontenttype", "application/json")
    await walk.host.emit(step, event)
    return Done(event)


def _attributes(given: Any) -> dict[str, Any]:
    """As CloudEvents have them: others than we read these events, too."""
    if not isinstance(given, dict) or not given.get("source") or not given.get("type"):
        raise expression("Not an event", "an event has at least a source and a type")
    return {name: _attribute(name, value) for name, value in given.items() if value is not None}


def _attribute(name: str, value: Any) -> Any:
    if name in _DATA:
        return value
    if not _NAME.fullmatch(name):
        raise expression("Not an event", f"{name[:50]}: an attribute's name has small letters and digits, 100 at most")
    if name in ("id", "subject") and isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # the number of an order, say
    if not isinstance(value, str if name in _TEXTS else str | int | bool):
        raise expression("Not an event", f"{name}: an attribute is text; one's own may be a whole number or a boolean")
    if name == "time" and MOMENT.pattern is not None and not MOMENT.pattern.matches(value):
        raise expression("Not an event", "time: expected a time such as 2026-01-31T12:00:00Z")
    return value


async def listen(walk: Walk, task: model.Listen, step: Step, frame: Frame, scope: Scope) -> Done:
    """All events that it consumed, as they are read, in their order."""
    outputs: list[Any] = []
    correlator = Correlator(walk.flow, task.to, frame)
    async with walk.host.listen(step) as listening:
        # What it consumed in an earlier life counts, and is not waited for again.
        for received in listening.consumed:
            await correlator.offer(received.event, recalled=True)
            if (done := await _take(walk, task, step, frame, scope, received, outputs, correlator)) is not None:
                return done
            if await correlator.enough(outputs):
                walk.host.correlated(step, correlator.keys)
                return Done(outputs)
        return await _wait(walk, task, step, frame, scope, listening, outputs, correlator)


async def _wait(
    walk: Walk,
    task: model.Listen,
    step: Step,
    frame: Frame,
    scope: Scope,
    listening: Listening,
    outputs: list[Any],
    correlator: Correlator,
) -> Done:
    if await correlator.enough(outputs):
        return Done(outputs)
    async for received in listening:
        if not await correlator.offer(received.event):
            continue
        await listening.consume(received)
        if (done := await _take(walk, task, step, frame, scope, received, outputs, correlator)) is not None:
            return done
        if await correlator.enough(outputs):
            walk.host.correlated(step, correlator.keys)
            return Done(outputs)
    return Done(outputs)


async def _take(
    walk: Walk,
    task: model.Listen,
    step: Step,
    frame: Frame,
    scope: Scope,
    received: Received,
    outputs: list[Any],
    correlator: Correlator,
) -> Done | None:
    """Put the event to the others, worked on if there is something to do for each; something when that ends all."""
    if correlator.only_ends(received.event):
        return None
    item = _read(task.read, received.event)
    done = await foreach.each(walk, task.foreach, step, frame, scope, foreach.Received(len(outputs), item))
    outputs.append(done.output)
    return Done(outputs, "end") if done.then == "end" else None


def _read(how: str, event: dict[str, Any]) -> Any:
    if how == "envelope":
        return event
    if how == "raw" and "data_base64" in event:
        return event["data_base64"]
    return event.get("data")
