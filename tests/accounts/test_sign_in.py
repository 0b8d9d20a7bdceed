"""`/user/auth`, `/user/signout` and `/user/get`: who gets in, and how little everybody else learns."""

import asyncio
import logging
from typing import Any

import argon2
import httpx
import pytest
import structlog

from penstock.accounts import passwords, sessions, signin, users
from penstock.accounts.hooks import Hooks
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
    until_someone_waits,
    value_of,
    who,
)
from tests.conftest import Serve

pytestmark = pytest.mark.anyio
INFO = {"userid": 1, "email": ADA, "settings": "", "methods": [], "newAccount": False}


@pytest.fixture
def cheap_passwords() -> None:
    """Here they cost what they cost."""


async def test_every_way_to_send_the_parameters_signs_in(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    fields = {"email": "ADA@example.com", "password": PASSWORD}
    sent: list[tuple[str, dict[str, Any]]] = [
        ("POST", {"data": fields}),
        ("POST", {"json": fields}),
        ("POST", {"files": {name: (None, value) for name, value in fields.items()}}),
        ("POST", {"params": fields}),
        ("GET", {"params": fields}),
    ]
    for method, content in sent:
        async with another(client) as browser:
            answer = await browser.request(method, "/user/auth", **content)
            assert (answer.status_code, answer.json()) == (200, INFO), content
            assert answer.headers["cache-control"] == "no-store"
            assert await who(browser) == ADA


@pytest.fixture
def argon2_work(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every computation of argon2, by name: what costs time."""
    done: list[str] = []
    real = passwords._argon2

    class Spy:
        check_needs_rehash = staticmethod(real.check_needs_rehash)

        def hash(self, password: str) -> str:
            done.append("hash")
            return real.hash(password)

        def verify(self, stored: str, password: str) -> bool:
            # The cost is in the stored parameters.
            done.append("verify " + stored.rpartition("$")[0].rpartition("$")[0])
            return real.verify(stored, password)

    monkeypatch.setattr(passwords, "_argon2", Spy())
    return done


async def test_nobody_learns_whether_email_or_password_was_wrong(
    client: httpx.AsyncClient, argon2_work: list[str]
) -> None:
    await sign_up(client)
    await sign_up(client, "social@example.com")
    await sign_up(client, "gone@example.com")
    await run(database_of(client), "UPDATE accounts SET password_hash = NULL WHERE email = 'social@example.com'")
    await run(database_of(client), "UPDATE accounts SET active = false WHERE email = 'gone@example.com'")
    tries = [
        (ADA, "wrong password"),
        ("nobody@example.com", PASSWORD),
        ("gone@example.com", PASSWORD),
        ("social@example.com", PASSWORD),
        ("social@example.com", "nobody's password"),
        (ADA, ""),
        (ADA, " "),
        (ADA, PASSWORD * 100),
        (ADA, PASSWORD + " "),
        ("", ""),
        ("not an email", PASSWORD),
        ("7@provider.invalid", PASSWORD),
    ]
    seen = set()
    async with another(client) as browser:
        for email, password in tries:
            argon2_work.clear()
            answer = await sign_in(browser, email, password)
            body = {name: value for name, value in answer.json().items() if name != "instance"}
            same = {name: value for name, value in answer.headers.items() if name != "x-request-id"}
            seen.add((answer.status_code, str(body), str(same), tuple(argon2_work)))
        ((status, body_text, headers, work),) = seen
    assert status == 401
    assert "wrong email or password" in body_text
    assert "set-cookie" not in headers
    assert work == ("verify $argon2id$v=19$m=19456,t=2,p=1",)


async def test_a_deactivated_account_loses_its_sessions_too(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    await run(database_of(client), "UPDATE accounts SET active = false")
    assert await who(client) is None
    await run(database_of(client), "UPDATE accounts SET active = true")
    assert await who(client) == ADA


async def test_parameters_of_a_get_reach_no_log(
    serve: Serve, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with structlog.testing.capture_logs() as lines:
        async with serve(log_level="debug") as client:
            await sign_up(client)
            for password in (PASSWORD, "wrong-password"):
                await client.get("/user/auth", params={"email": ADA, "password": password})
            await client.get("/user/auth", params=[("password", "twice-given"), ("password", "twice-given")])
            await client.get("/user/auth?password=%ff-not-utf8")
    assert any(line.get("path") == "/user/auth" and line.get("status") == 401 for line in lines)
    # httpx is the browser of this test, not a part of the server.
    logged = [record.getMessage() for record in caplog.records if not record.name.startswith("httpx")]
    everything = "\n".join([*map(str, lines), *logged, *capsys.readouterr()])
    for secret in (PASSWORD, "correct+horse", "wrong-password", "twice-given", "not-utf8", ADA):
        assert secret not in everything


async def test_an_old_hash_is_made_anew_at_sign_in(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    old = argon2.PasswordHasher(time_cost=1, memory_cost=8 * 1024, parallelism=1).hash(PASSWORD)
    await run(database_of(client), f"UPDATE accounts SET password_hash = '{old}'")
    assert (await sign_in(client, password="wrong password")).status_code == 401
    assert (await rows(database_of(client), "SELECT password_hash FROM accounts"))[0][0] == old
    assert (await sign_in(client)).status_code == 200
    stored = (await rows(database_of(client), "SELECT password_hash FROM accounts"))[0][0]
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert (await sign_in(client)).status_code == 200
    assert (await rows(database_of(client), "SELECT password_hash FROM accounts"))[0][0] == stored


async def test_a_stored_hash_that_is_none_opens_nothing(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    for stored in ("", "plain", PASSWORD, "$argon2id$v=19$m=19456,t=2,p=1$"):
        await run(database_of(client), f"UPDATE accounts SET password_hash = '{stored}'")
        assert (await sign_in(client)).status_code == 401


async def test_a_password_changed_while_it_is_compared_opens_no_session(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sign_up(client)
    accounts = accounts_of(client)
    real = signin.check_password

    async def check_then_change(*args: Any, **kwargs: Any) -> Any:
        account = await real(*args, **kwargs)
        async with accounts.database.transaction() as tx:
            await users.set_password(tx, account.userid, "changed")
        return account

    monkeypatch.setattr(signin, "check_password", check_then_change)
    async with another(client) as browser:
        answer = await sign_in(browser)
    assert answer.status_code == 401
    assert not cookie_of(answer)


async def test_no_session_slips_in_while_the_password_is_being_changed(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    database = database_of(client)
    async with another(client) as browser:
        async with database.transaction() as tx:
            await users.set_password(tx, 1, "changed")
            late = asyncio.create_task(sign_in(browser))
            await until_someone_waits(database)
            await sessions.end_all(tx, 1)
        assert (await late).status_code == 401
    assert not await rows(database, "SELECT 1 FROM sessions")


async def test_the_event_auth_tells_of_every_sign_in(serve: Serve) -> None:
    seen: list[tuple[str, int, str]] = []
    hooks = Hooks(on_auth_event=lambda _, action, userid, info: seen.append((action, userid, info.email)))
    async with serve(hooks=hooks) as client:
        await sign_up(client)
        await sign_in(client, password="wrong password")
        await sign_in(client)
    assert seen == [("create", 1, ADA), ("auth", 1, ADA)]


async def test_signing_out_ends_the_session_and_clears_the_cookie(client: httpx.AsyncClient) -> None:
    value = value_of(await sign_up(client))
    answer = await client.get("/user/signout")
    assert (answer.status_code, answer.json()) == (200, {})
    assert cookie_of(answer) == "session=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
    assert "session" not in client.cookies
    client.cookies.set("session", value)
    assert await who(client) is None
    assert not await rows(database_of(client), "SELECT 1 FROM sessions")


async def test_signing_out_ends_only_this_session_and_is_fine_for_nobody(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    async with another(client) as browser:
        await sign_in(browser)
        await browser.get("/user/signout")
        answer = await browser.get("/user/signout")
        assert (answer.status_code, answer.json()) == (200, {})
    assert await who(client) == ADA


async def test_getting_nobody_is_401_not_signed_in(client: httpx.AsyncClient) -> None:
    answer = await client.get("/user/get")
    assert (answer.status_code, answer.json()["detail"]) == (401, "not signed in")
    assert answer.headers["status"] == "not signed in"
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["instance"] == f"urn:uuid:{answer.headers['x-request-id']}"
