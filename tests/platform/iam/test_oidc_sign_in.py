"""Coming in through a company's OpenID Connect provider, and everything that a hostile company may try with one."""

from typing import Any

import httpx
import pytest

from penstock.accounts import reset_tokens, users
from penstock.egress import Egress
from penstock.platform.iam import domains
from penstock.problems import Conflict
from penstock.settings import EGRESS_DENY
from tests.platform.people import API, PASSWORD, Person, register

from .house import SECRET, House, as_person, at_provider, bend, come_in, me, set_out, set_up

pytestmark = pytest.mark.anyio
Peers = dict[str, Any]


async def count_of_accounts(house: House, email: str) -> int:
    return int(await users.by_email(house.parts.database, email) is not None)


async def cookie_for(browser: httpx.AsyncClient, email: str) -> None:
    answer = await browser.post("/user/auth", data={"email": email, "password": PASSWORD})
    assert answer.status_code == 200, answer.text


# --- what it is for


@pytest.mark.parametrize("kind", ["strict", "lavish"])
async def test_a_person_of_a_granted_domain_gets_an_account_tokens_and_a_session(
    house: House, peers: Peers, kind: str
) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers[kind])
    browser = house.browser()
    answer = await come_in(browser, provider, "ann")
    assert list(answer.json()) == ["access_token", "refresh_token", "token_type", "expires_in"]
    person = await me(browser, answer)
    assert (person["email"], person["display_name"]) == ("ann@people.example", "Name of ann")
    assert (await browser.post(f"{API}/auth/session")).status_code == 200
    assert (await browser.get("/user/get")).json()["email"] == "ann@people.example"
    again = await come_in(house.browser(), provider, "ann")
    assert (await me(browser, again))["id"] == person["id"]


async def test_who_was_going_somewhere_gets_there(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    browser = house.browser()
    answer = await come_in(browser, provider, "ann", next_="/projects?x=1")
    assert (answer.status_code, answer.headers["location"]) == (302, "/projects?x=1")
    assert (await browser.get("/user/get")).status_code == 200
    answer = await come_in(house.browser(), provider, "ann", next_="//evil.example")
    assert answer.headers["location"] == "/"


async def test_a_sign_in_is_in_the_company_s_audit_log(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    person = await me(house.client, await come_in(house.browser(), provider, "ann"))
    path = f"/companies/{house.company['id']}/audit?action=iam_provider.sign_in"
    entry = (await house.owner.get(path)).json()["items"][0]
    assert (entry["user_id"], entry["resource_id"]) == (person["id"], provider["id"])
    assert entry["details"] == {"new_account": True, "mappings": []}


# --- which accounts it opens


async def test_without_a_granted_domain_nobody_new_comes_in(house: House, peers: Peers) -> None:
    provider = await house.oidc(peers["strict"])
    answer = await come_in(house.browser(), provider, "ann")
    assert answer.status_code == 403
    assert "penstock domains grant" in answer.json()["detail"]
    assert "set-cookie" not in answer.headers or "session=" not in answer.headers["set-cookie"]
    assert await count_of_accounts(house, "ann@people.example") == 0


async def test_a_hostile_company_cannot_claim_somebody_s_email(house: House, peers: Peers) -> None:
    victim = await register(house.client, "victim")
    hostile = await set_up(house.client, "eve", "Evil")
    await hostile.grant("evil.example")
    provider = await hostile.oidc(peers["bent"])
    await bend(peers, sub="1", email=victim.email, email_verified=True)
    known = await come_in(hostile.browser(), provider)
    await bend(peers, sub="2", email="nobody@example.com", email_verified=True)
    unknown = await come_in(hostile.browser(), provider)
    # The same answer, so that a company learns nothing about who has an account here.
    assert known.status_code == unknown.status_code == 403
    assert known.json()["detail"] == unknown.json()["detail"]


async def test_a_domain_of_another_company_is_not_one_s_own(house: House, peers: Peers) -> None:
    await house.grant("acme.example")
    hostile = await set_up(house.client, "eve", "Evil")
    with pytest.raises(Conflict):
        await hostile.grant("acme.example")
    await hostile.grant("evil.example")
    provider = await hostile.oidc(peers["bent"])
    for email in (
        "boss@acme.example",
        "boss@sub.evil.example",
        "boss@acme.example.evil.example",
        "x@evil.example@acme.example",
    ):
        await bend(peers, sub=email, email=email, email_verified=True)
        assert (await come_in(hostile.browser(), provider)).status_code == 403, email


async def test_an_existing_account_in_the_domain_is_not_joined_by_email(house: House, peers: Peers) -> None:
    await house.grant("example.com")
    victim = await register(house.client, "victim")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="1", email=victim.email.upper(), email_verified=True)
    answer = await come_in(house.browser(), provider)
    assert answer.status_code == 409
    assert answer.json()["detail"] == "an account with this email exists: sign in first, then link"


@pytest.mark.parametrize("said", [False, None, "yes", 1])
async def test_an_unverified_email_makes_no_account(house: House, peers: Peers, said: Any) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="1", email="ann@people.example", email_verified=said)
    answer = await come_in(house.browser(), provider)
    assert answer.status_code == 403
    assert "verified" in answer.json()["detail"]


