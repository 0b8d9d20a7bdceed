"""`call: openapi`: what a document says of an operation becomes a request that a real server gets."""

from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route

from penstock.engine.faults import STANDARD, Error, Fault
from penstock.engine.tasks import openapi
from penstock.engine.tasks.work import Work

from .http_peer import app as echoing
from .http_peer import served, working

pytestmark = pytest.mark.anyio

OPENAPI = """
openapi: 3.1.0
info: {title: Pets, version: '1'}
servers:
  - url: /{version}/base
    variables: {version: {default: v1}}
paths:
  /pets/{id}:
    parameters:
      - $ref: '#/components/parameters/Id'
    get:
      operationId: getPet
      parameters:
        - {name: tag, in: query, schema: {type: array}}
        - {name: csv, in: query, explode: false}
        - {name: pipes, in: query, style: pipeDelimited, explode: false}
        - {name: filter, in: query, style: deepObject}
        - {name: where, in: query, content: {application/json: {}}}
        - {name: X-List, in: header}
        - {name: session, in: cookie}
        - {name: Accept, in: header}
    put:
      operationId: putPet
      requestBody:
        required: true
        content:
          multipart/form-data: {}
          application/json:
            schema:
              allOf:
                - $ref: '#/components/schemas/Pet'
                - {type: object, properties: {age: {type: integer}}}
  /styles/{matrix}/{label}/{simple}:
    servers: [{url: 'elsewhere'}]
    get:
      operationId: styles
      parameters:
        - {name: matrix, in: path, required: true, style: matrix, explode: true}
        - {name: label, in: path, required: true, style: label}
        - {name: simple, in: path, required: true, explode: true}
  /things:
    post:
      operationId: addThings
      requestBody: {content: {application/json: {schema: {type: array}}}}
    put:
      operationId: nameThing
      requestBody: {required: true, content: {application/json: {schema: {type: string}}}}
    patch:
      operationId: sendForm
      requestBody: {content: {application/x-www-form-urlencoded: {schema: {properties: {a: {}, b: {}}}}}}
    delete:
      operationId: upload
      requestBody: {content: {multipart/form-data: {}}}
components:
  parameters:
    Id: {name: id, in: path, required: true}
  schemas:
    Pet:
      type: object
      required: [id, name, born]
      properties: {id: {}, name: {type: string}, born: {type: string, readOnly: true}}
"""

SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "basePath": "/v2",
    "consumes": ["application/xml", "application/json"],
    "paths": {
        "/pet": {
            "post": {
                "operationId": "addPet",
                "parameters": [
                    {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}}
                ],
            }
        },
        "/pet/findByStatus": {
            "get": {
                "operationId": "findPetsByStatus",
                "parameters": [
                    {"name": "status", "in": "query", "required": True, "collectionFormat": "multi", "type": "array"},
                    {"name": "ids", "in": "query", "collectionFormat": "ssv", "type": "array"},
                ],
            }
        },
        "/pet/{petId}": {
            "post": {
                "operationId": "updatePet",
                "consumes": ["application/x-www-form-urlencoded"],
                "parameters": [
                    {"name": "petId", "in": "path", "required": True, "type": "integer"},
                    {"name": "name", "in": "formData", "required": True, "type": "string"},
                    {"name": "status", "in": "formData", "type": "string"},
                ],
            }
        },
    },
    "definitions": {"Pet": {"type": "object", "properties": {"name": {}, "tags": {}}}},
}

BROKEN = {
    "text": "not: [a document",
    "no-version": '{"paths": {}}',
    "circle": '{"openapi": "3.0.0", "paths": {"/": {"$ref": "#/a"}}, "a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}}',
    "outside": '{"openapi": "3.0.0", "paths": {"/": {"$ref": "http://127.0.0.1/x.json"}}}',
    "nowhere": '{"openapi": "3.0.0", "paths": {"/": {"$ref": "#/paths/x"}}}',
    "list": "[1]",
    "schemas": '{"openapi": "3.0.0", "paths": {"/": {"get": {"operationId": "x", "requestBody": {"content": '
    '{"application/json": {"schema": {"$ref": "#/s"}}}}}}}, "s": {"allOf": [{"$ref": "#/s"}]}}',
    "unplaced": '{"openapi": "3.0.0", "paths": {"/{a}": {"get": {"operationId": "x"}}}}',
    "wrong": '{"openapi": "3.0.0", "paths": {"/": {"get": {"operationId": "x", "parameters": [{"in": "query"}]}}}}',
    "server": '{"openapi": "3.0.0", "servers": [{"url": "{x}"}], "paths": {"/": {"get": {"operationId": "x"}}}}',
}
fetched: list[str] = []


async def document(request: Request) -> Response:
    name = request.path_params["name"]
    fetched.append(name)
    if name == "swagger.json":
        return JSONResponse(SWAGGER)
    return Response(BROKEN.get(name, OPENAPI), media_type="application/yaml")


@pytest.fixture(scope="module")
def peer() -> Iterator[str]:
    routes = [Route("/documents/{name}", document), Mount("/", echoing)]
    with served(Starlette(routes=routes)) as url:
        yield url


async def called(work: Work, place: str, operation: str, parameters: Any = None, **more: Any) -> Any:
    resource = {"endpoint": {"uri": place}}
    arguments = {"document": resource, "operationId": operation, "parameters": parameters, **more}
    return (await openapi.perform(arguments, work)).output


