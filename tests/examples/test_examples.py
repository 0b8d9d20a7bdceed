"""The examples do what their first lines say."""

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from penstock.storage import Database
from tests.accounts.steps import ADA, PASSWORD, cookie_of, rows, sign_in, sign_up, who
from tests.conftest import Serve, client_of, started

pytestmark = pytest.mark.anyio


@pytest.fixture
def example(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """An example, loaded anew with a database of this test."""
    monkeypatch.setenv("ACCOUNTS_DATABASE", database_url)

    def load(name: str) -> ModuleType:
        return importlib.reload(importlib.import_module(f"examples.{name}"))

    return load


Example = Callable[[str], ModuleType]


async def test_accounts_in_a_host_of_their_own(example: Example) -> None:
    host: Any = example("mounted_in_starlette").app
    async with started(host), client_of(host, base_url="http://shop.example") as client:
        assert (await client.get("/basket")).status_code == 401
        await sign_up(client)
        assert (await client.get("/basket")).json() == {"basket_of": ADA}
        assert (await client.get("/user/nothing")).status_code == 404


async def test_accounts_in_a_host_start_with_their_first_request_too(example: Example) -> None:
    module = example("mounted_in_starlette")
    async with client_of(module.app, base_url="http://shop.example") as client:
        await sign_up(client)
        assert await who(client) == ADA
    async with module.accounts.running():
        pass


async def test_a_customer_comes_and_goes_with_the_account(example: Example, serve: Serve, database: Database) -> None:
    module = example("hooks")
    await module.create_table(database)
    async with serve(hooks=module.hooks) as client:
        assert (await sign_up(client)).json() == {
            "userid": 1,
            "email": ADA,
            "methods": [],
            "newAccount": True,
            "tier": "new",
            "visits": 0,
        }
        await sign_in(client)
        assert (await client.get("/user/get")).json()["visits"] == 1
        refused = await client.post("/user/create", data={"email": "spy@rival.example", "password": PASSWORD})
        assert (refused.status_code, refused.json()["detail"]) == (403, "we do not sell to rivals")
        assert len(await rows(database, "SELECT 1 FROM accounts")) == 1
        assert len(await rows(database, "SELECT 1 FROM customers")) == 1


async def test_a_front_end_elsewhere_may_sign_in_and_no_other(example: Example) -> None:
    app = example("cors_front_end").app
    async with started(app), client_of(app, base_url="https://accounts.example.com") as client:
        ours = {"origin": "https://app.example.com", "sec-fetch-site": "same-site"}
        preflight = await client.options("/user/auth", headers=ours | {"access-control-request-method": "POST"})
        assert preflight.headers["access-control-allow-origin"] == "https://app.example.com"
        assert preflight.headers["access-control-allow-credentials"] == "true"
        fields = {"email": ADA, "password": PASSWORD, "signin": "1"}
        answer = await client.post("/user/create", data=fields, headers=ours)
        assert answer.headers["access-control-allow-origin"] == "https://app.example.com"
        assert cookie_of(answer).endswith("; Secure")
        theirs = {"origin": "https://app.example.net"}
        answer = await client.post("/user/auth", data=fields, headers=theirs)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


async def test_a_proxy_says_where_we_are_and_a_stranger_does_not(example: Example) -> None:
    app = example("behind_proxy").app
    headers = {
        "host": "10.0.0.3:8080",
        "x-forwarded-for": "203.0.113.9",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "shop.example",
    }
    async with started(app):
        for address, base in (("10.0.0.2", "https://shop.example"), ("203.0.113.7", "http://10.0.0.3:8080")):
            async with client_of(app, address=address) as client:
                answer = await client.get("/user/oauth/login/provider_b", headers=headers)
                assert callback_of(answer) == f"{base}/user/oauth/callback/provider_b"
                answer = await client.get("/user/signout", headers=headers)
                assert cookie_of(answer).endswith("; Secure") is (address == "10.0.0.2")


def callback_of(answer: httpx.Response) -> str:
    assert answer.status_code == 302, answer.text
    return parse_qs(urlsplit(answer.headers["location"]).query)["redirect_uri"][0]
