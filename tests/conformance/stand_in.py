"""Services for workflows to call: a pet shop, an echo, answers of every status, and some that fail before they work.

Every run of a case has a first part of the path of its own (`/{run}/…`), so that what is counted is counted for it.
"""

import asyncio
import base64
import itertools
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.conformance.peers import Address, Peers
from tests.engine.tasks.grpc_peer import PROTO

_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_PETS = [
    {"id": 1, "name": "Rex", "status": "available"},
    {"id": 2, "name": "Tom", "status": "available"},
    {"id": 3, "name": "Polly", "status": "sold"},
]
_SCHEMA = {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}
_DOUBLE = """\
input:
  schema:
    document: {type: object, required: [number], properties: {number: {type: number}}}
set:
  doubled: ${ .number * 2 }
"""
_NOSY = """\
do:
  - ask:
      set: '${ {given: ., secrets: $secrets} }'
  - borrow:
      try:
        - send:
            call: http
            with: {method: get, endpoint: {uri: 'http://127.0.0.1:1', authentication: {bearer: {use: key}}}}
      catch:
        do: [{told: {set: '${ . + {title: $error.title} }'}}]
"""


class StandIn:
    def __init__(self, address: str, peers: Peers) -> None:
        self.address = address
        self._peers = peers
        self._runs = itertools.count(1)

    def for_run(self) -> Address:
        return Address.of(f"{self.address}/{next(self._runs)}", self._peers)


class _Services:
    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()

    def count(self, request: Request) -> int:
        self._calls[request.path_params["run"], request.path_params["key"]] += 1
        return self._calls[request.path_params["run"], request.path_params["key"]]

    async def counted(self, request: Request) -> Response:
        return JSONResponse({"count": self.count(request)})

    async def flaky(self, request: Request) -> Response:
        """503 as often as asked, then 200."""
        count = self.count(request)
        if count <= int(request.query_params.get("fails", 1)):
            return PlainTextResponse("not yet", int(request.query_params.get("status", 503)))
        return JSONResponse({"calls": count})


async def pet(request: Request) -> Response:
    found = next((each for each in _PETS if str(each["id"]) == request.path_params["id"]), None)
    return JSONResponse(found) if found is not None else JSONResponse({"message": "Pet not found"}, 404)


async def pets(request: Request) -> Response:
    wanted = request.query_params.getlist("status")
    return JSONResponse([each for each in _PETS if not wanted or each["status"] in wanted])


async def echo(request: Request) -> Response:
    body = (await request.body()).decode()
    try:
        content = json.loads(body) if body else None
    except ValueError:
        content = body
    return JSONResponse(
        {
            "method": request.method,
            "path": request.path_params.get("rest", ""),
            "query": [[name, value] for name, value in request.query_params.multi_items()],
            "headers": dict(request.headers),
            "body": content,
        }
    )


async def status(request: Request) -> Response:
    return PlainTextResponse(f"status {request.path_params['code']}", int(request.path_params["code"]))


async def slow(request: Request) -> Response:
    await asyncio.sleep(float(request.query_params["seconds"]))
    return JSONResponse({"slow": True})


async def basic(request: Request) -> Response:
    user, password = request.path_params["user"], request.path_params["password"]
    wanted = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
    if request.headers.get("Authorization") != wanted:
        return PlainTextResponse("who are you?", 401, {"WWW-Authenticate": 'Basic realm="stand-in"'})
    return JSONResponse({"authenticated": True, "user": user})


async def bearer(request: Request) -> Response:
    if request.headers.get("Authorization") != f"Bearer {request.path_params['token']}":
        return PlainTextResponse("who are you?", 401, {"WWW-Authenticate": "Bearer"})
    return JSONResponse({"authenticated": True})


async def redirect(request: Request) -> Response:
    return RedirectResponse(f"/{request.path_params['run']}/pet/1", 302)


async def token(request: Request) -> Response:
    """An authorization server's token endpoint, for one client."""
    form = await request.form()
    if (form.get("client_id"), form.get("client_secret")) != ("penstock", "client-secret"):
        return JSONResponse({"error": "invalid_client"}, 401)
    return JSONResponse(
        {"access_token": f"token-for-{form.get('grant_type')}", "token_type": "Bearer", "expires_in": 60}
    )


async def bytes_(_: Request) -> Response:
    return Response(b"\x00\x01\x02", media_type="application/octet-stream")


async def text(_: Request) -> Response:
    return PlainTextResponse("plain words")


async def schema(_: Request) -> Response:
    return JSONResponse(_SCHEMA)


