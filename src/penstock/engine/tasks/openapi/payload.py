"""An operation's body: given whole under one name, or by its members beside the other parameters."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from penstock.engine.faults import Fault, configuration, validation
from penstock.engine.tasks.content import FORM, is_json, is_text, media_type, plain
from penstock.engine.tasks.openapi.description import Description, Operation
from penstock.engine.tasks.openapi.schemas import Shape, shape_of

_WHOLE = "body"
_JSON = "application/json"


class Payload(msgspec.Struct, frozen=True):
    content_type: str
    shape: Shape
    required: bool = False
    whole: str = _WHOLE
    """The name by which all of it can be given, when no member is called so."""

    @property
    def names(self) -> list[str]:
        return list(self.shape.properties) or ([self.whole] if self.whole else [])

    def takes(self, name: str) -> bool:
        return bool(name) and (name == self.whole or name in self.shape.properties or self.shape.open)

    def missing(self, given: Mapping[str, Any], others: Collection[str]) -> list[str]:
        """What must be given and is not; `others` are the names of parameters outside of the body."""
        if self._is_whole(given) or not self._wanted(given, others):
            return []
        if self.shape.required:
            return [name for name in self.shape.required if name not in given]
        return [] if any(name not in others for name in given) else [self.whole]

    def body(self, given: Mapping[str, Any], others: Collection[str]) -> Any:
        if self._is_whole(given):
            if more := [name for name in given if name not in others and name != self.whole]:
                raise validation(
                    "Body not usable", f"{more[0]!r} is given beside {self.whole!r}, which is all of the body"
                )
            return self._written(given[self.whole])
        if not self._wanted(given, others):
            return None
        # A member may share its name with a parameter elsewhere (`id` in the path): both get it.
        return {name: value for name, value in given.items() if name in self.shape.properties or name not in others}

    def _is_whole(self, given: Mapping[str, Any]) -> bool:
        return given.get(self.whole) is not None and self.whole not in self.shape.properties

    def _wanted(self, given: Mapping[str, Any], others: Collection[str]) -> bool:
        return self.required or any(name not in others for name in given)

    def _written(self, value: Any) -> Any:
        if isinstance(value, str) and is_json(self.content_type) and self.shape.scalar:
            return msgspec.json.encode(value).decode()
        return plain(value) if is_text(self.content_type) and media_type(self.content_type) != FORM else value


_NONE = Payload("", Shape(), whole="")


def payload_of(operation: Operation, description: Description, parameters: Iterable[Mapping[str, Any]]) -> Payload:
    if description.swagger:
        return _swagger(operation, description, list(parameters))
    value = operation.members.get("requestBody")
    if value is None:
        return _NONE
    body = description.resolved(value)
    contents = description.resolved(body.get("content") or {})
    content_type = _chosen(contents, operation)
    schema = description.resolved(contents[content_type]).get("schema")
    return Payload(content_type, shape_of(schema, description), body.get("required") is True)


def _swagger(operation: Operation, description: Description, parameters: list[Mapping[str, Any]]) -> Payload:
    consumes = description.list_of(operation.members, "consumes") or description.list_of(
        description.members, "consumes"
    )
    for parameter in parameters:
        if parameter.get("in") == "body":
            content_type = _chosen([str(kind) for kind in consumes] or [_JSON], operation)
            shape = shape_of(parameter.get("schema"), description)
            return Payload(content_type, shape, parameter.get("required") is True, str(parameter.get("name")))
    fields = [parameter for parameter in parameters if parameter.get("in") == "formData"]
    if not fields:
        return _NONE
    if (consumes and FORM not in consumes) or any(field.get("type") == "file" for field in fields):
        raise _multipart(operation)
    required = [str(field.get("name")) for field in fields if field.get("required")]
    shape = Shape({str(field.get("name")): field for field in fields}, required)
    return Payload(FORM, shape, bool(required), "")


def _chosen(kinds: Iterable[str], operation: Operation) -> str:
    """JSON when there is a choice, then a form, then what is text."""
    found = [kind for kind in kinds if not media_type(kind).startswith("multipart/")]
    if not found:
        raise _multipart(operation)
    return min(found, key=lambda kind: (not is_json(kind), media_type(kind) != FORM, not is_text(kind)))


def _multipart(operation: Operation) -> Fault:
    return configuration(
        "Body not supported", f"{operation.id!r} takes files or multipart forms, which cannot be sent; use a script"
    )
