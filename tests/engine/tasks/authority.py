"""An authority and a service that believes it, in one application, which remembers what it was asked."""

import asyncio
from base64 import b64decode
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class Authority:
    """Each token is good until `revoke`. `answer` is what it says besides the token."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.good = ""
        self.served = 0
        self.answer: dict[str, Any] = {"expires_in": 3600}
        self.refuse: tuple[int, Any] | None = None
        self.slow = 0.0
        self.app = Starlette(
            routes=[
                Route("/realm/oauth2/token", self.token, methods=["POST"]),
                Route("/realm/other", self.token, methods=["POST"]),
                Route("/realm/.well-known/openid-configuration", self.configuration),
                Route("/service", self.service, methods=["GET", "POST"]),
            ]
        )

    def revoke(self) -> None:
        self.good = ""

    async def token(self, request: Request) -> Response:
        body = await request.body()
        kind = request.headers["content-type"]
        self.asked.append(await request.json() if kind == "application/json" else parse_qs(body.decode()))
        self.headers.append(dict(request.headers))
        await asyncio.sleep(self.slow)
        if self.refuse is not None:
            return JSONResponse(self.refuse[1], self.refuse[0])
        self.good = f"token-{len(self.asked)}"
        return JSONResponse({"access_token": self.good, "token_type": "bearer", **self.answer})

    async def configuration(self, request: Request) -> Response:
        base = str(request.base_url) + "realm"
        return JSONResponse({"issuer": base, "token_endpoint": f"{base}/other"})

    async def service(self, request: Request) -> Response:
        self.served += 1
        good = request.headers.get("authorization") == f"Bearer {self.good}"
        return JSONResponse({"you": request.headers.get("authorization")}, 200 if good else 401)


def basic_pair(header: str) -> str:
    return b64decode(header.removeprefix("Basic ")).decode()
