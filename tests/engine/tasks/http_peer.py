"""A service to call over HTTP: one that answers well, and all the ways in which one does not."""

import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.egress import Egress
from penstock.engine.tasks.grpc.channels import Grpc
from penstock.engine.tasks.pool import Http
from penstock.engine.tasks.resources import Resources
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Limits, Work

# Seconds for a call that is to be given up once it has begun. Where a machine does not come to it in the first, the
# call is made again.
LIMITS = (2, 60)

# Made once, and only where it is needed: both take a while.
authorities = cache(ssl.create_default_context)


@cache
def bomb_of_zeros() -> bytes:
    return gzip.compress(b"0" * 50_000_000)


class Tools:
    def __init__(self, egress: Egress, limits: Limits, tls: ssl.SSLContext) -> None:
        self.egress = egress
        self.limits = limits
        self.http = Http(egress, limits, tls=tls)
        self.grpc = Grpc(egress, limits)
        self.resources = Resources()


class Said(list[str]):
    def __call__(self, level: str, message: str, **fields: Any) -> None:
        self.append(f"{level} {message} {fields}")


def said(work: Work) -> list[str]:
    assert isinstance(work.says, Said)
    return work.says


@asynccontextmanager
async def working(
    *,
    deny: tuple[str, ...] = (),
    secrets: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
    **limits: Any,
) -> AsyncIterator[Work]:
    tools: Any = Tools(Egress(deny), Limits(**limits), tls or authorities())
    work = Work(
        key="key-1",
        execution_id="0197",
        workflow="test/calls",
        task="call",
        secrets=Secrets(secrets or {}),
        says=Said(),
        tools=tools,
    )
    try:
        yield work
    finally:
        await tools.resources.close()
        await tools.grpc.close()
        await tools.http.close()


@contextmanager
def served(app: Any, **config: Any) -> Iterator[str]:
    """Where an ASGI application answers, in a thread of its own."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    # It does not hang up on whoever is about to ask for more, however long they take.
    keeping = config | {"timeout_keep_alive": 600}
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1, **keeping))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        scheme = "https" if config.get("ssl_certfile") else "http"
        yield f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


async def echo(request: Request) -> JSONResponse:
    return JSONResponse(
        {
            "method": request.method,
            "path": request.scope["raw_path"].decode(),
            "query": request.url.query,
            "headers": dict(request.headers),
            "body": (await request.body()).decode("latin-1"),
        }
    )


async def status(request: Request) -> Response:
    said = request.query_params.get("said", "what happened")
    return Response(said, request.path_params["status"], media_type="text/plain")


async def typed(request: Request) -> Response:
    """Answers with the body and content type that the query asks for."""
    return Response(bytes.fromhex(request.query_params["hex"]), headers={"Content-Type": request.query_params["type"]})


async def redirect(request: Request) -> RedirectResponse:
    return RedirectResponse(request.query_params["to"], int(request.query_params.get("status", "302")))


rounds: list[str] = []


async def around(request: Request) -> RedirectResponse:
    rounds.append(request.method)
    return RedirectResponse("/around", 302)


async def endless(request: Request) -> StreamingResponse:
    async def chunks() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65536
            await asyncio.sleep(0)  # where uvicorn learns that its caller is gone

    return StreamingResponse(chunks(), media_type="text/plain")


async def bomb(request: Request) -> Response:
    return Response(bomb_of_zeros(), headers={"Content-Encoding": "gzip"}, media_type="text/plain")


async def packed(request: Request) -> Response:
    members = gzip.compress(b'{"packed":') + gzip.compress(b"true}")
    cut = members[: int(request.query_params.get("cut", len(members)))]
    return Response(
        cut, headers={"Content-Encoding": request.query_params.get("as", "gzip")}, media_type="application/json"
    )


async def many_headers(request: Request) -> Response:
    return Response("", headers={f"X-{number}": "x" for number in range(10_000)})


class Slow:
    """Sends a byte now and then, and knows when its caller is gone."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.gone = threading.Event()

    async def __call__(self, request: Request) -> StreamingResponse:
        async def chunks() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"."
                    self.begun.set()
                    await asyncio.sleep(0.02)
            finally:
                self.gone.set()

        return StreamingResponse(chunks(), media_type="text/plain")


slow = Slow()

app = Starlette(
    routes=[
        Route("/status/{status:int}", status, methods=["GET", "POST"]),
        Route("/typed", typed),
        Route("/redirect", redirect, methods=["GET", "POST", "PUT"]),
        Route("/around", around),
        Route("/endless", endless),
        Route("/bomb", bomb),
        Route("/packed", packed),
        Route("/many-headers", many_headers),
        Route("/slow", slow.__call__),
        Route("/{path:path}", echo, methods=["GET", "POST", "PUT", "PATCH", "DELETE"]),
    ]
)
