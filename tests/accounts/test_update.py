"""`POST /user/update`: what the holder of a session may change, and what then ends."""

import asyncio

import httpx
import pytest

from penstock.accounts import sessions, users
from tests.accounts.steps import (
    ADA,
    PASSWORD,
    another,
    cookie_of,
    database_of,
    rows,
    run,
    sign_in,
    sign_up,
    until_someone_waits,
    value_of,
    who,
)
from tests.conftest import Serve

pytestmark = pytest.mark.anyio
NEW = "a new horse"


async def update(client: httpx.AsyncClient, **fields: str) -> httpx.Response:
    return await client.post("/user/update", data=fields)


async def test_one_must_be_signed_in_and_change_something(client: httpx.AsyncClient) -> None:
    answer = await update(client, email="new@example.com")
    assert (answer.status_code, answer.json()["detail"]) == (401, "not signed in")
    await sign_up(client)
    for fields in ({}, {"email": "", "password": ""}, {"current_password": PASSWORD}):
        assert (await update(client, **fields)).status_code == 400
    assert (await client.post("/user/update")).status_code == 400


async def test_a_new_email_is_lower_cased_and_not_verified(client: httpx.AsyncClient) -> None:
    before = value_of(await sign_up(client))
    await run(database_of(client), "UPDATE accounts SET email_verified = true")
    assert (await update(client, email="ADA@example.com")).status_code == 200
    assert bool((await rows(database_of(client), "SELECT email_verified FROM accounts"))[0][0]) is True
    answer = await update(client, email="New@Example.COM")
    assert answer.status_code == 200
    assert answer.json() == {
        "userid": 1,
        "email": "new@example.com",
        "settings": "",
        "methods": [],
        "newAccount": False,
    }
    assert bool((await rows(database_of(client), "SELECT email_verified FROM accounts"))[0][0]) is False
    # Nobody is signed out by a new email.
    assert client.cookies["session"] == before
    assert await who(client) == "new@example.com"
    assert (await sign_in(client, "new@example.com")).status_code == 200
    assert (await sign_in(client)).status_code == 401


async def test_bad_values_are_400_and_change_nothing(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    for fields in (
        {"email": "no"},
        {"email": "7@provider-a.invalid"},
        {"password": "short"},
        {"password": " " * 9},
        {"email": "new@example.com", "password": "x" * 1025},
    ):
        assert (await update(client, **fields)).status_code == 400
    assert await who(client) == ADA


async def test_the_email_of_another_account_is_409_and_undoes_all(client: httpx.AsyncClient) -> None:
    await sign_up(client, "bob@example.com")
    await sign_up(client)
    async with another(client) as elsewhere:
        await sign_in(elsewhere)
        assert (await update(client, email="BOB@example.com", password=NEW)).status_code == 409
        assert await who(elsewhere) == ADA
    assert (await sign_in(client)).status_code == 200


async def test_a_new_password_ends_every_other_session_and_rotates_this_one(client: httpx.AsyncClient) -> None:
    before = value_of(await sign_up(client))
    async with another(client) as elsewhere, another(client) as thief:
        await sign_in(elsewhere)
        thief.cookies.set("session", before)
        assert await who(thief) == ADA
        answer = await update(client, password=NEW)
        assert answer.status_code == 200
        assert value_of(answer) not in {"", before}
        assert await who(client) == ADA
        assert await who(elsewhere) is None
        assert await who(thief) is None
        assert (await sign_in(elsewhere)).status_code == 401
        assert (await sign_in(elsewhere, password=NEW)).status_code == 200


async def test_the_current_password_is_checked_when_sent(serve: Serve) -> None:
    async with serve(limit_failed_logins=2) as client:
        await sign_up(client)
        assert (await update(client, password=NEW, current_password=PASSWORD)).status_code == 200
        for _ in range(2):
            answer = await update(client, password="another horse", current_password=PASSWORD)
            assert (answer.status_code, cookie_of(answer)) == (401, "")
        # A thief with a stolen session may not guess the password here either.
        assert (await update(client, password="another horse", current_password=NEW)).status_code == 429
        assert await who(client) == ADA


async def test_the_current_password_can_be_required(serve: Serve) -> None:
    async with serve(update_requires_password=True) as client:
        await sign_up(client)
        answer = await update(client, email="new@example.com")
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "/current_password")
        assert (await update(client, email="new@example.com", current_password="wrong horse")).status_code == 401
        assert (await update(client, email="new@example.com", current_password=PASSWORD)).status_code == 200
        # Who came in through a provider has none to give.
        await run(database_of(client), "UPDATE accounts SET password_hash = NULL")
        assert (await update(client, password=NEW)).status_code == 200


async def test_a_session_that_ends_while_its_update_waits_changes_nothing(client: httpx.AsyncClient) -> None:
    """A thief's update, sent just before the owner's reset, must not come after it."""
    await sign_up(client)
    database = database_of(client)
    async with database.transaction() as tx:
        await users.set_password(tx, 1, "reset by the owner")
        late = asyncio.create_task(update(client, password="a thief's horse", email="thief@example.com"))
        await until_someone_waits(database)
        await sessions.end_all(tx, 1)
    answer = await late
    assert (answer.status_code, cookie_of(answer)) == (401, "")
    (row,) = await rows(database, "SELECT password_hash, email FROM accounts")
    assert tuple(row) == ("reset by the owner", ADA)
    assert not await rows(database, "SELECT 1 FROM sessions")
