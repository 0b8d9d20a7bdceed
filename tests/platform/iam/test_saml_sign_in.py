"""Coming in through a company's SAML provider, which shares our endpoint with the operator's and everyone else's."""

from typing import Any

import httpx
import pytest

from penstock.accounts import saml_registry
from tests.platform.people import API, PASSWORD, register

from .house import House, as_person, come_in_by_saml, me, post_answer, saml_answer, set_out, set_up

pytestmark = pytest.mark.anyio
Peer = dict[str, Any]


async def introduce(house: House, peer: Peer) -> str:
    """Give the peer our metadata; its own."""
    ours = (await house.client.get("/user/saml/metadata")).text
    async with httpx.AsyncClient(trust_env=False) as http:
        (await http.put(peer["sp_url"], content=ours)).raise_for_status()
        return (await http.get(peer["metadata_url"])).text


async def saml_of(house: House, peer: Peer, **more: Any) -> Any:
    return await house.provider("saml", {"metadata_xml": await introduce(house, peer), **more})


async def cookie_for(browser: httpx.AsyncClient, email: str) -> None:
    answer = await browser.post("/user/auth", data={"email": email, "password": PASSWORD})
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("by", ["document", "address"])
async def test_a_person_of_a_granted_domain_comes_in(house: House, saml_peer: Peer, by: str) -> None:
    await house.grant("example.org")
    xml = await introduce(house, saml_peer)
    config = {"metadata_xml": xml} if by == "document" else {"metadata_url": saml_peer["metadata_url"]}
    provider = await house.provider("saml", config)
    await house.maps(provider, "staff", "company", house.company, "viewer")
    browser = house.browser()
    answer = await come_in_by_saml(browser, provider, email="ann@example.org")
    person = await me(browser, answer)
    assert person["email"] == "ann@example.org"
    assert (await as_person(browser, answer).get(f"/companies/{house.company['id']}")).status_code == 200
    assert (await browser.get("/user/get")).json()["email"] == "ann@example.org"
    again = await come_in_by_saml(house.browser(), provider, next_="/x", email="ann@example.org")
    assert (again.status_code, again.headers["location"]) == (302, "/x")


async def test_domains_must_be_granted_and_the_provider_s_own(house: House, saml_peer: Peer) -> None:
    provider = await saml_of(house, saml_peer, domains=["example.org"])
    assert (await come_in_by_saml(house.browser(), provider, email="ann@example.org")).status_code == 403
    await house.grant("example.org", "example.net")
    assert (await come_in_by_saml(house.browser(), provider, email="ann@example.net")).status_code == 403
    assert (await come_in_by_saml(house.browser(), provider, email="ann@example.org")).status_code == 200


async def test_an_existing_account_is_not_joined_by_email(house: House, saml_peer: Peer) -> None:
    await house.grant("example.com")
    victim = await register(house.client, "victim")
    provider = await saml_of(house, saml_peer)
    assert (await come_in_by_saml(house.browser(), provider, email=victim.email)).status_code == 409


async def test_registering_the_operator_s_provider_as_one_s_own_opens_nothing(house: House, saml_peer: Peer) -> None:
    """The operator's provider signs people of its domains in by email. The company's entry of the same entity id,
    with the very same keys, does not; nor does it change whose answers the operator's are."""
    xml = await introduce(house, saml_peer)
    await saml_registry.add(house.parts.database, xml, ["example.org"])
    browser = house.browser()
    begun = await browser.get("/user/auth", params={"email": "ann@example.org", "sso": "1"})
    answer = await saml_answer(begun.headers["location"], email="ann@example.org")
    assert (await post_answer(browser, answer)).headers["set-cookie"].startswith("session=")

    hostile = await set_up(house.client, "eve", "Evil")
    provider = await hostile.provider("saml", {"metadata_xml": xml})
    assert (await come_in_by_saml(hostile.browser(), provider, email="ann@example.org")).status_code == 403

    begun = await browser.get("/user/auth", params={"email": "ann@example.org", "sso": "1"})
    answer = await saml_answer(begun.headers["location"], email="ann@example.org")
    assert (await post_answer(browser, answer)).headers["set-cookie"].startswith("session=")


async def test_an_entity_id_claimed_with_other_keys_stands_in_for_nobody(house: House, saml_peer: Peer) -> None:
    """A hostile company registers its victim's entity id with a certificate of its own: each answer is checked with
    the keys of whom we asked."""
    await house.grant("example.org")
    ours = await saml_of(house, saml_peer)
    hostile = await set_up(house.client, "eve", "Evil")
    async with httpx.AsyncClient(trust_env=False) as http:
        forged = (await http.get(saml_peer["metadata_url"], params={"key": "second"})).text
    theirs = await hostile.provider("saml", {"metadata_xml": forged})
    # Signed with the hostile key, in answer to a request to the victim's provider.
    answer = await come_in_by_saml(house.browser(), ours, email="ann@example.org", key="second")
    assert answer.status_code == 401
    # Good where it was asked for: but there, nothing is granted.
    answer = await come_in_by_saml(hostile.browser(), theirs, email="ann@example.org", key="second")
    assert answer.status_code == 403
    assert (await come_in_by_saml(house.browser(), ours, email="ann@example.org")).status_code == 200


