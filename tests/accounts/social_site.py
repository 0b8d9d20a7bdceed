"""A site with social sign-in: its providers, which we did not write, and people who come through them."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx

from tests.accounts.oauth.browser import come_back, peer_http

SITE = "http://localhost:8080"
SECRET = "secret of penstock: +/%&"
PASSWORD = "correct horse battery"


def configured(peers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """`peer` and `strict` have sign-in pages; `bent` and `bent2` are two names for one that says whatever it is told.

    Members of `more` by name: `peer={"enabled": False}`.
    """
    issuers = {"peer": "lavish", "strict": "strict", "bent": "bent", "bent2": "bent"}
    return {
        name: {"kind": "oidc", "client_id": "penstock", "client_secret": SECRET, "issuer": peers[issuer]}
        | more.get(name, {})
        for name, issuer in issuers.items()
    }


async def set_out(client: httpx.AsyncClient, provider: str = "peer", *, next_: str = "/", **options: Any) -> str:
    """The address at the provider to which the browser is sent."""
    answer = await client.get(f"/user/oauth/login/{provider}", params={"next": next_}, **options)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


async def come_in(
    client: httpx.AsyncClient, login: str, provider: str = "peer", *, next_: str = "/", **options: Any
) -> httpx.Response:
    """The whole way in a browser, from our login to our callback."""
    address = await come_back(await set_out(client, provider, next_=next_, **options), login)
    return await client.get(address, headers={"sec-fetch-site": "cross-site"})


async def token_of(peers: dict[str, Any], *, client_id: str = "penstock", **claims: Any) -> str:
    """An id_token of `bent`, which says this about somebody."""
    async with peer_http() as http:
        (await http.post(peers["control"], json={"claims": claims})).raise_for_status()
        form = {"grant_type": "authorization_code", "client_id": client_id, "code": "any"}
        answer = await http.post(f"{peers['bent']}/token", data=form)
        token: str = answer.raise_for_status().json()["id_token"]
        return token


async def arrive(client: httpx.AsyncClient, token: str, method: str = "bent") -> httpx.Response:
    """Sign in with a provider's token."""
    return await client.post("/user/auth", data={"method": method, "token": token})


async def sign_up(client: httpx.AsyncClient, email: str) -> None:
    answer = await client.post("/user/create", data={"email": email, "password": PASSWORD, "signin": "1"})
    assert answer.status_code == 200, answer.text


async def who(client: httpx.AsyncClient) -> str | None:
    """The email that the client is signed in as."""
    answer = await client.get("/user/get")
    return answer.json()["email"] if answer.status_code == 200 else None


def query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def cookies_of(answer: httpx.Response) -> dict[str, str]:
    """Each cookie that an answer sets, whole, by name."""
    return {line.partition("=")[0]: line for line in answer.headers.get_list("set-cookie")}