async def function(_: Request) -> Response:
    return PlainTextResponse(_DOUBLE, media_type="application/yaml")


async def nosy(_: Request) -> Response:
    return PlainTextResponse(_NOSY, media_type="application/yaml")


async def script(_: Request) -> Response:
    return PlainTextResponse("import sys\nprint('fetched', *sys.argv[1:])\n", media_type="text/x-python")


async def openapi(request: Request) -> Response:
    return JSONResponse(
        {
            "openapi": "3.0.3",
            "info": {"title": "Pets", "version": "1"},
            "servers": [{"url": f"/{request.path_params['run']}"}],
            "paths": _paths({"schema": {"type": "string"}}, {"schema": {"type": "integer"}}),
        }
    )


async def swagger(request: Request) -> Response:
    return JSONResponse(
        {
            "swagger": "2.0",
            "info": {"title": "Pets", "version": "1"},
            "basePath": f"/{request.path_params['run']}",
            "host": request.headers["host"],
            "schemes": ["http"],
            "paths": _paths(
                {"type": "array", "items": {"type": "string"}, "collectionFormat": "multi"}, {"type": "integer"}
            ),
        }
    )


async def proto(_: Request) -> Response:
    return PlainTextResponse(PROTO.read_text())


async def asyncapi(request: Request) -> Response:
    """AsyncAPI 2.6: a channel is a path, or a topic of the brokers that the query names, which one group reads."""
    server = {"url": f"http://{request.headers['host']}/{request.path_params['run']}", "protocol": "http"}
    channels: dict[str, Any] = {"count/told": {}, "feed": {}}
    if (topic := request.query_params.get("topic")) is not None:
        server = {"url": request.query_params["brokers"], "protocol": "kafka"}
        said = {"bindings": {"kafka": {"key": {"location": "$message.payload#/to"}}}}
        heard = {"bindings": {"kafka": {"groupId": topic}}}
        named = {"kafka": {"topic": topic}}
        channels = {"told": {"bindings": named, "publish": {"message": said}, "subscribe": heard}}
    return JSONResponse({"asyncapi": "2.6.0", "servers": {"main": server}, "channels": channels})


async def feed(_: Request) -> Response:
    events = "".join(f'id: {number}\ndata: {{"number": {number}}}\n\n' for number in range(3))
    return Response(events, media_type="text/event-stream")


def _paths(words: dict[str, Any], number: dict[str, Any]) -> dict[str, Any]:
    answers = {"200": {"description": "found"}}
    return {
        "/pet/findByStatus": {
            "get": {
                "operationId": "findPetsByStatus",
                "parameters": [{"name": "status", "in": "query", "required": True, **words}],
                "responses": answers,
            }
        },
        "/pet/{petId}": {
            "get": {
                "operationId": "getPetById",
                "parameters": [{"name": "petId", "in": "path", "required": True, **number}],
                "responses": answers,
            }
        },
    }


def application() -> Starlette:
    services = _Services()
    routes = {
        "pet/findByStatus": pets,
        "pet/{id}": pet,
        "pet/getPetByName/{name}": status404,
        "pets": pets,
        "echo": echo,
        "echo/{rest:path}": echo,
        "status/{code:int}": status,
        "slow": slow,
        "flaky/{key}": services.flaky,
        "count/{key}": services.counted,
        "basic-auth/{user}/{password}": basic,
        "bearer/{token}": bearer,
        "oauth2/token": token,
        "redirect": redirect,
        "bytes": bytes_,
        "text": text,
        "schema.json": schema,
        "function.yaml": function,
        "nosy.yaml": nosy,
        "catalog/functions/double/1.0.0/function.yaml": function,
        "script.py": script,
        "openapi.json": openapi,
        "swagger.json": swagger,
        "reports.proto": proto,
        "asyncapi.json": asyncapi,
        "feed": feed,
    }
    return Starlette(routes=[Route(f"/{{run}}/{path}", answer, methods=_METHODS) for path, answer in routes.items()])


async def status404(_: Request) -> Response:
    return JSONResponse({"message": "no such pet"}, 404)


@contextmanager
def stand_in() -> Iterator[StandIn]:
    """The services, in a thread of their own."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(application(), log_level="critical", timeout_graceful_shutdown=1, timeout_keep_alive=600)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    with TemporaryDirectory() as folder, closing(Peers(Path(folder))) as peers:
        try:
            yield StandIn(f"http://127.0.0.1:{listener.getsockname()[1]}", peers)
        finally:
            server.should_exit = True
            thread.join()
            listener.close()
