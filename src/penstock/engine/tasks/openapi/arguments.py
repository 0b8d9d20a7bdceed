"""Putting the workflow's parameters where the operation wants them; whatever fits nowhere, or is missing, is said."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec

from penstock.engine.faults import validation
from penstock.engine.tasks.content import plain
from penstock.engine.tasks.openapi.description import Description, Operation
from penstock.engine.tasks.openapi.payload import Payload, payload_of
from penstock.engine.tasks.openapi.styles import Pairs, in_header, in_path, in_query, style_of

_STYLES = {"path": "simple", "header": "simple", "query": "form", "cookie": "form"}
# OpenAPI: parameters of these names are ignored, as something else says them.
_NO_PARAMETERS = frozenset({"accept", "content-type", "authorization"})


class Placed(msgspec.Struct):
    path: str
    query: Pairs
    headers: dict[str, str]
    body: Any = None


def placed(operation: Operation, description: Description, given: Mapping[str, Any]) -> Placed:
    given = {str(name): value for name, value in given.items() if value is not None}
    declared = _declared(operation, description)
    payload = payload_of(operation, description, declared)
    parameters = {(str(each["name"]), str(each["in"])): each for each in declared if _is_parameter(each)}
    names = {name for name, _ in parameters}
    _check(operation, parameters, payload, given)
    request = Placed(operation.path, [], {}, payload.body(given, names))
    cookies: Pairs = []
    for (name, place), parameter in parameters.items():
        if name in given:
            _place(request, cookies, place, name, given[name], parameter)
    if left := re.search(r"\{[^{}]*\}", request.path):
        raise description.fault(f"{left[0][:100]} stands in the path of {operation.id!r}, but is no parameter of it")
    # `..` as a value would make it the path of another operation.
    if {".", ".."} & set(request.path.split("/")):
        raise validation("Parameter not usable", f"a value that stands in the path of {operation.id!r} is only dots")
    if cookies:
        request.headers["Cookie"] = "; ".join(f"{name}={quote(value)}" for name, value in cookies)
    if request.body is not None:
        request.headers["Content-Type"] = payload.content_type
    return request


def _place(request: Placed, cookies: Pairs, place: str, name: str, value: Any, parameter: Mapping[str, Any]) -> None:
    style = style_of(parameter, _STYLES[place])
    if isinstance(parameter.get("content"), Mapping):  # a parameter that is JSON in a text
        value = plain(value)
    match place:
        case "path":
            text = in_path(name, value, style)
            if not text:
                raise validation("Parameter not usable", f"{name!r} stands in a path, and cannot be nothing there")
            request.path = request.path.replace("{" + name + "}", text)
        case "query":
            request.query += in_query(name, value, style)
        case "header":
            request.headers[name] = in_header(value, style)
        case _:
            cookies += in_query(name, value, style)


def _declared(operation: Operation, description: Description) -> list[Mapping[str, Any]]:
    """Of the path and of the operation, which may say one of the path's anew."""
    found: dict[tuple[str, str], Mapping[str, Any]] = {}
    for members in (operation.item, operation.members):
        for value in description.list_of(members, "parameters"):
            parameter = description.resolved(value)
            name, place = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not isinstance(place, str):
                raise description.fault(f"a parameter of {operation.id!r} has no name, or no place")
            found[name, place] = parameter
    return list(found.values())


def _is_parameter(parameter: Mapping[str, Any]) -> bool:
    place = parameter["in"]
    return place in _STYLES and not (place == "header" and parameter["name"].lower() in _NO_PARAMETERS)


def _check(
    operation: Operation,
    parameters: Mapping[tuple[str, str], Mapping[str, Any]],
    payload: Payload,
    given: Mapping[str, Any],
) -> None:
    names = {name: None for name, _ in parameters}  # in their order
    if unknown := [name for name in given if name not in names and not payload.takes(name)]:
        raise validation(
            "Parameter not known",
            f"{operation.id!r} has no parameter {unknown[0][:100]!r}; "
            f"it has: {', '.join(dict.fromkeys([*names, *payload.names])) or 'none'}",
        )
    required = [name for (name, place), each in parameters.items() if each.get("required") or place == "path"]
    if missing := [name for name in required if name not in given] + payload.missing(given, names):
        raise validation("Parameter missing", f"{operation.id!r} needs {', '.join(dict.fromkeys(missing))}")
