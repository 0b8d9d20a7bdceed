"""Signing in for the API: tokens, their rotation and end, and the one account behind both doors."""

import asyncio
import base64
import json
import time
from typing import Any

import httpx
import jwt
import pytest

from penstock.storage.schema import accounts
from tests.conftest import Serve, client_of

from .people import API, PASSWORD, Person, register

pytestmark = pytest.mark.anyio
SECRET = "a secret of thirty-two bytes, or more of them"


def claims_of(token: str) -> dict[str, Any]:
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    return claims


async def refresh(person: Person, token: str) -> httpx.Response:
    return await person.client.post(f"{API}/auth/refresh", json={"refresh_token": token})


class TestRegister:
    async def test_answers_tokens_that_open_me(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        assert set(ada.tokens) == {"access_token", "refresh_token", "token_type", "expires_in"}
        assert (ada.tokens["token_type"], ada.tokens["expires_in"]) == ("Bearer", 900)
        me = (await ada.get("/auth/me")).json()
        members = "id userid email display_name avatar_url active created_at updated_at last_login_at"
        assert list(me) == members.split()
        assert (me["email"], me["display_name"], me["active"]) == ("ada@example.com", "Ada", True)

    async def test_the_tokens_carry_the_contracts_claims(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        access, renewal = claims_of(ada.tokens["access_token"]), claims_of(ada.tokens["refresh_token"])
        assert set(access) == set(renewal) == {"sub", "email", "type", "sid", "jti", "iat", "exp", "iss"}
        assert (access["type"], renewal["type"]) == ("access", "refresh")
        assert access["exp"] - access["iat"] == 900
        assert renewal["exp"] - renewal["iat"] == 7 * 86400
        assert access["sub"] == (await ada.get("/auth/me")).json()["id"]

    async def test_a_duplicate_is_409_and_a_bad_body_400(self, client: httpx.AsyncClient) -> None:
        await register(client, "ada")
        url, body = f"{API}/auth/register", {"email": "ADA@example.com", "password": PASSWORD}
        assert (await client.post(url, json=body)).status_code == 409
        assert (await client.post(url, json=body | {"admin": True})).status_code == 400
        assert (await client.post(url, json={"email": "new@example.com", "password": "short"})).status_code == 400
        assert (await client.post(url, json={"email": "new@example.com"})).json()["errors"]
        assert (await client.post(url, content=b"{")).status_code == 415
        assert (await client.post(url, content=b"{", headers={"content-type": "application/json"})).status_code == 400


class TestLogin:
    async def test_one_answer_for_both_mistakes(self, client: httpx.AsyncClient) -> None:
        await register(client, "ada")
        wrong = await client.post(f"{API}/auth/login", json={"email": "ada@example.com", "password": "not this one"})
        nobody = await client.post(f"{API}/auth/login", json={"email": "bob@example.com", "password": "not this one"})
        assert wrong.status_code == nobody.status_code == 401
        assert wrong.json()["detail"] == nobody.json()["detail"]

    async def test_an_account_of_one_door_opens_the_other(self, client: httpx.AsyncClient) -> None:
        await client.post("/user/create", data={"email": "ada@example.com", "password": PASSWORD})
        answer = await client.post(f"{API}/auth/login", json={"email": "Ada@example.com", "password": PASSWORD})
        assert answer.status_code == 200
        bob = await register(client, "bob")
        assert (await bob.client.post("/user/auth", data={"email": bob.email, "password": PASSWORD})).status_code == 200

    async def test_the_eleventh_try_in_a_minute_is_429_for_both_routes(self, client: httpx.AsyncClient) -> None:
        for _ in range(9):
            await client.post(f"{API}/auth/login", json={"email": "no", "password": "x"})
        registered = await client.post(f"{API}/auth/register", json={"email": "ada@example.com", "password": PASSWORD})
        assert registered.status_code == 201
        refused = await client.post(f"{API}/auth/login", json={"email": "ada@example.com", "password": PASSWORD})
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        elsewhere = client_of(client.app, address="203.0.113.99")  # type: ignore[attr-defined]
        login = await elsewhere.post(f"{API}/auth/login", json={"email": "ada@example.com", "password": PASSWORD})
        assert login.status_code == 200

    async def test_failures_count_towards_the_accounts_own_limit(self, serve: Serve) -> None:
        async with serve(limit_failed_logins=3) as client:
            ada = await register(client, "ada")
            for _ in range(3):
                await client.post(f"{API}/auth/login", json={"email": ada.email, "password": "wrong wrong"})
            other = client_of(client.app, address="203.0.113.99")  # type: ignore[attr-defined]
            assert (await other.post("/user/auth", data={"email": ada.email, "password": PASSWORD})).status_code == 429


class TestRefresh:
    async def test_gives_new_tokens_of_the_same_session(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        answer = await refresh(ada, ada.tokens["refresh_token"])
        assert answer.status_code == 200
        assert claims_of(answer.json()["access_token"])["sid"] == claims_of(ada.tokens["access_token"])["sid"]
        assert answer.json()["refresh_token"] != ada.tokens["refresh_token"]

    async def test_a_second_use_ends_the_whole_session(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        fresh = (await refresh(ada, ada.tokens["refresh_token"])).json()
        assert (await refresh(ada, ada.tokens["refresh_token"])).status_code == 401
        assert (await refresh(ada, fresh["refresh_token"])).status_code == 401
        ada.tokens = fresh
        assert (await ada.get("/auth/me")).status_code == 401

    async def test_two_uses_at_once_never_leave_two_live_families(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        answers = await asyncio.gather(*(refresh(ada, ada.tokens["refresh_token"]) for _ in range(5)))
        assert [answer.status_code for answer in answers].count(200) <= 1
        for answer in answers:
            if answer.status_code == 200:
                assert (await refresh(ada, answer.json()["refresh_token"])).status_code == 401

    async def test_within_the_grace_the_same_successor_is_returned(self, serve: Serve) -> None:
        async with serve(refresh_grace="30s") as client:
            ada = await register(client, "ada")
            first, second = [(await refresh(ada, ada.tokens["refresh_token"])).json() for _ in range(2)]
            assert first["refresh_token"] == second["refresh_token"]
            assert (await refresh(ada, first["refresh_token"])).status_code == 200

    async def test_an_access_token_is_no_refresh_token_and_the_reverse(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        assert (await refresh(ada, ada.tokens["access_token"])).status_code == 401
        ada.tokens["access_token"] = ada.tokens["refresh_token"]
        assert (await ada.get("/auth/me")).status_code == 401


class TestForgedTokens:
    async def test_other_algorithms_secrets_and_claims_are_refused(self, serve: Serve) -> None:
        async with serve(jwt_secret=SECRET) as client:
            ada = await register(client, "ada")
            good = jwt.decode(ada.tokens["access_token"], SECRET, algorithms=["HS256"])
            unsigned = jwt.encode(good, "", algorithm="none")
            now = int(time.time())
            forged = {
                "unsigned": unsigned,
                "another secret": jwt.encode(good, "x" * 40, algorithm="HS256"),
                "another algorithm": jwt.encode(good, SECRET * 2, algorithm="HS512"),
                "expired": jwt.encode(good | {"exp": now - 1}, SECRET, algorithm="HS256"),
                "another issuer": jwt.encode(good | {"iss": "else"}, SECRET, algorithm="HS256"),
                "no session": jwt.encode({**good, "sid": "x"}, SECRET, algorithm="HS256"),
                "another user": jwt.encode({**good, "sub": good["sid"]}, SECRET, algorithm="HS256"),
                "no type": jwt.encode({k: v for k, v in good.items() if k != "type"}, SECRET, algorithm="HS256"),
                "sid is a list": jwt.encode({**good, "sid": ["x"]}, SECRET, algorithm="HS256"),
                "garbage": "garbage",
                "very long": "x" * 100_000,
            }
            for name, token in forged.items():
                ada.tokens["access_token"] = token
                assert (await ada.get("/auth/me")).status_code == 401, name

    async def test_no_token_and_another_scheme_are_401(self, client: httpx.AsyncClient) -> None:
        assert (await client.get(f"{API}/auth/me")).status_code == 401
        assert (await client.get(f"{API}/auth/me", headers={"Authorization": "Basic eDp5"})).status_code == 401


class TestTheEnd:
    async def test_logout_ends_access_tokens_at_once(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        assert (await ada.post("/auth/logout")).status_code == 204
        assert (await ada.get("/auth/me")).status_code == 401
        assert (await refresh(ada, ada.tokens["refresh_token"])).status_code == 401

    async def test_a_password_changed_at_the_other_door_ends_the_tokens(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        browser = client_of(client.app)  # type: ignore[attr-defined]
        await browser.post("/user/auth", data={"email": ada.email, "password": PASSWORD})
        assert (await browser.post("/user/update", data={"password": "another horse"})).status_code == 200
        assert (await ada.get("/auth/me")).status_code == 401
        answer = await ada.client.post(f"{API}/auth/login", json={"email": ada.email, "password": "another horse"})
        assert answer.status_code == 200

    async def test_a_deactivated_account_is_out_at_once(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        database = client.app.app.state.database  # type: ignore[attr-defined]
        async with database.transaction() as tx:
            await tx.run_text(f"UPDATE {accounts.name} SET active = FALSE")
        assert (await ada.get("/auth/me")).status_code == 401
        assert (await refresh(ada, ada.tokens["refresh_token"])).status_code == 401


class TestSessionCookie:
    async def test_the_cookie_opens_the_api_and_its_end_closes_it(self, client: httpx.AsyncClient) -> None:
        await client.post("/user/create", data={"email": "ada@example.com", "password": PASSWORD, "signin": "1"})
        answer = await client.post(f"{API}/auth/session")
        assert answer.status_code == 200
        ada = Person(client, answer.json(), "ada@example.com")
        assert (await ada.get("/auth/me")).status_code == 200
        await client.get("/user/signout")
        assert (await ada.get("/auth/me")).status_code == 401

    async def test_each_tab_has_tokens_of_its_own(self, client: httpx.AsyncClient) -> None:
        await client.post("/user/create", data={"email": "ada@example.com", "password": PASSWORD, "signin": "1"})
        one, two = [Person(client, (await client.post(f"{API}/auth/session")).json(), "") for _ in range(2)]
        assert (await refresh(one, one.tokens["refresh_token"])).status_code == 200
        assert (await refresh(two, two.tokens["refresh_token"])).status_code == 200

    async def test_a_foreign_origin_is_403_and_no_cookie_401(self, client: httpx.AsyncClient) -> None:
        assert (await client.post(f"{API}/auth/session")).status_code == 401
        foreign = await client.post(f"{API}/auth/session", headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403


class TestProfile:
    async def test_only_the_members_present_change(self, client: httpx.AsyncClient) -> None:
        ada = await register(client, "ada")
        assert (await ada.put("/auth/me", {"avatar_url": "https://example.com/a.png"})).json()["display_name"] == "Ada"
        before = (await ada.get("/auth/me")).json()
        assert (await ada.put("/auth/me", {})).json() == before
        assert (await ada.put("/auth/me", {"email": "x@y.zz"})).status_code == 400
        assert (await ada.put("/auth/me", {"display_name": None})).status_code == 400
        assert (await ada.put("/auth/me", {"display_name": "\0"})).status_code == 400
        assert (await ada.put("/auth/me", {"display_name": "  "})).json()["display_name"] == ""
