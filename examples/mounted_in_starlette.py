"""A web application of one's own, with Penstock's accounts under `/user/` and a page for who is signed in.

    uvicorn examples.mounted_in_starlette:app

The accounts have a database of their own. They start and end with the host, through `running()`; a host without a
lifespan may leave that out, and they start with their first request.
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from penstock.app import create_accounts_app
from penstock.settings import load

settings = load(
    environ={},
    overrides={
        "database": os.environ.get("ACCOUNTS_DATABASE", "sqlite:///var/accounts.db"),
        # The reset mail leads to a page of ours, which posts the token and a new password to /user/resetpassword.
        "reset_url": "https://shop.example/new-password",
    },
).settings
accounts = create_accounts_app(settings)


@asynccontextmanager
async def lifespan(_: Starlette) -> AsyncIterator[None]:
    async with accounts.running():
        yield


async def basket(request: Request) -> JSONResponse:
    """A page for signed-in users: the visitor's cookie is shown to the accounts, which say whose it is."""
    transport = httpx.ASGITransport(accounts)
    async with httpx.AsyncClient(transport=transport, base_url=str(request.base_url)) as inside:
        answer = await inside.get("/user/get", headers={"cookie": request.headers.get("cookie", "")})
    if answer.status_code != 200:
        return JSONResponse({"detail": "sign in first"}, status_code=401)
    return JSONResponse({"basket_of": answer.json()["email"]})


app = Starlette(routes=[Route("/basket", basket), Mount("/user", accounts)], lifespan=lifespan)
