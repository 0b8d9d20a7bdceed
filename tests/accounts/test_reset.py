"""Forgotten passwords: what asking tells, and what a token is good for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from penstock.accounts import reset_tokens
from penstock.accounts.hooks import Hooks
from penstock.storage import now
from tests.accounts.steps import (
    ADA,
    PASSWORD,
    accounts_of,
    another,
    cookie_of,
    database_of,
    rows,
    run,
    sign_in,
    sign_up,
    value_of,
    who,
)
from tests.accounts.test_session_cookie import Counting
from tests.conftest import Serve

pytestmark = pytest.mark.anyio
NEW = "a new horse"


async def issue(client: httpx.AsyncClient, userid: int = 1) -> str:
    """A token as the mail would bring it."""
    async with database_of(client).transaction() as tx:
        return await reset_tokens.issue(tx, userid, 3600)


async def reset(client: httpx.AsyncClient, token: str, password: str = NEW) -> httpx.Response:
    return await client.post("/user/resetpassword", data={"token": token, "password": password})


async def test_asking_answers_the_same_with_and_without_an_account_after_the_same_work(
    client: httpx.AsyncClient,
) -> None:
    await sign_up(client)
    accounts = accounts_of(client)
    for task in accounts._tasks:
        task.cancel()
    counting = accounts.database = Counting(accounts.database)
    seen = set()
    for email in (ADA, "nobody@example.com", "ADA@example.com"):
        counting.asked.clear()
        answer = await client.post("/user/forgotpassword", data={"email": email})
        headers = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
        seen.add((answer.status_code, answer.text, str(headers), tuple(counting.asked)))
    ((status, text, _, asked),) = seen
    assert (status, text, asked) == (200, "{}", ("transaction",))


async def test_asking_with_what_is_no_email_is_400(client: httpx.AsyncClient) -> None:
    for email in ("", "ada", "7@provider-a.invalid"):
        answer = await client.post("/user/forgotpassword", json={"email": email})
        assert answer.status_code == 400
        assert answer.json()["errors"][0]["path"] == "/email"


async def test_the_sixth_request_in_an_hour_is_429_for_the_account_and_for_the_address(
    client: httpx.AsyncClient,
) -> None:
    async def ask(address: str, email: str) -> httpx.Response:
        async with another(client, address) as browser:
            return await browser.post("/user/forgotpassword", data={"email": email})

    for number in range(5):
        assert (await ask(f"198.51.100.{number}", ADA)).status_code == 200
    refused = await ask("198.51.100.9", "ADA@example.com")
    assert refused.status_code == 429
    assert int(refused.headers["retry-after"]) > 0
    for number in range(5):
        assert (await ask("192.0.2.1", f"a{number}@example.com")).status_code == 200
    for number in range(6):
        assert (await ask("192.0.2.1", "victim@example.com")).status_code == 429, number
    # What was refused for the address has used up nothing of the account's.
    assert (await ask("192.0.2.2", "victim@example.com")).status_code == 200


@asynccontextmanager
async def someone_with_sessions(serve: Serve, **more: Any) -> AsyncIterator[tuple[httpx.AsyncClient, list[str]]]:
    events: list[str] = []
    hooks = Hooks(on_auth_event=lambda _, action, userid, info: events.append(f"{action} {userid} {info.email}"))
    async with serve(hooks=hooks, **more) as client:
        await sign_up(client)
        await sign_up(client, "bob@example.com")
        async with another(client) as browser:
            await sign_in(browser)
            events.clear()
            yield browser, events


async def test_a_reset_leaves_one_session_and_no_token(serve: Serve) -> None:
    async with someone_with_sessions(serve) as (signed_in, events):
        token, other, bobs = await issue(signed_in), await issue(signed_in), await issue(signed_in, 2)
        async with another(signed_in) as browser:
            answer = await reset(browser, token)
            assert answer.status_code == 200
            assert answer.json() == {"userid": 1, "email": ADA, "settings": "", "methods": [], "newAccount": False}
            assert cookie_of(answer)
            assert await who(browser) == ADA
            assert await who(signed_in) is None
            assert (await sign_in(browser)).status_code == 401
            assert (await sign_in(browser, password=NEW)).status_code == 200
            assert (await reset(browser, token)).status_code == 401
            assert (await reset(browser, other)).status_code == 401
            assert (await reset(browser, bobs)).json()["email"] == "bob@example.com"
        assert events == [f"resetpassword 1 {ADA}", f"auth 1 {ADA}", "resetpassword 2 bob@example.com"]
        verified = await rows(database_of(signed_in), "SELECT email_verified FROM accounts")
        assert [bool(row[0]) for row in verified] == [True, True]


async def test_of_two_that_use_one_token_at_once_one_wins(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    token = await issue(client)
    answers = await asyncio.gather(*(reset(client, token, f"new horse {number}") for number in range(2)))
    assert sorted(answer.status_code for answer in answers) == [200, 401]


async def test_of_two_tokens_used_at_once_one_wins(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    tokens = [await issue(client) for _ in range(4)]
    answers = await asyncio.gather(*(reset(client, token) for token in tokens))
    assert sorted(answer.status_code for answer in answers) == [200, 401, 401, 401]
    assert len(await rows(database_of(client), "SELECT 1 FROM sessions")) == 1


async def test_unknown_and_expired_tokens_are_401_and_cost_no_hash(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sign_up(client)
    expired, cut = await issue(client), (await issue(client))[:-1]
    digest = reset_tokens._hash(expired).hex()
    literal = f"X'{digest}'" if database_of(client).dialect == "sqlite" else f"'\\x{digest}'"
    await run(database_of(client), f"UPDATE reset_tokens SET expires_at = {now() - 1} WHERE token_hash = {literal}")

    async def no_hash(_: str) -> str:
        raise AssertionError("hashed")

    monkeypatch.setattr(accounts_of(client).passwords, "hash", no_hash)
    seen = set()
    for token in (expired, cut, "", "guess", "x" * 1000, "${TOKEN}", "é"):
        answer = await reset(client, token)
        seen.add((answer.status_code, answer.json()["detail"]))
        assert not cookie_of(answer)
    assert len(seen) == 1
    assert seen.pop()[0] == 401


async def test_a_bad_new_password_is_400_and_does_not_use_up_the_token(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    token = await issue(client)
    for password in ("", "short", " " * 9, "x" * 1025):
        answer = await reset(client, token, password)
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "/password")
    assert (await reset(client, token)).status_code == 200


async def test_the_life_of_a_token_is_an_hour_or_as_set(serve: Serve) -> None:
    urls: asyncio.Queue[str] = asyncio.Queue()

    async def send(_email: str, url: str) -> None:
        urls.put_nowait(url)

    for setting, seconds in (({}, 3600), ({"reset_ttl": "5m"}, 300)):
        async with serve(hooks=Hooks(send_email=send), **setting) as client:
            if not await rows(database_of(client), "SELECT 1 FROM accounts"):
                await sign_up(client)
            before = now()
            await client.post("/user/forgotpassword", data={"email": ADA})
            await asyncio.wait_for(urls.get(), 60)
            (row,) = await rows(database_of(client), "SELECT max(expires_at) FROM reset_tokens")
            assert before <= row[0] - seconds * 1_000_000 <= now()
            await run(database_of(client), "DELETE FROM reset_tokens")


async def test_a_mail_to_an_old_address_opens_nothing_after_the_address_changed(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    token = await issue(client)
    assert (await client.post("/user/update", data={"email": "new@example.com"})).status_code == 200
    assert (await reset(client, token)).status_code == 401


async def test_a_deactivated_account_cannot_be_reset(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    token = await issue(client)
    await run(database_of(client), "UPDATE accounts SET active = false")
    assert (await reset(client, token)).status_code == 401
    assert len(await rows(database_of(client), "SELECT 1 FROM reset_tokens")) == 1


async def test_a_reset_gives_an_account_without_password_one_and_clears_its_failed_sign_ins(serve: Serve) -> None:
    async with serve(limit_failed_logins=2) as client:
        await sign_up(client)
        await run(database_of(client), "UPDATE accounts SET password_hash = NULL")
        for number in range(2):
            async with another(client, f"198.51.100.{number}") as stranger:
                await sign_in(stranger)
        async with another(client) as browser:
            assert (await sign_in(browser)).status_code == 429
            old = value_of(await reset(browser, await issue(client)))
            assert old
            assert (await sign_in(browser, password=NEW)).status_code == 200
            assert PASSWORD != NEW
