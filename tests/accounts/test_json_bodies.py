"""JSON in place of a form: the same members, and no others."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio
GOOD = {"email": "ada@example.com", "password": "correct horse"}


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (GOOD | {"admin": True}, "/admin"),
        (GOOD | {"userid": 1}, "/userid"),
        (GOOD | {"password": 12345678}, "/password"),
        (GOOD | {"email": ["ada@example.com"]}, "/email"),
        (GOOD | {"signin": {"value": 1}}, "/signin"),
        (GOOD | {"signin": 1.0}, "/signin"),
    ],
)
async def test_a_member_that_does_not_belong_is_named(client: httpx.AsyncClient, body: Any, path: str) -> None:
    answer = await client.post("/user/create", json=body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["path"] == path
    assert (await client.post("/user/auth", data=GOOD)).status_code == 401


async def test_unknown_form_fields_are_ignored(client: httpx.AsyncClient) -> None:
    assert (await client.post("/user/create", data=GOOD | {"admin": "1"})).status_code == 200
