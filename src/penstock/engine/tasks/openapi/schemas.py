"""What a schema says of an object's members: enough to know where a parameter belongs, not to validate it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.engine.tasks.openapi.description import Description

_DEEPEST = 16


class Shape(msgspec.Struct):
    properties: dict[str, Any] = msgspec.field(default_factory=dict)
    required: list[str] = msgspec.field(default_factory=list)
    open: bool = False
    """Whether it takes members that it does not name."""
    scalar: bool = False
    """Whether its value may be a bare text."""


def shape_of(schema: Any, description: Description, depth: int = 0) -> Shape:
    if not isinstance(schema, Mapping):
        return Shape(open=True, scalar=True)
    if depth > _DEEPEST:
        raise description.fault("its schemas are nested too deep, or in a circle")
    members = description.resolved(schema)
    shape = _own(members, description)
    for part in description.list_of(members, "allOf"):
        inner = shape_of(part, description, depth + 1)
        shape.properties |= inner.properties
        shape.required += inner.required
        shape.open = shape.open and inner.open
        shape.scalar = shape.scalar and inner.scalar
    if "anyOf" in members or "oneOf" in members:
        shape.open = True
    return shape


def _own(members: Mapping[str, Any], description: Description) -> Shape:
    properties = members.get("properties")
    named = dict(properties) if isinstance(properties, Mapping) else {}
    kinds = members.get("type")
    scalar = "object" not in _kinds(kinds) and "array" not in _kinds(kinds) and not named
    return Shape(
        properties=named,
        # What only the service writes is not ours to give, whatever `required` says.
        required=[name for name in description.list_of(members, "required") if not _read_only(named.get(name))],
        open=bool(members.get("additionalProperties")) or (not named and (kinds is None or "object" in _kinds(kinds))),
        scalar=scalar,
    )


def _kinds(kinds: Any) -> list[Any]:
    return kinds if isinstance(kinds, list) else [kinds]


def _read_only(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("readOnly") is True
