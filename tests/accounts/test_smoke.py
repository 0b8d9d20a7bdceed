import httpx
import pytest

pytestmark = pytest.mark.anyio


async def test_a_new_account_is_signed_in_when_it_asks_to_be(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/user/create", data={"email": "Ada@Example.com", "password": "correct horse", "signin": "1"}
    )
    assert answer.status_code == 200
    assert answer.json() == {
        "userid": 1,
        "email": "ada@example.com",
        "settings": "",
        "methods": [],
        "newAccount": True,
    }
    assert (await client.get("/user/get")).json()["email"] == "ada@example.com"
