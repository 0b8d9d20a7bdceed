"""What the OpenAPI document says of routes whose bodies Litestar cannot see: forms, and answers with cookies."""

from dataclasses import dataclass
from typing import Any

import msgspec
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example, OpenAPIMediaType, Operation, Parameter, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIFormat, OpenAPIType
from msgspec import UNSET, Struct, UnsetType

from penstock.problems import FieldError, Problem

# By name: an example, and what it means.
Fields = dict[str, tuple[Any, str]]
Choices = dict[str, tuple[str, ...]]
PAGING: Fields = {"page": (1, "From 1."), "page_size": (50, "1 to 100.")}
PERIOD: Fields = {
    "since": ("2026-01-01T00:00:00Z", "Created then or later."),
    "until": ("2026-02-01T00:00:00Z", "Created before."),
}
FORCE: Fields = {"force": ("true", "Cancel what runs inside, and delete.")}


class ProblemDetails(Struct, omit_defaults=True):
    """RFC 9457. `detail` is for a person; the request's id is in `instance` and in the header X-Request-ID."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    errors: list[FieldError] | UnsetType = UNSET


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


def listed(kind: type[Struct], description: str, example: Any) -> dict[int, ResponseSpec]:
    """What a list answers: a page of things of this kind."""
    members = [("items", list[kind]), ("total", int), ("page", int), ("page_size", int)]  # type: ignore[valid-type]
    page = msgspec.defstruct(f"{kind.__name__}Page", members)
    return {200: answer(page, description, {"items": [example], "total": 1, "page": 1, "page_size": 50})}


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
    shown = required or dict(list(fields.items())[:1])
    example = {name: value for name, (value, _) in shown.items()}
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


def query(
    fields: Fields, *, required: bool = False, choices: Choices | None = None, heeds: Fields | None = None
) -> type[Operation]:
    """An operation that takes these parameters in its query (some from a few choices), and heeds these headers."""

    @dataclass
    class QueryOperation(Operation):
        def __post_init__(self) -> None:
            own = [*query_parameters(fields, required=required, choices=choices), *headers(heeds or {})]
            self.parameters = [*(self.parameters or []), *own]

    return QueryOperation


def query_parameters(fields: Fields, *, required: bool = False, choices: Choices | None = None) -> list[Any]:
    return [
        Parameter(
            name=name,
            param_in="query",
            description=text,
            required=required,
            schema=_parameter_schema(name, example, (choices or {}).get(name)),
        )
        for name, (example, text) in fields.items()
    ]


def _parameter_schema(name: str, example: Any, choices: tuple[str, ...] | None = None) -> Schema:
    if name in PAGING:
        most = 100 if name == "page_size" else 1_000_000
        return Schema(type=OpenAPIType.INTEGER, minimum=1, maximum=most, default=example, examples=[example])
    return Schema(
        type=OpenAPIType.STRING,
        format=OpenAPIFormat.DATE_TIME if name in PERIOD else None,
        enum=choices,
        examples=[example],
    )


def headers(fields: Fields) -> list[Parameter]:
    """Headers that an operation heeds."""
    return [
        Parameter(name=name, param_in="header", description=text, schema=_parameter_schema(name, example))
        for name, (example, text) in fields.items()
    ]


def json_body(
    kind: type[Struct], example: Any, *, required: bool = True, heeds: Fields | None = None
) -> type[Operation]:
    """An operation that takes a JSON body of exactly these members, and heeds these headers."""
    made = msgspec.json.schema(kind, ref_template="{name}")
    body = RequestBody(
        content={"application/json": OpenAPIMediaType(schema=_schema(made, made.get("$defs", {})), example=example)},
        required=required,
    )

    @dataclass
    class BodyOperation(Operation):
        def __post_init__(self) -> None:
            self.request_body = body
            self.parameters = [*(self.parameters or []), *headers(heeds or {})]

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
