"""A company that has identity providers, and browsers that come in through them."""

import html
import re
from typing import Any
from urllib.parse import urlsplit

import httpx

from penstock.platform.iam import domains
from penstock.platform.parts import Parts
from tests.accounts.oauth.browser import come_back
from tests.conftest import client_of
from tests.platform.people import API, Person, register

SITE = "http://localhost:8080"
SECRET = "secret of penstock: +/%&"
IDS = [f"0199d3a4-0000-7000-8000-0000000000{number:02x}" for number in range(1, 9)]


class House:
    def __init__(self, client: httpx.AsyncClient, owner: Person, company: Any) -> None:
        self.client, self.owner, self.company = client, owner, company

    @property
    def parts(self) -> Parts:
        parts: Parts = self.client.app.app.state.platform  # type: ignore[attr-defined]
        return parts

    def browser(self) -> httpx.AsyncClient:
        return client_of(self.client.app, address="198.51.100.99")  # type: ignore[attr-defined]

    async def grant(self, *names: str) -> None:
        for name in names:
            await domains.grant(self.parts.database, self.company["id"], name)

    async def provider(self, kind: str, config: dict[str, Any], name: str = "", **more: Any) -> Any:
        body = {"provider_type": kind, "name": name or f"{kind} of {self.company['name']}", "config": config, **more}
        return await self.owner.made(f"/companies/{self.company['id']}/iam/providers", body)

    async def oidc(self, issuer: str, **more: Any) -> Any:
        config = {"issuer": issuer, "client_id": "penstock", "client_secret": SECRET} | more
        return await self.provider("oidc", config)

    async def tested(self, provider: Any) -> tuple[bool, str]:
        answer = await self.owner.post(f"/iam/providers/{provider['id']}/test")
        assert answer.status_code == 200, answer.text
        return answer.json()["success"], answer.json()["message"]

    async def maps(self, provider: Any, identifier: str, resource_type: str, resource: Any, role: str) -> Any:
        body = {
            "external_identifier": identifier,
            "resource_type": resource_type,
            "resource_id": resource["id"],
            "role": role,
        }
        return await self.owner.made(f"/iam/providers/{provider['id']}/mappings", body)


async def set_up(client: httpx.AsyncClient, owner: str = "olga", company: str = "Acme") -> House:
    person = await register(client, owner)
    return House(client, person, await person.made("/companies", {"name": company}))


async def bend(peers: dict[str, Any], **claims: Any) -> None:
    """What `bent` says from now on."""
    blank = {"email": None, "email_verified": None, "groups": None}
    async with httpx.AsyncClient(trust_env=False) as http:
        (await http.post(peers["control"], json={"claims": blank | claims, "userinfo": claims})).raise_for_status()


async def set_out(browser: httpx.AsyncClient, provider: Any, *, next_: str | None = None, **options: Any) -> str:
    params = {"next": next_} if next_ is not None else {}
    answer = await browser.get(f"{API}/auth/iam/{provider['id']}", params=params, **options)
    assert answer.status_code == 302, answer.text
    location: str = answer.headers["location"]
    return location


async def at_provider(url: str, login: str) -> str:
    """Where the provider sends the browser."""
    if login:
        return await come_back(url, login)
    async with httpx.AsyncClient(trust_env=False) as http:
        answer = await http.get(url)
        assert answer.is_redirect, answer.text
        location: str = answer.headers["location"]
        return location


async def come_in(
    browser: httpx.AsyncClient, provider: Any, login: str = "", *, next_: str | None = None, **options: Any
) -> httpx.Response:
    """The whole way; with no login, `bent`, which asks for none."""
    url = await set_out(browser, provider, next_=next_, **options)
    return await browser.get(await at_provider(url, login), headers={"sec-fetch-site": "cross-site"})


async def saml_answer(url: str, **choices: str) -> str:
    async with httpx.AsyncClient(trust_env=False) as http:
        page = await http.get(str(httpx.URL(url).copy_merge_params(choices)))
    assert page.status_code == 200, page.text
    field = re.search(r'name="SAMLResponse" value="([^"]+)"', page.text)
    assert field is not None
    return html.unescape(field[1])


async def post_answer(browser: httpx.AsyncClient, answer: str) -> httpx.Response:
    """As the provider's page makes the browser do: across sites, without our cookies."""
    bare = client_of(browser._transport.app, address="198.51.100.99")  # type: ignore[attr-defined]
    return await bare.post("/user/saml/acs", data={"SAMLResponse": answer}, headers={"sec-fetch-site": "cross-site"})


async def come_in_by_saml(
    browser: httpx.AsyncClient, provider: Any, *, next_: str | None = None, headers: Any = None, **choices: str
) -> httpx.Response:
    url = await set_out(browser, provider, next_=next_, headers=headers)
    handed_over = await post_answer(browser, await saml_answer(url, **choices))
    if handed_over.status_code != 303:
        return handed_over
    assert "set-cookie" not in handed_over.headers
    return await browser.get(handed_over.headers["location"])


async def me(browser: httpx.AsyncClient, answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    return (await browser.get(f"{API}/auth/me", headers=headers)).json()


def as_person(browser: httpx.AsyncClient, answer: httpx.Response) -> Person:
    assert answer.status_code == 200, answer.text
    return Person(browser, answer.json(), "")


def host_of(url: str) -> str:
    return urlsplit(url).netloc
