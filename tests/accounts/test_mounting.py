"""Accounts alone, inside another application: at `/user`, under another prefix, at the root."""

from collections.abc import Callable

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from penstock.app import create_accounts_app
from penstock.settings import Settings
from tests.accounts.steps import ADA, sign_in, sign_up
from tests.conftest import client_of

pytestmark = pytest.mark.anyio
PROVIDER = {
    "client_id": "id",
    "client_secret": "secret",
    "kind": "oauth2",
    "auth_url": "https://provider.example/authorize",
    "token_url": "https://provider.example/token",
    "user_info_url": "https://provider.example/me",
}


@pytest.mark.parametrize(("mount", "prefix"), [("/user", ""), ("/site", "/site"), ("/a/b", "/a/b"), ("", "")])
async def test_accounts_answer_wherever_they_are_mounted(
    settings_with: Callable[..., Settings], mount: str, prefix: str
) -> None:
    accounts = create_accounts_app(settings_with(oauth_providers={"own": PROVIDER}))
    host = Starlette(routes=[Mount(mount, accounts)])
    async with accounts.running(), client_of(host, base_url=f"http://shop.example{prefix}") as client:
        await sign_up(client)
        answer = await client.get("/user/get")
        assert answer.json()["email"] == ADA
        assert (await client.get("/user/none")).headers["content-type"] == "application/problem+json"
        refused = await sign_in(client, password="wrong horse")
        assert refused.headers["status"] == "wrong email or password"
        login = await client.get("/user/oauth/login/own")
        callback = httpx.URL(login.headers["location"]).params["redirect_uri"]
        assert callback == f"http://shop.example{prefix}/user/oauth/callback/own"
        foreign = await client.get("/user/signout", headers={"origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert (await client.get("/project")).status_code == 404


async def test_it_can_be_stopped_and_started_again(settings_with: Callable[..., Settings]) -> None:
    accounts = create_accounts_app(settings_with())
    for _ in range(2):
        async with accounts.running(), client_of(accounts) as client:
            if (await sign_in(client)).status_code == 401:
                await sign_up(client)
    async with accounts.running(), client_of(accounts) as client:
        assert (await sign_in(client)).status_code == 200