async def test_a_company_may_vouch_for_emails_of_which_its_provider_says_nothing(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["bent"], trust_email=True)
    await bend(peers, sub="1", email="ann@people.example")
    assert (await come_in(house.browser(), provider)).status_code == 200
    await bend(peers, sub="2", email="bob@people.example", email_verified=False)
    assert (await come_in(house.browser(), provider)).status_code == 403


async def test_the_same_subject_at_another_company_s_provider_is_somebody_else(house: House, peers: Peers) -> None:
    """Same issuer, same client, same subject: a hostile company registers all that it can see of its victim's."""
    await house.grant("people.example")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="1", email="ann@people.example", email_verified=True)
    ann = await me(house.client, await come_in(house.browser(), provider))
    hostile = await set_up(house.client, "eve", "Evil")
    await hostile.grant("evil.example")
    twin = await hostile.oidc(peers["bent"])
    assert (await come_in(hostile.browser(), twin)).status_code == 403
    await bend(peers, sub="1", email="eve@evil.example", email_verified=True)
    eve = await me(house.client, await come_in(hostile.browser(), twin))
    assert eve["id"] != ann["id"]


async def test_an_identity_does_not_carry_over_to_another_issuer(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    await come_in(house.browser(), provider, "ann")
    change = {"issuer": peers["bent"], "client_id": "penstock", "client_secret": SECRET}
    answer = await house.owner.put(f"/iam/providers/{provider['id']}", {"config": change})
    assert answer.status_code == 200
    await bend(peers, sub="ann", email="ann@people.example", email_verified=True)
    assert (await come_in(house.browser(), provider)).status_code == 409
    back = {"issuer": peers["strict"], "client_id": "penstock", "client_secret": SECRET}
    await house.owner.put(f"/iam/providers/{provider['id']}", {"config": back})
    assert (await come_in(house.browser(), provider, "ann")).status_code == 409


async def test_a_revoked_domain_makes_no_more_accounts(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    assert (await come_in(house.browser(), provider, "ann")).status_code == 200
    await domains.revoke(house.parts.database, house.company["id"], "people.example")
    assert (await come_in(house.browser(), provider, "bob")).status_code == 403


# --- switched off


async def test_a_provider_switched_off_lets_nobody_in_not_even_who_is_on_the_way(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    path, browser = f"/iam/providers/{provider['id']}", house.browser()
    address = await at_provider(await set_out(browser, provider), "ann")
    await house.owner.put(path, {"enabled": False})
    assert (await browser.get(address)).status_code == 403
    assert (await browser.get(f"{API}/auth/iam/{provider['id']}")).status_code == 403
    await house.owner.put(path, {"enabled": True})
    address = await at_provider(await set_out(browser, provider), "ann")
    await house.owner.delete(path)
    assert (await browser.get(address)).status_code == 404
    assert await count_of_accounts(house, "ann@people.example") == 0


# --- the way there and back


async def test_a_callback_needs_the_browser_that_set_out(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    address = await at_provider(await set_out(house.browser(), provider), "ann")
    assert (await house.browser().get(address)).status_code == 400
    other = house.browser()
    await set_out(other, provider)
    assert (await other.get(address)).status_code == 400


async def test_a_flight_to_one_provider_does_not_land_at_another(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    hostile = await set_up(house.client, "eve", "Evil")
    ours, theirs = await house.oidc(peers["strict"]), await hostile.oidc(peers["bent"])
    browser = house.browser()
    await set_out(browser, theirs)
    address = await at_provider(await set_out(house.browser(), ours), "ann")
    assert (await browser.get(address)).status_code == 400


async def test_a_code_works_once_and_a_provider_s_refusal_is_one(house: House, peers: Peers) -> None:
    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    browser = house.browser()
    address = await at_provider(await set_out(browser, provider), "ann")
    cookie = browser.cookies["iam_login"]
    assert (await browser.get(address)).status_code == 200
    browser.cookies.set("iam_login", cookie)
    assert (await browser.get(address)).status_code == 400
    await set_out(browser, provider)
    path = f"{API}/auth/iam/{provider['id']}/callback"
    assert (await browser.get(path, params={"error": "access_denied", "state": "x"})).status_code == 400
    assert (await browser.get(path)).status_code == 400


async def test_over_https_no_neighbour_can_plant_the_cookie(house: House, peers: Peers) -> None:
    provider = await house.oidc(peers["strict"])
    headers = {"x-forwarded-proto": "https"}
    from tests.conftest import client_of

    behind_proxy = client_of(house.client.app, address="127.0.0.1")  # type: ignore[attr-defined]
    answer = await behind_proxy.get(f"{API}/auth/iam/{provider['id']}", headers=headers)
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-iam_login=")
    assert "Path=/; HttpOnly; SameSite=Lax; Secure" in cookie


async def test_sign_in_obeys_the_egress_policy(house: House, peers: Peers) -> None:
    async def resolve(_: str, __: int) -> list[str]:
        return ["169.254.169.254"]

    house.parts.iam._http._transport._pool._network_backend._egress = Egress(EGRESS_DENY, resolve=resolve)  # type: ignore[attr-defined]
    provider = await house.oidc("http://idp.example")
    assert (await house.browser().get(f"{API}/auth/iam/{provider['id']}")).status_code == 502


@pytest.mark.parametrize("kind", ["custom", "kubernetes"])
async def test_types_that_sign_nobody_in_say_so(house: House, kind: str) -> None:
    config = {"server": "https://k8s.example", "token": "t"} if kind == "kubernetes" else {}
    provider = await house.provider(kind, config)
    path = f"{API}/auth/iam/{provider['id']}"
    assert (await house.client.get(path)).status_code == 400
    answer = await house.client.post(path, json={"username": "a", "password": "b"})
    assert answer.status_code == 400
    assert (await house.client.get(path + "/callback")).status_code == 400


@pytest.mark.parametrize("id_", ["x", "00000000-0000-7000-8000-000000000000", "%00"])
async def test_an_unknown_provider_is_not_found(client: httpx.AsyncClient, id_: str) -> None:
    assert (await client.get(f"{API}/auth/iam/{id_}")).status_code == 404
    assert (await client.get(f"{API}/auth/iam/{id_}/callback")).status_code == 404
    answer = await client.post(f"{API}/auth/iam/{id_}", json={"username": "a", "password": "b"})
    assert answer.status_code == 404


# --- linking


async def link_by_cookie(house: House, provider: Any, person: Person, headers: Any = None) -> httpx.Response:
    browser = house.browser()
    await cookie_for(browser, person.email)
    return await come_in(browser, provider, headers=headers)


async def test_who_is_signed_in_links_and_comes_in_by_it_afterwards(house: House, peers: Peers) -> None:
    lena = await register(house.client, "lena")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="7", email="someone@elsewhere.example")
    answer = await link_by_cookie(house, provider, lena, {"sec-fetch-site": "same-origin"})
    assert answer.json() == {"linked": True, "provider_id": provider["id"]}
    assert (await me(house.client, await come_in(house.browser(), provider)))["email"] == lena.email


async def test_who_unlinks_a_provider_loses_what_it_gave_and_keeps_a_way_in(house: House, peers: Peers) -> None:
    lena = await register(house.client, "lena")
    provider = await house.oidc(peers["bent"])
    await house.maps(provider, "staff", "company", house.company, "viewer")
    await bend(peers, sub="70", groups=["staff"])
    await link_by_cookie(house, provider, lena)
    found = (await lena.get("/auth/identities")).json()
    assert found["total"] == 1
    assert found["items"][0].items() >= {"provider_id": provider["id"], "company": "Acme", "enabled": True}.items()
    assert (await lena.get(f"/companies/{house.company['id']}")).status_code == 200
    assert (await house.owner.delete(f"/auth/identities/{provider['id']}")).status_code == 404
    assert (await lena.delete(f"/auth/identities/{provider['id'].upper()}")).status_code == 204
    assert (await lena.get(f"/companies/{house.company['id']}")).status_code == 403
    assert (await lena.get("/auth/identities")).json()["items"] == []
    assert (await come_in(house.browser(), provider)).status_code == 403
    audit = await house.owner.get(f"/companies/{house.company['id']}/audit?action=iam_provider.unlink")
    assert audit.json()["total"] == 1
    # An account that the provider made has no other way in.
    await house.grant("people.example")
    config = {"issuer": peers["strict"], "client_id": "penstock", "client_secret": SECRET}
    strict = await house.provider("oidc", config, name="Only way")
    ann = as_person(house.browser(), await come_in(house.browser(), strict, "ann"))
    assert (await ann.delete(f"/auth/identities/{strict['id']}")).status_code == 409
    assert (await ann.get("/auth/identities")).json()["total"] == 1


async def test_a_company_s_provider_is_a_way_in_for_as_long_as_it_is_switched_on(house: House, peers: Peers) -> None:
    await house.grant("acme.example")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="71", email="ann@acme.example", email_verified=True)
    browser = house.browser()
    account = await users.by_id(house.parts.database, (await me(browser, await come_in(browser, provider)))["userid"])
    assert account is not None
    for enabled, status in ((True, 200), (False, 409)):
        async with house.parts.database.transaction() as tx:
            await users.link(tx, account.userid, "social", "1")
        await house.owner.put(f"/iam/providers/{provider['id']}", {"enabled": enabled})
        assert (await browser.post("/user/oauth/remove", data={"method": "social"})).status_code == status


async def test_who_made_an_account_beforehand_does_not_come_back_through_a_provider_of_their_own(
    house: House, peers: Peers
) -> None:
    """Made with somebody else's email, linked to a hostile company, and left for its owner to reset the password."""
    made = await register(house.client, "victim")
    account = await users.by_email(house.parts.database, made.email)
    assert account is not None
    provider = await house.oidc(peers["bent"])
    await house.maps(provider, "7", "company", house.company, "viewer")
    await bend(peers, sub="7")
    await link_by_cookie(house, provider, made)
    async with house.parts.database.transaction() as tx:
        reset = await reset_tokens.issue(tx, account.userid, 3600)
    victim = house.browser()
    await victim.post("/user/resetpassword", data={"token": reset, "password": "another password"})
    assert (await come_in(house.browser(), provider)).status_code == 403
    tokens = as_person(victim, await victim.post(f"{API}/auth/session"))
    assert (await tokens.get("/auth/identities")).json()["total"] == 0
    assert (await tokens.get("/companies")).json()["total"] == 0


async def test_an_access_token_links_too_and_learns_where_to_go(house: House, peers: Peers) -> None:
    lena = await register(house.client, "lena")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="8")
    answer = await lena.get(f"/auth/iam/{provider['id']}", headers={"accept": "application/json"})
    assert answer.status_code == 200
    done = await lena.client.get(await at_provider(answer.json()["location"], ""))
    assert done.json() == {"linked": True, "provider_id": provider["id"]}
    assert (await me(house.client, await come_in(house.browser(), provider)))["email"] == lena.email


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "none"},
        {"sec-fetch-site": "same-site"},
        {"referer": "https://evil.example/"},
    ],
)
async def test_following_a_stranger_s_link_links_nothing(house: House, peers: Peers, headers: dict[str, str]) -> None:
    """A hostile company mails a link to its own provider, which sends everyone back as one and the same subject."""
    victim = await register(house.client, "victim")
    hostile = await set_up(house.client, "eve", "Evil")
    provider = await hostile.oidc(peers["bent"])
    await bend(peers, sub="eve", email="eve@evil.example", email_verified=True)
    assert (await link_by_cookie(house, provider, victim, headers)).status_code == 403
    assert (await come_in(hostile.browser(), provider)).status_code == 403


