"""What the OpenAPI document says of routes whose bodies Litestar cannot see: forms, and answers with cookies."""

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example, OpenAPIMediaType, Operation, Parameter, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from msgspec import Struct

from penstock.problems import Problem

Fields = dict[str, tuple[Any, str]]


class ProblemDetails(Struct):
    """RFC 9457. `detail` is for a person; the request's id is in `instance` and in the header X-Request-ID."""

    type: str
    title: str
    status: int
    detail: str
    instance: str


_BY_STATUS = {kind.status: kind for kind in Problem.__subclasses__()}
_SOME_ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"


def problem_example(status: int, detail: str) -> dict[str, Any]:
    """The problem as a client would get it."""
    kind = _BY_STATUS[status]
    return {
        "type": f"urn:penstock:problem:{kind.slug}",
        "title": kind.title,
        "status": status,
        "detail": detail,
        "instance": f"urn:uuid:{_SOME_ID}",
    }


def problems(*statuses: tuple[int, str]) -> dict[int, ResponseSpec]:
    return {
        status: ResponseSpec(
            ProblemDetails,
            description=description,
            media_type="application/problem+json",
            generate_examples=False,
            examples=[Example(value=problem_example(status, description))],
        )
        for status, description in statuses
    }


def answer(container: Any, description: str, example: Any) -> ResponseSpec:
    return ResponseSpec(container, description=description, generate_examples=False, examples=[Example(value=example)])


_FORM_KINDS = ("application/x-www-form-urlencoded", "multipart/form-data", "application/json")


def form(
    *,
    required: Fields,
    optional: Fields | None = None,
    in_query: bool = False,
    kinds: tuple[str, ...] = _FORM_KINDS,
) -> type[Operation]:
    """An operation that takes these fields (name: example, description) as form data or JSON."""
    fields = required | (optional or {})
    schema = Schema(
        type=OpenAPIType.OBJECT,
        properties={
            name: Schema(type=OpenAPIType.STRING, description=text, examples=[example])
            for name, (example, text) in fields.items()
        },
        required=sorted(required),
    )
    example = {name: value for name, (value, _) in required.items()}
    body = RequestBody(
        content={kind: OpenAPIMediaType(schema=schema, example=example) for kind in kinds},
        required=bool(required),
    )

    @dataclass
    class FormOperation(Operation):
        def __post_init__(self) -> None:
            if in_query:
                self.parameters = [*(self.parameters or []), *query_parameters(fields)]
            else:
                self.request_body = body

    return FormOperation


def query(fields: Fields, *, required: bool = False) -> type[Operation]:
    """An operation that takes these parameters in its query."""

    @dataclass
    class QueryOperation(Operation):
        def __post_init__(self) -> None:
            self.parameters = [*(self.parameters or []), *query_parameters(fields, required=required)]

    return QueryOperation


def query_parameters(fields: Fields, *, required: bool = False) -> list[Any]:
    return [
        Parameter(
            name=name,
            param_in="query",
            description=text,
            required=required,
            schema=Schema(type=OpenAPIType.STRING, examples=[example]),
        )
        for name, (example, text) in fields.items()
    ]


def json_body(kind: type[Struct], example: Any, *, required: bool = True) -> type[Operation]:
    """An operation that takes a JSON body of exactly these members."""
    made = msgspec.json.schema(kind, ref_template="{name}")
    body = RequestBody(
        content={"application/json": OpenAPIMediaType(schema=_schema(made, made.get("$defs", {})), example=example)},
        required=required,
    )

    @dataclass
    class BodyOperation(Operation):
        def __post_init__(self) -> None:
            self.request_body = body

    return BodyOperation


def _schema(found: Any, named: dict[str, Any]) -> Any:
    """A JSON Schema as msgspec writes it, in Litestar's words; what it names stands in its place."""
    if "$ref" in found:
        return _schema(named[found["$ref"]], named)
    kinds = found.get("type")
    return Schema(
        type=[OpenAPIType(kind) for kind in kinds]
        if isinstance(kinds, list)
        else OpenAPIType(kinds)
        if kinds
        else None,
        description=found.get("description"),
        enum=found.get("enum"),
        default=found.get("default"),
        required=found.get("required") or None,
        properties={name: _schema(member, named) for name, member in found.get("properties", {}).items()} or None,
        items=_schema(found["items"], named) if isinstance(found.get("items"), dict) and found["items"] else None,
        any_of=[_schema(one, named) for one in found["anyOf"]] if "anyOf" in found else None,
        additional_properties=found["additionalProperties"]
        if isinstance(found.get("additionalProperties"), bool)
        else None,
    )
