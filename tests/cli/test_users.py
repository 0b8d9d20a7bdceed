"""`penstock users`: accounts are listed, shut and opened again on the configured database."""

import asyncio
import json
from collections.abc import Callable

import httpx
import pytest

from penstock.cli.errors import CommandError
from penstock.cli.users import activate, deactivate, list_
from tests.platform.people import API, PASSWORD, register

pytestmark = pytest.mark.anyio
Capture = pytest.CaptureFixture[str]
LOGIN = {"email": "ann@example.com", "password": PASSWORD}


@pytest.fixture
def said(capsys: Capture) -> Callable[[], str]:
    capsys.readouterr()
    return lambda: capsys.readouterr().out


async def test_accounts_are_listed_in_the_order_in_which_they_came(
    client: httpx.AsyncClient, database_url: str, said: Callable[[], str]
) -> None:
    await asyncio.to_thread(list_, database=database_url)
    assert said().endswith("There are no accounts yet.\n")
    await asyncio.to_thread(list_, as_json=True, database=database_url)
    assert said() == ""
    await client.post("/user/create", data={"email": "zoe@example.com", "password": PASSWORD})
    await register(client, "ann")
    await asyncio.to_thread(deactivate, "zoe@example.com", database=database_url)
    said()
    await asyncio.to_thread(list_, database=database_url)
    zoe, ann = [line.strip() for line in said().splitlines() if "@" in line]
    assert zoe == "1  zoe@example.com  last sign-in never  (deactivated)"
    assert ann.startswith("2  ann@example.com  last sign-in 20")
    assert not ann.endswith("(deactivated)")
    await asyncio.to_thread(list_, as_json=True, database=database_url)
    lines = [json.loads(line) for line in said().splitlines() if line.startswith("{")]
    assert [(one["userid"], one["email"], one["active"]) for one in lines] == [
        (1, "zoe@example.com", False),
        (2, "ann@example.com", True),
    ]
    assert PASSWORD not in json.dumps(lines)


async def test_a_deactivated_account_is_out_at_once_at_both_doors_until_it_is_activated(
    client: httpx.AsyncClient, database_url: str, said: Callable[[], str]
) -> None:
    ann, bob = await register(client, "ann"), await register(client, "bob")
    company = await bob.made("/companies", {"name": "Acme"})
    await bob.made(f"/companies/{company['id']}/members", {"email": ann.email, "role": "editor"})
    assert (await client.post("/user/auth", data=LOGIN)).status_code == 200
    assert (await ann.get("/auth/me")).status_code == (await client.get("/user/get")).status_code == 200

    # However it is written.
    await asyncio.to_thread(deactivate, " Ann@Example.COM ", database=database_url)
    assert "is deactivated: every session has ended" in said()
    assert (await ann.get("/auth/me")).status_code == (await client.get("/user/get")).status_code == 401
    refresh = {"refresh_token": ann.tokens["refresh_token"]}
    assert (await client.post(f"{API}/auth/refresh", json=refresh)).status_code == 401
    assert (await client.post("/user/auth", data=LOGIN)).status_code == 401
    assert (await client.post(f"{API}/auth/login", json=LOGIN)).status_code == 401
    assert (await bob.get("/auth/me")).status_code == 200

    await asyncio.to_thread(activate, ann.email, database=database_url)
    assert said().endswith("ann@example.com can sign in again.\n")
    assert (await ann.get("/auth/me")).status_code == 401, "what has ended stays ended"
    assert (await client.post(f"{API}/auth/login", json=LOGIN)).status_code == 200
    log = (await bob.get(f"/companies/{company['id']}/audit?resource_type=user")).json()["items"]
    assert [
        (entry["action"], entry["user_id"], entry["user_agent"]) for entry in log if entry["action"].startswith("user.")
    ] == [
        ("user.activate", None, "penstock users"),
        ("user.deactivate", None, "penstock users"),
    ]


@pytest.mark.parametrize("email", ["nobody@example.com", "no email", ""])
async def test_an_account_that_is_not_there_is_said(client: httpx.AsyncClient, database_url: str, email: str) -> None:
    for command in (deactivate, activate):
        with pytest.raises(CommandError, match="there is no account with the email"):
            await asyncio.to_thread(command, email, database=database_url)