async def test_another_person_s_browser_does_not_finish_a_link(house: House, peers: Peers) -> None:
    """Else whoever gets a victim through the provider would have the victim's identity, and roles, as their own."""
    eve, victim = await register(house.client, "eve"), await register(house.client, "victim")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="victim")
    attacker, browser = house.browser(), house.browser()
    await cookie_for(attacker, eve.email)
    await cookie_for(browser, victim.email)
    address = await at_provider(await set_out(attacker, provider), "")
    browser.cookies.set("iam_login", attacker.cookies["iam_login"])  # planted
    assert (await browser.get(address)).status_code == 401
    assert (await come_in(house.browser(), provider)).status_code == 403


async def test_a_link_needs_the_session_that_asked_for_it(house: House, peers: Peers) -> None:
    lena = await register(house.client, "lena")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="9")
    browser = house.browser()
    await cookie_for(browser, lena.email)
    address = await at_provider(await set_out(browser, provider), "")
    await browser.get("/user/signout")
    assert (await browser.get(address)).status_code == 401
    answer = await lena.get(f"/auth/iam/{provider['id']}")
    await lena.post("/auth/logout")
    assert (await lena.client.get(await at_provider(answer.headers["location"], ""))).status_code == 401


async def test_an_identity_opens_one_account(house: House, peers: Peers) -> None:
    lena, otto = await register(house.client, "lena"), await register(house.client, "otto")
    provider = await house.oidc(peers["bent"])
    await bend(peers, sub="10")
    assert (await link_by_cookie(house, provider, lena)).status_code == 200
    assert (await link_by_cookie(house, provider, lena)).status_code == 200
    assert (await link_by_cookie(house, provider, otto)).status_code == 409


async def test_a_deactivated_account_stays_closed(house: House, peers: Peers) -> None:
    from sqlalchemy import update

    from penstock.storage import Statement
    from penstock.storage.schema import accounts

    await house.grant("people.example")
    provider = await house.oidc(peers["strict"])
    as_person(house.client, await come_in(house.browser(), provider, "ann"))
    async with house.parts.database.transaction() as tx:
        await tx.run(Statement(update(accounts).where(accounts.c.email == "ann@people.example").values(active=False)))
    assert (await come_in(house.browser(), provider, "ann")).status_code == 403
