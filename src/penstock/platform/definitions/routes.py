"""POST /definitions/check, GET /definitions/schema and /definitions/templates: what editors ask for."""

from functools import lru_cache
from hashlib import sha256
from typing import Any

import msgspec
from litestar import Request, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.openapi.spec import Example
from msgspec import Struct

from penstock.dsl.schema import json_schema
from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json
from penstock.http.openapi import Fields, answer, json_body, problems, query
from penstock.platform.access import access_of, guard
from penstock.platform.definitions import rules
from penstock.platform.definitions.templates import Template, templates
from penstock.platform.parts import parts_of
from penstock.platform.workflows.shown import DEFINITION

Req = Request[Any, Any, Any]
_TAGS = ["definitions"]
_IF_NONE_MATCH: Fields = {"If-None-Match": ('"2f1c…"', "The ETag of an earlier answer: 304 when it still is this one.")}
_NODE = {"id": "n1", "kind": "set", "label": "hello", "reference": "/do/0/hello", "parent": None, "group": False}
_EXAMINED = {
    "valid": True,
    "errors": [],
    "graph": {
        "nodes": [_NODE | {"line": 7, "end_line": 9}],
        "edges": [{"source": "begin", "target": "n1", "label": "", "dashed": False}],
    },
    "document": {"dsl": "1.0.0", "namespace": "shop", "name": "greet", "version": "0.1.0"},
    "input_schema": None,
    "schedule": None,
}
_TEMPLATE = {
    "name": "hello",
    "title": "A greeting",
    "summary": "Says hello to whoever is named in its input.",
    "config_yaml": DEFINITION,
}


class Definition(Struct, forbid_unknown_fields=True):
    config_yaml: str


class Templates(Struct):
    items: list[Template]


@post(
    "/definitions/check",
    status_code=200,
    before_request=guard,
    tags=_TAGS,
    summary="Check a definition, and see what it would do",
    description="Nothing is stored. `errors` has warnings too; only those of severity `error` make it invalid. "
    "`graph`, `document`, `input_schema` and `schedule` are null when it is not valid, `graph` also when it has more "
    "than 5,000 parts. A node's `reference` is that of its task's steps; a group holds the nodes whose `parent` it is.",
    operation_class=json_body(Definition, {"config_yaml": DEFINITION}),
    responses={200: answer(rules.Examined, "What is wrong with it, and what it is.", _EXAMINED)}
    | problems((400, "The body is not valid."), (401, "Not signed in."), (413, "config_yaml is over 256 KiB.")),
)
async def check(request: Req) -> Answer:
    body = await read_json(request, Definition)
    return json(await rules.examine(parts_of(request), access_of(request).caller.id, body.config_yaml))


@get(
    "/definitions/schema",
    before_request=guard,
    tags=_TAGS,
    summary="The JSON Schema of definitions, for editors",
    operation_class=query({}, heeds=_IF_NONE_MATCH),
    responses={
        200: ResponseSpec(
            dict[str, Any],
            description="The schema (draft 2020-12), with its ETag.",
            media_type="application/schema+json",
            generate_examples=False,
            examples=[Example(value={"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"})],
        ),
        304: ResponseSpec(None, description="It is the one that you have."),
    },
)
async def schema(request: Req) -> Answer:
    body, etag = _schema()
    headers = {"etag": etag, "cache-control": "public, max-age=300"}
    known = {tag.strip().removeprefix("W/") for tag in call_of(request).header(b"if-none-match").split(",")}
    if etag in known or "*" in known:
        return Answer(304, b"", "", headers)
    return Answer(200, body, "application/schema+json", headers)


@lru_cache(maxsize=1)
def _schema() -> tuple[bytes, str]:
    body = msgspec.json.encode(json_schema())
    return body, f'"{sha256(body).hexdigest()[:32]}"'


@get(
    "/definitions/templates",
    before_request=guard,
    tags=_TAGS,
    summary="Definitions to begin with",
    description="Those that this server may run, the simplest first.",
    responses={200: answer(Templates, "All of them.", {"items": [_TEMPLATE]})} | problems((401, "Not signed in.")),
)
async def list_templates(request: Req) -> Answer:
    return json(Templates(templates(frozenset(parts_of(request).settings.processes))))


HANDLERS = [check, schema, list_templates]
