"""A stand-in for the services that the examples call: it answers as a case's `routes` say, and remembers requests."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


class StandIn:
    def __init__(self, address: str) -> None:
        self.address = address
        self.requests: list[str] = []
        self.bodies: dict[str, Any] = {}
        self._routes: dict[str, list[dict[str, Any]]] = {}

    def expect(self, routes: dict[str, list[dict[str, Any]]]) -> None:
        """Each route's answers in their order; the last one is given again and again."""
        self.requests, self.bodies = [], {}
        self._routes = {route: list(answers) for route, answers in routes.items()}

    async def answer(self, request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        route = f"{request.method} {request.url.path}{query}"
        self.requests.append(route)
        if body := await request.body():
            self.bodies[route] = json.loads(body)
        answers = self._routes.get(route)
        if not answers:
            return JSONResponse({"error": f"no such route: {route}"}, 404)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer["body"] is None:
            return Response(status_code=answer["status"])
        return JSONResponse(answer["body"], answer["status"])


@contextmanager
def standing_in() -> Iterator[StandIn]:
    listener = socket.create_server(("127.0.0.1", 0))
    stand_in = StandIn(f"http://127.0.0.1:{listener.getsockname()[1]}")
    app = Starlette(routes=[Route("/{path:path}", stand_in.answer, methods=_METHODS)])
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield stand_in
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