async def fault(work: Work, place: str, operation: str, parameters: Any = None) -> Error:
    with pytest.raises(Fault) as raised:
        await called(work, place, operation, parameters)
    return raised.value.error


async def test_parameters_go_where_the_operation_wants_them(peer: str) -> None:
    parameters = {
        "id": "a/b", "tag": ["x", "y z"], "csv": [1, 2], "pipes": ["p", "q"], "filter": {"a": {"b": True}, "c": [1, 2]},
        "where": {"n": 1}, "X-List": ["l", "m"], "session": "s;1",
    }  # fmt: skip
    async with working() as work:
        sent = await called(work, f"{peer}/documents/pets.yaml", "getPet", parameters)
    assert (sent["method"], sent["path"]) == ("GET", "/v1/base/pets/a%2Fb")
    assert sent["query"] == (
        "tag=x&tag=y+z&csv=1%2C2&pipes=p%7Cq&filter%5Ba%5D%5Bb%5D=true&filter%5Bc%5D=1&filter%5Bc%5D=2"
        "&where=%7B%22n%22%3A1%7D"
    )
    assert (sent["headers"]["x-list"], sent["headers"]["cookie"]) == ("l,m", "session=s%3B1")
    assert sent["headers"]["idempotency-key"] == "key-1"


async def test_styles_of_a_path_and_a_server_of_its_own(peer: str) -> None:
    parameters = {"matrix": ["1", "2"], "label": ["a", "b"], "simple": {"k": "v", "l": "w"}}
    async with working() as work:
        sent = await called(work, f"{peer}/documents/pets.yaml", "styles", parameters)
    assert sent["path"] == "/documents/elsewhere/styles/;matrix=1;matrix=2/.a,b/k=v,l=w"


@pytest.mark.parametrize(
    ("operation", "parameters", "body"),
    [
        ("putPet", {"id": 7, "name": "Milou", "age": 3}, '{"id":7,"name":"Milou","age":3}'),
        ("putPet", {"id": 7, "body": {"any": "thing"}}, '{"any":"thing"}'),
        ("addThings", {"body": [1, 2]}, "[1,2]"),
        ("addThings", None, ""),
        ("nameThing", {"body": "a name"}, '"a name"'),
        ("sendForm", {"a": [1, 2], "b": "x y"}, "a=1&a=2&b=x+y"),
    ],
)
async def test_a_body_is_given_whole_or_by_its_members(peer: str, operation: str, parameters: Any, body: str) -> None:
    async with working() as work:
        sent = await called(work, f"{peer}/documents/pets.yaml", operation, parameters)
    assert sent["body"] == body


async def test_swagger_two_is_understood_too(peer: str) -> None:
    place = f"{peer}/documents/swagger.json"
    async with working() as work:
        found = await called(work, place, "findPetsByStatus", {"status": ["a", "b"], "ids": [1, 2]})
        whole = await called(work, place, "addPet", {"pet": {"name": "x"}})
        members = await called(work, place, "addPet", {"name": "x"})
        form = await called(work, place, "updatePet", {"petId": 1, "name": "a b"})
        missing = await fault(work, place, "addPet", {})
    assert (found["path"], found["query"]) == ("/v2/pet/findByStatus", "status=a&status=b&ids=1+2")
    assert whole["body"] == members["body"] == '{"name":"x"}'
    assert whole["headers"]["content-type"] == "application/json"
    assert (form["path"], form["body"]) == ("/v2/pet/1", "name=a+b")
    assert "pet" in str(missing.detail)


@pytest.mark.parametrize(
    ("operation", "parameters", "says"),
    [
        ("getPets", {}, "it has: addThings, getPet, nameThing, putPet"),
        ("getPet", {}, "needs id"),
        ("getPet", {"id": None}, "needs id"),
        ("getPet", {"id": 1, "tags": "x"}, "no parameter 'tags'; it has: id, tag, csv"),
        ("getPet", {"id": ".."}, "is only dots"),
        ("getPet", {"id": ""}, "stands in a path"),
        ("putPet", {"id": 1}, "needs name"),
        ("putPet", {"id": 1, "nmae": "x"}, "it has: id, name, born, age"),
        ("putPet", {"id": 1, "body": {}, "name": "x"}, "beside 'body'"),
        ("nameThing", {}, "needs body"),
        ("upload", {}, "multipart"),
        ("getPet", [1], "`parameters` must be an object"),
    ],
)
async def test_what_does_not_fit_is_said_with_what_would(peer: str, operation: str, parameters: Any, says: str) -> None:
    async with working() as work:
        error = await fault(work, f"{peer}/documents/pets.yaml", operation, parameters)
    assert error.status == 400
    assert says in str(error.detail)


@pytest.mark.parametrize("name", sorted(BROKEN))
async def test_a_broken_document_is_a_fault_of_validation(peer: str, name: str) -> None:
    async with working() as work:
        error = await fault(work, f"{peer}/documents/{name}", "x")
    assert error.type == STANDARD + "validation"


async def test_a_document_is_fetched_once_for_many_calls_and_the_task_authenticates(peer: str) -> None:
    place = f"{peer}/documents/once.yaml"
    async with working() as work:
        for _ in range(3):
            sent = await called(work, place, "getPet", {"id": 1}, authentication={"bearer": {"token": "t"}})
            assert sent["headers"]["authorization"] == "Bearer t"
        response = await called(work, place, "getPet", {"id": 1}, output="response")
    assert response["statusCode"] == 200
    assert fetched.count("once.yaml") == 1
