"""The session cookie: how it looks, what is kept of it, how long it lives, and what a planted one is worth."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from penstock.accounts import sessions
from penstock.storage import Database, Transaction, Unavailable, now
from penstock.storage.database import Reader
from tests.accounts.steps import (
    ADA,
    PASSWORD,
    accounts_of,
    another,
    cookie_of,
    database_of,
    everything_stored,
    rows,
    run,
    sign_in,
    sign_up,
    value_of,
    who,
)
from tests.conftest import Serve

pytestmark = pytest.mark.anyio
MONTH = 30 * 86400


@pytest.fixture
def cheap_passwords() -> None:
    """Here they cost what they cost."""


async def test_cookie_is_long_random_and_out_of_reach_for_scripts(client: httpx.AsyncClient) -> None:
    line = cookie_of(await sign_up(client))
    value, *attributes = line.split("; ")
    assert re.fullmatch(r"session=[A-Za-z0-9_-]{64,}", value)
    assert attributes == [f"Max-Age={MONTH}", "Path=/", "HttpOnly", "SameSite=Lax"]


HTTP, HTTPS, PROXY, STRANGER = "http://penstock.example", "https://penstock.example", "127.0.0.1", "203.0.113.7"
REACHED_BY: list[tuple[str, str, dict[str, str], bool]] = [
    (HTTPS, STRANGER, {}, True),
    (HTTP, STRANGER, {}, False),
    (HTTP, PROXY, {"x-forwarded-proto": "https"}, True),
    (HTTP, PROXY, {"forwarded": "for=192.0.2.1;proto=https"}, True),
    (HTTP, STRANGER, {"x-forwarded-proto": "https"}, False),
    (HTTP, STRANGER, {"forwarded": "for=192.0.2.1;proto=https"}, False),
]


async def test_cookie_is_secure_when_the_request_was_https(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    for base_url, address, headers, secure in REACHED_BY:
        async with another(client, address, base_url=base_url) as browser:
            browser.headers.update(headers)
            assert cookie_of(await sign_in(browser)).endswith("; Secure") is secure, (base_url, address, headers)
            assert ("; Secure" in cookie_of(await browser.get("/user/signout"))) is secure


async def test_neither_cookie_nor_password_nor_reset_token_is_stored(serve: Serve) -> None:
    from penstock.accounts import reset_tokens

    async with serve() as client:
        cookie = value_of(await sign_up(client))
        async with database_of(client).transaction() as tx:
            token = await reset_tokens.issue(tx, 1, 3600)
        stored = await everything_stored(database_of(client))
        assert ADA in stored
        assert stored.count("$argon2id$v=19$m=19456,t=2,p=1$") == 1
        for secret in (cookie, token, PASSWORD, cookie[:32], token[:16]):
            assert secret not in stored


async def test_every_sign_in_makes_a_new_session_and_ends_the_old(client: httpx.AsyncClient) -> None:
    first = value_of(await sign_up(client))
    second = value_of(await sign_in(client))
    assert first != second
    async with another(client) as thief:
        thief.cookies.set("session", first)
        assert await who(thief) is None
    assert await who(client) == ADA
    assert len(await rows(database_of(client), "SELECT 1 FROM sessions")) == 1


async def test_a_planted_cookie_opens_nothing_after_sign_in(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    planted = "A" * 64
    async with another(client) as victim, another(client) as attacker:
        victim.headers["cookie"] = f"session={planted}"
        attacker.headers["cookie"] = f"session={planted}"
        answer = await sign_in(victim)
        assert value_of(answer) not in {"", planted}
        assert await who(attacker) is None


async def test_sign_in_with_another_persons_planted_session_ends_that_one(client: httpx.AsyncClient) -> None:
    async with another(client) as attacker:
        planted = value_of(await sign_up(attacker, "eve@example.com"))
        await sign_up(client)
        client.headers["cookie"] = f"session={planted}"
        answer = await sign_in(client)
        assert value_of(answer) != planted
        assert await who(attacker) is None


async def test_nonsense_in_the_cookie_is_just_not_signed_in(client: httpx.AsyncClient) -> None:
    for cookie in ("", "x", "x" * 300, "x" * 5000, "%00", '"', "é", "=;="):
        answer = await client.get("/user/get", headers={b"cookie": f"session={cookie}".encode()})
        assert (answer.status_code, answer.json()["detail"]) == (401, "not signed in")


async def test_an_expired_session_is_not_signed_in(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    await run(database_of(client), f"UPDATE sessions SET expires_at = {now() - 1}")
    assert await who(client) is None


async def test_a_session_slides_once_a_thirtieth_of_its_life_is_used(client: httpx.AsyncClient) -> None:
    value = value_of(await sign_up(client))
    database = database_of(client)
    fresh = now() + (MONTH - 86400 + 60) * 1_000_000
    await run(database, f"UPDATE sessions SET expires_at = {fresh}")
    assert not cookie_of(await client.get("/user/get"))
    assert (await rows(database, "SELECT expires_at FROM sessions"))[0][0] == fresh
    await run(database, f"UPDATE sessions SET expires_at = {fresh - 120 * 1_000_000}")
    answer = await client.get("/user/get")
    assert cookie_of(answer) == f"session={value}; Max-Age={MONTH}; Path=/; HttpOnly; SameSite=Lax"
    assert (await rows(database, "SELECT expires_at FROM sessions"))[0][0] > now() + (MONTH - 60) * 1_000_000


async def test_the_life_of_a_session_is_a_setting(serve: Serve) -> None:
    async with serve(session_ttl="2h") as client:
        assert "Max-Age=7200;" in cookie_of(await sign_up(client))


class Counting(Database):
    """A database that notes what is asked of it."""

    def __init__(self, inner: Database) -> None:
        self.inner, self.dialect, self.asked = inner, inner.dialect, list[str]()

    async def one(self, statement: Any, **params: Any) -> Any:
        self.asked.append("one")
        return await self.inner.one(statement, **params)

    async def all(self, statement: Any, **params: Any) -> Any:
        self.asked.append("all")
        return await self.inner.all(statement, **params)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Transaction]:
        self.asked.append("transaction")
        async with self.inner.transaction() as tx:
            yield tx

    async def ping(self) -> None:
        await self.inner.ping()

    async def close(self) -> None:
        await self.inner.close()


async def test_who_is_signed_in_costs_one_query_and_no_transaction(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    accounts = accounts_of(client)
    counting = accounts.database = Counting(accounts.database)
    assert isinstance(counting, Reader)
    assert await who(client) == ADA
    assert counting.asked == ["one"]
    counting.asked.clear()
    client.cookies.clear()
    assert await who(client) is None
    assert counting.asked == []


async def test_a_session_that_cannot_be_renewed_is_good_all_the_same(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk keeps nobody out who is in."""
    await sign_up(client)
    soon = now() + 86400 * 1_000_000
    await run(database_of(client), f"UPDATE sessions SET expires_at = {soon}")

    async def full(*_: Any) -> None:
        raise Unavailable("database or disk is full")

    monkeypatch.setattr(sessions, "renew", full)
    answer = await client.get("/user/get")
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers
    monkeypatch.undo()
    assert "set-cookie" in (await client.get("/user/get")).headers