async def test_the_same_name_at_two_companies_is_two_people(house: House, saml_peer: Peer) -> None:
    await house.grant("example.org")
    ours = await saml_of(house, saml_peer)
    ann = await me(house.client, await come_in_by_saml(house.browser(), ours, email="ann@example.org"))
    hostile = await set_up(house.client, "eve", "Evil")
    await hostile.grant("evil.example")
    theirs = await saml_of(hostile, saml_peer)
    choices = {"email": "eve@evil.example", "name_id": "eve@evil.example"}
    eve = await me(house.client, await come_in_by_saml(hostile.browser(), theirs, **choices))
    assert eve["id"] != ann["id"]


async def test_a_sign_in_that_begins_at_the_company_s_provider_is_refused(house: House, saml_peer: Peer) -> None:
    await house.grant("example.org")
    await saml_of(house, saml_peer)
    answer = await saml_answer(saml_peer["initiate_url"], email="ann@example.org")
    assert (await post_answer(house.browser(), answer)).status_code == 401


async def test_an_answer_works_once_and_only_in_the_browser_that_set_out(house: House, saml_peer: Peer) -> None:
    await house.grant("example.org")
    provider = await saml_of(house, saml_peer)
    browser = house.browser()
    answer = await saml_answer(await set_out(browser, provider), email="ann@example.org")
    handed = await post_answer(browser, answer)
    assert handed.status_code == 303
    assert (await post_answer(browser, answer)).status_code == 401
    stranger = house.browser()
    assert (await stranger.get(handed.headers["location"])).status_code == 400
    await set_out(stranger, provider)
    assert (await stranger.get(handed.headers["location"])).status_code == 400
    assert (await browser.get(handed.headers["location"] + "x")).status_code == 400
    assert (await browser.get(handed.headers["location"])).status_code == 200


async def test_switched_off_or_deleted_it_lets_nobody_in_who_is_on_the_way(house: House, saml_peer: Peer) -> None:
    await house.grant("example.org")
    provider = await saml_of(house, saml_peer)
    path, browser = f"/iam/providers/{provider['id']}", house.browser()
    at_acs = await saml_answer(await set_out(browser, provider), email="ann@example.org")
    second = house.browser()
    handed = await post_answer(second, await saml_answer(await set_out(second, provider), email="ann@example.org"))
    await house.owner.put(path, {"enabled": False})
    assert (await post_answer(browser, at_acs)).status_code == 401
    assert (await second.get(handed.headers["location"])).status_code == 403
    await house.owner.delete(path)
    assert (await post_answer(browser, at_acs)).status_code == 401
    assert (await second.get(handed.headers["location"])).status_code == 404


async def test_linking_takes_the_browser_of_who_asked(house: House, saml_peer: Peer) -> None:
    """The answer comes without cookies, so an attacker may have a victim's browser answer the attacker's request."""
    provider = await saml_of(house, saml_peer)
    eve, lena = await register(house.client, "eve"), await register(house.client, "lena")
    attacker, victim = house.browser(), house.browser()
    await cookie_for(attacker, eve.email)
    await cookie_for(victim, lena.email)
    url = await set_out(attacker, provider, headers={"sec-fetch-site": "same-origin"})
    handed = await post_answer(victim, await saml_answer(url, email="victim@example.org"))
    assert (await victim.get(handed.headers["location"])).status_code == 400
    assert (await come_in_by_saml(house.browser(), provider, email="victim@example.org")).status_code == 403
    answer = await come_in_by_saml(victim, provider, email="victim@example.org")
    assert answer.json() == {"linked": True, "provider_id": provider["id"]}
    answer = await come_in_by_saml(house.browser(), provider, email="victim@example.org")
    assert (await me(house.client, answer))["email"] == lena.email


async def test_another_entity_id_has_other_people(house: House, saml_peer: Peer) -> None:
    await house.grant("example.org")
    provider = await saml_of(house, saml_peer)
    await come_in_by_saml(house.browser(), provider, email="ann@example.org")
    path = f"/iam/providers/{provider['id']}"
    xml = provider["config"]["metadata_xml"]
    other = xml.replace(f'entityID="{saml_peer["metadata_url"]}"', 'entityID="https://other.example"')
    assert other != xml
    await house.owner.put(path, {"config": {"metadata_xml": other}})
    await house.owner.put(path, {"config": {"metadata_xml": xml}})
    assert (await come_in_by_saml(house.browser(), provider, email="ann@example.org")).status_code == 409


async def test_metadata_that_cannot_be_had_is_the_provider_s_fault(house: House) -> None:
    provider = await house.provider("saml", {"metadata_url": "http://127.0.0.1:9/"})
    assert (await house.browser().get(f"{API}/auth/iam/{provider['id']}")).status_code == 502
