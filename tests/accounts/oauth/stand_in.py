"""What stands in for services that cannot be had here: it gives the answers that they document."""

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import httpx

from penstock.accounts.oauth import Identity, OAuthClient
from penstock.settings import Kind, OAuthProvider, Secret

from .forge import CALLBACK

Answers = dict[str, Any]


class Service:
    """Answers by host and path, with JSON or a (status, JSON) pair, and remembers what it was asked."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.requests: dict[str, httpx.Request] = {}
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = f"{request.url.host}{request.url.path}"
        self.requests[path] = request
        answer = self.answers.get(path, (404, {"message": "Not Found"}))
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return httpx.Response(status, json=body)


def configured(kind: Kind, **more: Any) -> OAuthProvider:
    return OAuthProvider(kind=kind, **{"client_id": "1234", "client_secret": Secret("hush"), **more})


Serve = Callable[[Answers], Service]


async def come_back(client: OAuthClient) -> Identity:
    _, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    return await client.finish("peer", pending, code="code", state=pending.state)


def basic(request: httpx.Request) -> str:
    return base64.b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()


def form(request: httpx.Request) -> dict[str, str]:
    return dict(parse_qsl(request.content.decode()))


TOKENS = {"access_token": "access", "token_type": "bearer"}
