"""A document that describes an API, read with care: any member may be missing, wrong, or a reference in a circle."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import msgspec

from penstock.engine.faults import Fault, validation

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_MOST_REFERENCES = 32
_MOST_NAMED = 30


class Operation(msgspec.Struct, frozen=True):
    id: str
    method: str
    path: str
    item: Mapping[str, Any]
    """The path's own members: parameters and servers that all its operations share."""
    members: Mapping[str, Any]


class Description:
    def __init__(self, data: Any, address: str) -> None:
        self.address = address
        self.members = self._mapping(data)
        version = str(self.members.get("openapi") or self.members.get("swagger") or "")
        if not version.startswith(("3.", "2.")):
            raise self.fault("it says neither `openapi: 3.…` nor `swagger: '2.0'`")
        self.swagger = version.startswith("2.")

    def operation(self, id_: Any) -> Operation:
        found = self._operations.get(id_) if isinstance(id_, str) else None
        if found is not None:
            return found
        known = ", ".join(sorted(self._operations)[:_MOST_NAMED]) or "none"
        raise validation("Operation not known", f"{self.address} has no operation {str(id_)[:100]!r}; it has: {known}")

    def resolved(self, value: Any) -> Mapping[str, Any]:
        """A mapping, behind the references that lead to it; they stay within the document."""
        for _ in range(_MOST_REFERENCES):
            members = self._mapping(value)
            reference = members.get("$ref")
            if not isinstance(reference, str):
                return members
            value = self._at(reference)
        raise self.fault("its references lead in a circle")

    def list_of(self, members: Mapping[str, Any], name: str) -> list[Any]:
        value = members.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.fault(f"`{name}` is no list")
        return value

    def fault(self, what: str) -> Fault:
        return validation("Document not usable", f"{self.address} cannot be used as an OpenAPI document: {what}")

    @cached_property
    def _operations(self) -> dict[str, Operation]:
        return {operation.id: operation for operation in self._each()}

    def _each(self) -> Iterator[Operation]:
        for path, value in self._mapping(self.members.get("paths") or {}).items():
            item = self.resolved(value)
            for method in _METHODS:
                members = item.get(method)
                if isinstance(members, Mapping) and isinstance(id_ := members.get("operationId"), str):
                    yield Operation(id_, method, str(path), item, members)

    def _at(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            raise self.fault(f"the reference {reference[:100]!r} leaves the document; bundle it into one")
        value: Any = self.members
        for part in reference[2:].split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
                value = value[int(name)]
            else:
                raise self.fault(f"the reference {reference[:100]!r} leads nowhere")
        return value

    def _mapping(self, value: Any) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise self.fault("an object is missing where there should be one")
        return value
