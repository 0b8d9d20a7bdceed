"""A company's directory: tried, and signed in with."""

import asyncio
from typing import Any

import httpx
import pytest

from penstock.platform.iam import directory, domains
from tests.platform.people import API, PASSWORD, register

from .certificates import Authority
from .house import House, as_person, host_of, me

pytestmark = pytest.mark.anyio
BASE = "dc=example,dc=com"


def config(ldap: dict[str, Any], authority: Authority, **more: Any) -> dict[str, Any]:
    return {
        "url": ldap["tls"],
        "bind_dn": f"cn=reader,{BASE}",
        "bind_password": "read me",
        "base_dn": BASE,
        "user_filter": "(&(objectClass=inetOrgPerson)(|(uid={username})(cn={username})))",
        "group_filter": "(member={dn})",
        "ca_certificate": authority.pem,
    } | more


def cookie_of(answer: httpx.Response) -> str:
    return answer.headers["set-cookie"].split(";")[0]


async def sign_in(house: House, provider: Any, username: str, password: str, **options: Any) -> httpx.Response:
    body = {"username": username, "password": password}
    return await house.browser().post(f"{API}/auth/iam/{provider['id']}", json=body, **options)


async def test_a_directory_passes_over_tls_and_without_it(
    house: House, ldap: dict[str, Any], authority: Authority
) -> None:
    provider = await house.provider("ldap", config(ldap, authority), "tls")
    assert await house.tested(provider) == (True, f"bound as cn=reader,{BASE}; found {BASE}")
    plain = await house.provider("ldap", config(ldap, authority, url=ldap["plain"], start_tls=False), "plain")
    assert await house.tested(plain) == (True, f"bound as cn=reader,{BASE}; found {BASE}")


async def test_what_is_wrong_with_a_directory_is_said(house: House, ldap: dict[str, Any], authority: Authority) -> None:
    tls, plain = host_of(ldap["tls"]), host_of(ldap["plain"])
    for change, message in (
        ({"bind_password": "wrong"}, "the directory does not accept bind_dn or bind_password"),
        ({"base_dn": f"ou=nowhere,{BASE}"}, "the directory has no such base_dn"),
        (
            {"url": ldap["plain"]},
            f"{plain} does not offer StartTLS; use ldaps://, or set start_tls to false on a network you trust",
        ),
        ({"url": "ldap://127.0.0.1:9", "start_tls": False}, "127.0.0.1:9 refused the connection"),
    ):
        provider = await house.provider("ldap", config(ldap, authority, **change), message)
        assert await house.tested(provider) == (False, message)
    stranger = await house.provider("ldap", config(ldap, authority, ca_certificate=Authority().pem), "stranger")
    success, message = await house.tested(stranger)
    assert not success
    assert message.startswith(f"the certificate of {tls} was not accepted: ")
    by_address = config(ldap, authority, url=ldap["tls"].replace("localhost", "127.0.0.1"))
    success, message = await house.tested(await house.provider("ldap", by_address, "another name"))
    assert not success
    assert "IP address mismatch" in message


async def test_a_directory_that_says_nothing_is_not_waited_for(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "SECONDS", 0.5)
    monkeypatch.setattr(directory, "_STEP_SECONDS", 1)
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            pass
        gone.set()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        known = {"url": f"ldap://127.0.0.1:{port}", "base_dn": BASE, "start_tls": False}
        success, message = await house.tested(await house.provider("ldap", known))
        assert (success, message) == (False, f"127.0.0.1:{port} did not answer in time")
        await asyncio.wait_for(gone.wait(), 60)


async def test_a_person_of_the_directory_gets_an_account_and_tokens(
    house: House, ldap: dict[str, Any], authority: Authority
) -> None:
    provider = await house.provider("ldap", config(ldap, authority))
    assert (await sign_in(house, provider, "ann", "ann's password")).status_code == 403
    await house.grant("example.org")
    answer = await sign_in(house, provider, "ann", "ann's password")
    person = await me(house.client, answer)
    assert person["email"] == "ann@example.org"
    assert person["display_name"] == "Name of ann"
    # The console asks for its tokens with the cookie.
    session = await house.browser().post(f"{API}/auth/session", headers={"cookie": cookie_of(answer)})
    assert (await me(house.client, session))["id"] == person["id"]
    again = await sign_in(house, provider, "ann", "ann's password")
    assert (await me(house.client, again))["id"] == person["id"]
    answer = await house.client.get(f"{API}/auth/iam/{provider['id']}")
    assert answer.status_code == 400
    assert "POST" in answer.json()["detail"]


