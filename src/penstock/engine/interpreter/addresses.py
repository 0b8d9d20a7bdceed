"""Where things are, as a definition says it: `{name}` filled in from the data, and policies in place of their names."""

import re
from typing import Any
from urllib.parse import quote

from penstock.dsl.values import Constant, Items, Members, Value
from penstock.engine.faults import configuration, expression
from penstock.engine.interpreter.dataflow import DataFlow
from penstock.engine.interpreter.scope import Frame

_TEMPLATE = re.compile(r"\{([^{}]*)\}")
# Members in which addresses stand, with `{name}` for a member of the input, and those that hold such members.
_ADDRESSES = frozenset({"endpoint", "uri", "server", "authority", "token", "revocation", "introspection", "issuers"})
_PLACES = frozenset(
    {"endpoint", "server", "service", "document", "proto", "agentCard", "transport", "http", "source"}
    | {"authentication", "oauth2", "oidc", "endpoints"}
)


async def resolved(flow: DataFlow, value: Value, frame: Frame, name: str = "") -> Any:
    """The value with expressions evaluated, and `{name}` filled in where an address is written out."""
    match value:
        case Members(items) if not name or name in _PLACES:
            return {key: await resolved(flow, item, frame, key) for key, item in items}
        case Constant(dict() as data) if not name or name in _PLACES:
            return {key: await resolved(flow, Constant(item), frame, key) for key, item in data.items()}
        case Items(items) if name in _ADDRESSES:
            return [await resolved(flow, item, frame, name) for item in items]
        case Constant(list() as data) if name in _ADDRESSES:
            return [await resolved(flow, Constant(item), frame, name) for item in data]
        case _ if name in _ADDRESSES:
            return await address(flow, value, frame)
        case _:
            return await flow.value(value, frame.input, frame)


async def address(flow: DataFlow, value: Value, frame: Frame) -> Any:
    """A text that may be a URI template. What an expression makes is taken as it is."""
    if isinstance(value, Constant) and isinstance(value.data, str) and "{" in value.data:
        return _filled(value.data, frame.input)
    return await flow.value(value, frame.input, frame)


async def with_addresses(flow: DataFlow, value: Value, frame: Frame, *names: str) -> Any:
    """The value, with those of its members that are addresses filled in."""
    given = await flow.value(value, frame.input, frame)
    written = value.data if isinstance(value, Constant) else dict(value.items) if isinstance(value, Members) else {}
    if not isinstance(given, dict) or not isinstance(written, dict):
        return given
    members = {name: written[name] for name in names if name in written}
    values = {name: item if isinstance(item, Value) else Constant(item) for name, item in members.items()}
    return given | {name: await address(flow, item, frame) for name, item in values.items()}


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


async def with_policies(flow: DataFlow, data: dict[str, Any], frame: Frame) -> dict[str, Any]:
    """Policies of the definition in place of their names, wherever an authentication stands."""
    found: dict[str, Any] = {}
    for name, item in data.items():
        if name == "authentication":
            found[name] = await _policy(flow, item, frame)
        elif isinstance(item, dict) and name in _PLACES:
            found[name] = await with_policies(flow, item, frame)
        else:
            found[name] = item
    return found


async def _policy(flow: DataFlow, given: Any, frame: Frame) -> Any:
    if frame.scope.foreign and _is_borrowed(given):
        raise configuration(
            "Not a function's own authentication",
            "a function that was found elsewhere has no secrets and no policies of the workflow: give it what it needs",
        )
    name = given if isinstance(given, str) else given.get("use") if isinstance(given, dict) else None
    if not isinstance(name, str):
        return given
    known = frame.execution.workflow.authentications.get(name)
    if known is None:
        raise configuration("No such authentication", f"use.authentications has no {name!r}")
    return await resolved(flow, known, frame, "authentication")


def _is_borrowed(policy: Any) -> bool:
    """Whether it is the workflow's, or has its members from a secret."""
    if not isinstance(policy, dict):
        return True
    return "use" in policy or any(isinstance(scheme, dict) and "use" in scheme for scheme in policy.values())


async def resource(flow: DataFlow, value: Value, frame: Frame) -> Any:
    """An external resource, or whatever else has an `endpoint`, ready to be read."""
    return await with_policies(flow, await resolved(flow, value, frame), frame)
