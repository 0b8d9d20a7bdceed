"""What the OpenAPI document says of routes whose bodies Litestar cannot see: forms, and answers with cookies."""

from dataclasses import dataclass
from typing import Any

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