async def test_a_foreign_page_signs_nobody_in_as_somebody_else(
    house: House, ldap: dict[str, Any], authority: Authority
) -> None:
    await house.grant("example.org")
    provider = await house.provider("ldap", config(ldap, authority))
    headers = {"origin": "https://evil.example", "content-type": "text/plain"}
    answer = await sign_in(house, provider, "ann", "ann's password", headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("ann", "wrong"),
        ("ann", ""),
        ("nobody", "ann's password"),
        ("", "ann's password"),
        ("*", "ann's password"),
        ("an*", "ann's password"),
        ("ann)(uid=*", "ann's password"),
        ("nobody)(uid=ann", "ann's password"),
        ("*)(|(uid=ann", "ann's password"),
        ("ann\0", "ann's password"),
        ("twin", "twin1's password"),
        ("ann\\2a", "ann's password"),
    ],
)
async def test_wrong_passwords_and_injected_filters_open_nothing(
    house: House, ldap: dict[str, Any], authority: Authority, username: str, password: str
) -> None:
    await house.grant("example.org")
    provider = await house.provider("ldap", config(ldap, authority))
    answer = await sign_in(house, provider, username, password)
    assert answer.status_code == 401, answer.text
    assert answer.json()["detail"] == "wrong user name or password"


async def test_guesses_are_limited(house: House, ldap: dict[str, Any], authority: Authority) -> None:
    await house.grant("example.org")
    provider = await house.provider("ldap", config(ldap, authority))
    statuses = [(await sign_in(house, provider, "ann", "wrong")).status_code for _ in range(11)]
    assert statuses == [401] * 10 + [429]


async def test_groups_of_the_directory_give_roles(house: House, ldap: dict[str, Any], authority: Authority) -> None:
    await house.grant("example.org")
    provider = await house.provider("ldap", config(ldap, authority))
    await house.maps(provider, "engineers", "company", house.company, "editor")
    await house.maps(provider, f"cn=everyone,ou=groups,{BASE}", "company", house.company, "viewer")
    path = f"/companies/{house.company['id']}"
    ann = as_person(house.client, await sign_in(house, provider, "ann", "ann's password"))
    bob = as_person(house.client, await sign_in(house, provider, "bob", "bob's password"))
    assert (await ann.post(f"/organizations/{house.company['id']}/projects", {"name": "P"})).status_code == 201
    assert (await bob.get(path)).status_code == 200
    assert (await bob.post(f"/organizations/{house.company['id']}/projects", {"name": "Q"})).status_code == 403


async def test_a_signed_in_person_links_the_directory_instead(
    house: House, ldap: dict[str, Any], authority: Authority
) -> None:
    provider = await house.provider("ldap", config(ldap, authority))
    lena = await register(house.client, "lena")
    headers = {"Authorization": f"Bearer {lena.tokens['access_token']}"}
    answer = await sign_in(house, provider, "bob", "bob's password", headers=headers)
    assert answer.json() == {"linked": True, "provider_id": provider["id"]}
    answer = await sign_in(house, provider, "bob", "bob's password")
    assert (await me(house.client, answer))["email"] == lena.email
    other = await register(house.client, "otto")
    headers = {"Authorization": f"Bearer {other.tokens['access_token']}"}
    assert (await sign_in(house, provider, "bob", "bob's password", headers=headers)).status_code == 409


async def test_another_directory_has_other_people(house: House, ldap: dict[str, Any], authority: Authority) -> None:
    """The subject stays the same; who vouches for it does not."""
    await house.grant("example.org")
    known = config(ldap, authority)
    provider = await house.provider("ldap", known)
    await house.maps(provider, "engineers", "company", house.company, "editor")
    ann = as_person(house.client, await sign_in(house, provider, "ann", "ann's password"))
    moved = known | {"url": ldap["plain"], "start_tls": False}
    await house.owner.put(f"/iam/providers/{provider['id']}", {"config": moved})
    assert (await ann.get(f"/companies/{house.company['id']}")).status_code == 403
    assert (await sign_in(house, provider, "ann", "ann's password")).status_code == 409


async def test_a_password_of_an_account_is_no_password_of_the_directory(
    house: House, ldap: dict[str, Any], authority: Authority
) -> None:
    provider = await house.provider("ldap", config(ldap, authority))
    assert (await sign_in(house, provider, house.owner.email, PASSWORD)).status_code == 401
    assert await domains.listed(house.parts.database) == []
