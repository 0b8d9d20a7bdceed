"""People who use the API in tests: registered, signed in, each with a client of their own."""

from typing import Any

import httpx

from tests.conftest import client_of

PASSWORD = "correct horse battery"
API = "/api/v1"


class Person:
    """Someone with an access token."""

    def __init__(self, client: httpx.AsyncClient, tokens: dict[str, Any], email: str) -> None:
        self.client = client
        self.tokens = tokens
        self.email = email

    async def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens['access_token']}"} | options.pop("headers", {})
        return await self.client.request(method, API + path, headers=headers, **options)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.request("GET", path, **options)

    async def post(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return await self.request("POST", path, json=json, **options)

    async def put(self, path: str, json: Any = None, **options: Any) -> httpx.Response:
        return await self.request("PUT", path, json=json, **options)

    async def delete(self, path: str, **options: Any) -> httpx.Response:
        return await self.request("DELETE", path, **options)

    async def made(self, path: str, json: Any) -> Any:
        """The resource that a POST created."""
        answer = await self.post(path, json)
        assert answer.status_code == 201, answer.text
        return answer.json()


async def register(client: httpx.AsyncClient, name: str) -> Person:
    """A new person, at an address of their own, so that nobody's rate limits are anybody else's."""
    number = sum(name.encode()) % 250 + 1
    own = client_of(client.app, address=f"198.51.100.{number}")  # type: ignore[attr-defined]
    email = f"{name}@example.com"
    body = {"email": email, "password": PASSWORD, "display_name": name.title()}
    answer = await own.post(f"{API}/auth/register", json=body)
    assert answer.status_code == 201, answer.text
    return Person(own, answer.json(), email)
