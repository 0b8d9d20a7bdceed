"""`POST /user/create`: who may have an account, and what creating one answers."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.accounts.steps import ADA, PASSWORD, another, cookie_of, database_of, rows, sign_in, who
from tests.conftest import Serve

pytestmark = pytest.mark.anyio
INFO = {"userid": 1, "email": ADA, "settings": "", "methods": [], "newAccount": True}


async def test_creating_answers_user_info_and_signs_nobody_in_unasked(client: httpx.AsyncClient) -> None:
    answer = await client.post("/user/create", data={"email": ADA, "password": PASSWORD})
    assert (answer.status_code, answer.json()) == (200, INFO)
    assert list(answer.json()) == list(INFO)
    assert not cookie_of(answer)
    assert await who(client) is None


async def test_only_signin_1_signs_in_right_away(serve: Serve) -> None:
    yes: list[dict[str, Any]] = [{"data": "1"}, {"json": 1}, {"json": "1"}, {"json": True}]
    no: list[dict[str, Any]] = [{"data": "0"}, {"data": "true"}, {"data": ""}, {"json": False}, {"json": None}]
    async with serve() as client:
        for number, body in enumerate(yes + no):
            ((kind, signin),) = body.items()
            email = f"a{number}@example.com"
            content: Any = {kind: {"email": email, "password": PASSWORD, "signin": signin}}
            async with another(client) as browser:
                answer = await browser.post("/user/create", **content)
                assert answer.status_code == 200
                assert bool(cookie_of(answer)) is (body in yes), body
                assert await who(browser) == (email if body in yes else None)


async def test_form_multipart_and_json_are_accepted_and_email_is_stored_in_lower_case(
    client: httpx.AsyncClient,
) -> None:
    fields = {"email": " Ada@EXAMPLE.com ", "password": PASSWORD}
    assert (await client.post("/user/create", files={k: (None, v) for k, v in fields.items()})).json()["email"] == ADA
    assert (await client.post("/user/create", json=fields | {"email": "B@x.org"})).json()["email"] == "b@x.org"
    assert (await client.post("/user/create", content=b"email=a", headers={"content-type": "text/xml"})).is_client_error
    assert [row[0] for row in await rows(database_of(client), "SELECT email FROM accounts ORDER BY userid")] == [
        ADA,
        "b@x.org",
    ]


REFUSED = [
    ("", PASSWORD, "/email"),
    ("ada", PASSWORD, "/email"),
    ("ada@localhost", PASSWORD, "/email"),
    ("a b@example.com", PASSWORD, "/email"),
    ("ada@example.com\r\nBcc: eve@example.com", PASSWORD, "/email"),
    ("ada@example.com,eve@example.com", PASSWORD, "/email"),
    ("=?utf-8?q?eve=40example.org=3e?=@example.com", PASSWORD, "/email"),
    ("a" * 65 + "@example.com", PASSWORD, "/email"),
    ("7@provider-a.invalid", PASSWORD, "/email"),
    ("7@Sub.INVALID", PASSWORD, "/email"),
    (ADA, "", "/password"),
    (ADA, "1234567", "/password"),
    (ADA, " " * 12, "/password"),
    (ADA, "é" * 513, "/password"),
]


async def test_what_is_no_email_or_no_password_is_400_and_says_which(client: httpx.AsyncClient) -> None:
    for email, password, member in REFUSED:
        answer = await client.post("/user/create", data={"email": email, "password": password, "signin": "1"})
        assert answer.status_code == 400, (email, password)
        assert answer.headers["content-type"] == "application/problem+json"
        assert [error["path"] for error in answer.json()["errors"]] == [member]
        assert answer.headers["status"] == answer.json()["detail"]
        assert not cookie_of(answer)
    assert not await rows(database_of(client), "SELECT 1 FROM accounts")


async def test_passwords_of_8_characters_and_of_1024_bytes_are_fine(client: httpx.AsyncClient) -> None:
    for email, password in (("a@example.com", "é2345678"), ("b@example.com", "é" * 512)):
        assert (await client.post("/user/create", data={"email": email, "password": password})).status_code == 200
        assert (await sign_in(client, email, password)).status_code == 200


async def test_the_least_length_is_a_setting(serve: Serve) -> None:
    async with serve(password_min_length=12) as client:
        fields = {"email": ADA, "password": "elevenchars"}
        assert (await client.post("/user/create", data=fields)).status_code == 400
        assert (await client.post("/user/create", data=fields | {"password": "twelve chars"})).status_code == 200


async def test_an_email_that_exists_is_409_duplicate_user(client: httpx.AsyncClient) -> None:
    await client.post("/user/create", data={"email": ADA, "password": PASSWORD})
    answer = await client.post("/user/create", data={"email": "ADA@example.COM", "password": "another horse"})
    assert (answer.status_code, answer.json()["detail"]) == (409, "duplicate user")
    assert answer.headers["status"] == "duplicate user"
    assert (await sign_in(client)).status_code == 200


async def test_of_ten_that_create_one_account_at_once_one_wins(client: httpx.AsyncClient) -> None:
    async def create(number: int) -> httpx.Response:
        email = "".join(c.upper() if number >> i & 1 else c for i, c in enumerate(ADA))
        fields = {"email": email, "password": f"password {number}", "signin": "1"}
        async with another(client) as browser:
            return await browser.post("/user/create", data=fields)

    answers = await asyncio.gather(*map(create, range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 9
    assert {answer.json()["detail"] for answer in answers if answer.status_code == 409} == {"duplicate user"}
    assert sum(bool(cookie_of(answer)) for answer in answers) == 1
    assert len(await rows(database_of(client), "SELECT 1 FROM accounts")) == 1
    assert len(await rows(database_of(client), "SELECT 1 FROM sessions")) == 1


async def test_the_21st_account_from_one_address_is_429(client: httpx.AsyncClient) -> None:
    await client.post("/user/create", data={"email": ADA, "password": PASSWORD})
    for _ in range(19):
        assert (await client.post("/user/create", data={"email": ADA, "password": PASSWORD})).status_code == 409
    bad = await client.post("/user/create", data={"email": "no", "password": PASSWORD})
    assert bad.status_code == 400
    answer = await client.post("/user/create", data={"email": "b@example.com", "password": PASSWORD})
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 3601
    async with another(client, "203.0.113.8") as elsewhere:
        created = await elsewhere.post("/user/create", data={"email": "b@example.com", "password": PASSWORD})
        assert created.status_code == 200
