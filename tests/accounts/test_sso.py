"""Single sign-on through the routes of the whole application: with an identity provider that we did not write, and
against one that forges."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from penstock.accounts import saml_registry
from penstock.accounts.hooks import Hooks
from penstock.accounts.saml import Keypair
from penstock.problems import Conflict, Invalid
from penstock.settings import SettingsError
from penstock.storage import Database, open_database
from tests.conftest import Serve, client_of

from .company import ACS, ENTITY_ID, Company, Fields, claims, forged_metadata, post, request_id, set_out
from .inside import accounts_of, deactivate, everything, rows, stored, verify_email
from .oauth.browser import peer_http
from .saml import forge, wrapping
from .social_site import PASSWORD, arrive, configured, cookies_of, sign_up, token_of, who

pytestmark = pytest.mark.anyio
ANN = "ann@example.org"
FOREIGN_KEYS = forge.make_keys()


@pytest.fixture(scope="session")
def our_keys() -> Keypair:
    return forge.make_keys()


@pytest.fixture(scope="session")
def forged_keys() -> Keypair:
    return forge.make_keys()


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch, our_keys: Keypair) -> None:
    """Every server's keypair is the same one, because making another takes most of a second."""
    monkeypatch.setattr(saml_registry, "make_keypair", lambda: our_keys)


async def join(client: httpx.AsyncClient, company: Company, *domains: str) -> None:
    """The company is registered with us, and we with the company."""
    await saml_registry.add(accounts_of(client).database, company.metadata, list(domains or ("example.org",)))
    await company.meet(client)


async def register_forger(client: httpx.AsyncClient, keys: Keypair, *domains: str) -> None:
    await saml_registry.add(accounts_of(client).database, forged_metadata(keys), list(domains or ("example.org",)))


def another(client: httpx.AsyncClient) -> httpx.AsyncClient:
    return client_of(client.app)  # type: ignore[attr-defined]


# --- the way there and back


async def test_somebody_of_the_company_comes_in_through_its_provider(serve: Serve, company: Company) -> None:
    heard: list[tuple[str, bool]] = []
    hooks = Hooks(on_auth_event=lambda _, action, __, info: heard.append((action, info.new_account)))
    async with serve(hooks=hooks) as client:
        await join(client, company)
        for _ in range(2):
            fields = await company.answer(client, "Ann@Example.org", "/workflows?page=2")
            done = await post(client, fields)
            assert (done.status_code, done.headers["location"]) == (303, "/workflows?page=2"), done.text
            assert "HttpOnly; SameSite=Lax" in cookies_of(done)["session"]
            assert await who(client) == ANN
        account = await stored(client, ANN)
        assert account.email_verified
        assert account.password_hash is None
        assert heard == [("create", True), ("auth", True), ("auth", False)]
        assert await rows(client, "saml_requests") == []


async def test_the_way_there_can_be_a_post_and_its_signature_is_checked(serve: Serve, company: Company) -> None:
    async with serve() as client:
        await join(client, company)
        answer = await client.post("/user/auth?sso=1", data={"email": ANN, "next": "//evil.example"})
        there = answer.headers["location"]
        assert (answer.status_code, there.startswith(company.sso_url + "?")) == (302, True)
        fields = await company.visit(there)
        async with peer_http() as http:
            forged = str(httpx.URL(there).copy_set_param("Signature", "AAAA"))
            assert (await http.get(forged)).status_code == 403
        done = await post(client, fields)
        assert (done.status_code, done.headers["location"]) == (303, "/")


async def test_a_foreign_page_cannot_begin_single_sign_on(serve: Serve, company: Company) -> None:
    async with serve() as client:
        await join(client, company)
        headers = {"sec-fetch-site": "cross-site"}
        answer = await client.get("/user/auth", params={"sso": "1", "email": ANN}, headers=headers)
        assert answer.status_code == 403
        assert await rows(client, "saml_requests") == []


async def test_a_password_is_not_asked_for_where_the_company_signs_in(serve: Serve, company: Company) -> None:
    async with serve() as client:
        await sign_up(client, ANN)
        await join(client, company)
        for email in (ANN, "nobody@EXAMPLE.org"):
            answer = await client.post("/user/auth", data={"email": email, "password": PASSWORD})
            assert (answer.status_code, answer.json()["detail"]) == (407, "sso required")
            assert answer.headers["proxy-authenticate"] == "SAML"
            assert answer.headers["status"] == "sso required"


async def test_who_has_no_provider_signs_in_with_a_password_even_when_asking_for_sso(
    serve: Serve, company: Company
) -> None:
    async with serve() as client:
        await join(client, company)
        await sign_up(client, "bob@sub.example.org")
        fields = {"sso": "1", "email": "bob@sub.example.org", "password": PASSWORD}
        assert (await client.post("/user/auth", data=fields)).status_code == 200
        assert (await client.post("/user/auth", data=fields | {"password": "wrong"})).status_code == 401


# --- which account it opens


async def test_who_made_a_colleagues_account_beforehand_is_out(serve: Serve, company: Company, peers: Any) -> None:
    async with serve(oauth_providers=configured(peers)) as attacker:
        await sign_up(attacker, ANN)
        own = await token_of(peers, sub="eve", email="eve@evil.example", email_verified=True)
        await attacker.post("/user/oauth/add", data={"method": "bent", "token": own})
        planted = attacker.cookies["session"]
        made = await stored(attacker, ANN)
        await join(attacker, company)
        async with another(attacker) as ann:
            assert (await post(ann, await company.answer(ann, ANN))).status_code == 303
            info = (await ann.get("/user/get")).json()
            assert (info["userid"], info["methods"]) == (made.userid, [])
        attacker.cookies.clear()
        attacker.cookies.set("session", planted)
        assert await who(attacker) is None
        assert (await arrive(attacker, own)).json()["email"] == "eve@evil.example"
        assert (await stored(attacker, ANN)).password_hash is None


async def test_an_account_whose_email_was_verified_keeps_what_it_has(serve: Serve, company: Company) -> None:
    async with serve() as client:
        await sign_up(client, ANN)
        await verify_email(client, ANN)
        session = client.cookies["session"]
        before = await stored(client, ANN)
        await join(client, company)
        assert (await post(client, await company.answer(client, ANN))).status_code == 303
        assert await stored(client, ANN) == before
        client.cookies.clear()
        client.cookies.set("session", session)
        assert await who(client) == ANN


async def test_a_deactivated_colleague_stays_out(serve: Serve, company: Company) -> None:
    async with serve() as client:
        await join(client, company)
        await post(client, await company.answer(client, ANN))
        await deactivate(client, ANN)
        assert (await post(client, await company.answer(client, ANN))).status_code == 403
        assert await who(client) is None


async def test_a_link_can_go_where_the_company_signs_in(serve: Serve, company: Company, peers: Any) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await arrive(client, await token_of(peers, sub="ann", email=ANN, email_verified=True))
        assert (await client.post("/user/oauth/remove", data={"method": "bent"})).status_code == 409
        await join(client, company)
        assert (await client.post("/user/oauth/remove", data={"method": "bent"})).status_code == 200


async def test_two_first_sign_ins_at_once_make_one_account(serve: Serve, company: Company) -> None:
    async with serve() as client, serve() as second:
        await join(client, company)
        fields = [await company.answer(client, ANN) for _ in range(4)]
        answers = await asyncio.gather(
            *(post(one, each) for one, each in zip((client, second) * 2, fields, strict=True))
        )
        assert [answer.status_code for answer in answers] == [303] * 4
        assert len(await rows(client, "accounts")) == 1


# --- once only, and only what was asked for


async def test_a_response_is_accepted_once(serve: Serve, company: Company) -> None:
    async with serve() as client, serve() as second:
        await join(client, company)
        fields = await company.answer(client, ANN)
        answers = await asyncio.gather(*(post(one, fields) for one in (client, second) * 3))
        assert sorted(answer.status_code for answer in answers) == [303, 401, 401, 401, 401, 401]
        again = await post(client, fields)
        assert (again.status_code, cookies_of(again)) == (401, {})
        assert len(await rows(client, "sessions")) == 1


async def test_only_the_provider_that_was_asked_may_answer(
    serve: Serve, company: Company, forged_keys: Keypair
) -> None:
    """Two companies use us. The one must not answer for the other, nor for people of the other's domain."""
    async with serve() as client:
        await join(client, company, "example.com")
        await register_forger(client, forged_keys, "example.org")
        asked = request_id(await set_out(client, "bob@example.com"))
        other = forge.true_response(forged_keys, claims(asked))
        own = claims(
            request_id(await set_out(client, ANN)), name_id="bob@example.com", attributes=(("mail", "bob@example.com"),)
        )
        before = await everything(client)
        refused = await post(client, forge.encode(other))
        assert (refused.status_code, "not from the provider that was asked" in refused.text) == (401, True)
        refused = await post(client, forge.encode(forge.true_response(forged_keys, own)))
        assert (refused.status_code, "may not speak for that email" in refused.text) == (401, True)
        assert await everything(client) == before
        right = claims(request_id(await set_out(client, ANN)))
        assert (await post(client, forge.encode(forge.true_response(forged_keys, right)))).status_code == 303


async def test_an_answer_to_a_request_that_is_over_is_refused(
    serve: Serve, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve() as client:
        await join(client, company)
        monkeypatch.setattr(saml_registry, "_REQUEST_LIFE", -1)
        fields = await company.answer(client, ANN)
        refused = await post(client, fields)
        assert (refused.status_code, "took too long" in refused.text) == (401, True)


async def test_a_sign_in_that_begins_at_the_provider_is_off_until_it_is_switched_on(
    serve: Serve, company: Company
) -> None:
    async with serve() as client:
        await join(client, company)
        refused = await post(client, await company.initiate(ANN, "/reports"))
        assert (refused.status_code, "switched off" in refused.text) == (401, True)
        assert await rows(client, "accounts") == []
    async with serve(saml_idp_initiated=True) as client:
        for relay_state, goes in (
            ("/reports", "/reports"),
            ("", "/"),
            ("//evil.example", "/"),
            ("https://evil.example/", "/"),
            ("/\\evil.example", "/"),
        ):
            fields = await company.initiate(ANN, relay_state)
            done = await post(client, fields)
            assert (done.status_code, done.headers["location"]) == (303, goes)
            assert (await post(client, fields)).status_code == 401
        # what answers a request is still accepted only for that request
        stolen = await company.answer(client, ANN)
        assert (await post(client, stolen)).status_code == 303
        assert (await post(client, stolen)).status_code == 401


# --- forgeries, each by the one who has the provider's key, or does not


def _unsigned(keys: Keypair, request: str) -> Any:
    return forge.build(claims(request))


def _signed_by_another(_: Keypair, request: str) -> Any:
    return forge.true_response(FOREIGN_KEYS, claims(request))


def _wrapped(keys: Keypair, request: str) -> Any:
    return wrapping.xsw3(forge.true_response(keys, claims(request)), "_evil")


def _sha1(keys: Keypair, request: str) -> Any:
    root = forge.build(claims(request))
    forge.sign(
        forge.assertion_of(root),
        keys,
        method=forge.xmlsec.Transform.RSA_SHA1,
        digest=forge.xmlsec.Transform.SHA1,
    )
    return forge.reparsed(root)


def _comment(keys: Keypair, request: str) -> Any:
    """What was signed for ann@example.org.evil.example reads, up to the comment, as ann@example.org."""
    email = "ann@example.org.evil.example"
    root = forge.true_response(keys, claims(request, name_id=email, attributes=(("mail", email),)))
    return forge.etree.tostring(root).replace(email.encode(), b"ann@example.org<!---->.evil.example")


def _dtd(keys: Keypair, request: str) -> Any:
    document = forge.etree.tostring(forge.true_response(keys, claims(request)))
    return b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + document


def _changed(keys: Keypair, request: str) -> Any:
    document = forge.etree.tostring(forge.true_response(keys, claims(request)))
    return document.replace(b"ann@example.org", b"admin@example.org")


def _with(**wrong: Any) -> Callable[[Keypair, str], Any]:
    return lambda keys, request: forge.true_response(keys, claims(request, **wrong))


FORGERIES: dict[str, Callable[[Keypair, str], Any]] = {
    "unsigned": _unsigned,
    "signed by somebody else": _signed_by_another,
    "wrapped": _wrapped,
    "signed with SHA-1": _sha1,
    "for another service": _with(audiences=(("https://other.example",),)),
    "for another recipient": _with(recipient="https://other.example/acs"),
    "expired": _with(not_on_or_after="2020-01-01T00:00:00Z", confirmed_until="2020-01-01T00:00:00Z"),
    "not yet valid": _with(not_before="2999-01-01T00:00:00Z"),
    "a comment in the email": _comment,
    "a DTD": _dtd,
    "changed after signing": _changed,
    "in answer to nothing": _with(in_response_to=None),
    "a refusal": _with(status=("urn:oasis:names:tc:SAML:2.0:status:Requester",)),
    "no XML": lambda _, __: b"hello",
}


async def test_no_forgery_opens_or_changes_anything(serve: Serve, forged_keys: Keypair) -> None:
    async with serve() as client:
        await register_forger(client, forged_keys)
        await sign_up(client, ANN)
        request = request_id(await set_out(client, ANN))
        before = await everything(client)
        for name, make in FORGERIES.items():
            refused = await post(client, forge.encode(make(forged_keys, request)))
            assert (refused.status_code, cookies_of(refused)) == (401, {}), name
            assert refused.headers["content-type"] == "application/problem+json"
            assert await everything(client) == before, name
        assert (await post(client, "***")).status_code == 401
        # and the true one, for the same request, is still welcome
        true = forge.true_response(forged_keys, claims(request))
        assert (await post(client, forge.encode(true))).status_code == 303


async def test_a_true_response_of_a_provider_that_nobody_registered_is_refused(
    serve: Serve, forged_keys: Keypair
) -> None:
    async with serve(saml_idp_initiated=True) as client:
        refused = await post(client, forge.encode(forge.true_response(forged_keys, claims(None))))
        assert (refused.status_code, "not registered" in refused.text) == (401, True)


@pytest.mark.parametrize("fields", [{}, {"SAMLResponse": ""}, {"SAMLResponse": " \n"}, {"RelayState": "/"}])
async def test_nothing_is_no_response(client: httpx.AsyncClient, fields: Fields) -> None:
    answer = await post(client, fields)
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (400, "/SAMLResponse")


# --- under which name we are known


async def test_our_metadata_names_us_and_our_key_outlives_a_restart(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saml_registry, "make_keypair", forge.make_keys)
    async with serve() as client, serve() as second:
        first, other = await asyncio.gather(*(one.get("/user/saml/metadata") for one in (client, second)))
        assert first.headers["content-type"] == "application/samlmetadata+xml"
        assert f'entityID="{ENTITY_ID}"' in first.text
        assert f'Location="{ACS}"' in first.text
        assert "PRIVATE" not in first.text
        assert other.text == first.text
        assert len(await rows(client, "saml_service_provider")) == 1
    async with serve() as client:
        assert (await client.get("/user/saml/metadata")).text == first.text


async def test_a_host_that_nobody_vouches_for_is_not_our_name(serve: Serve, forged_keys: Keypair) -> None:
    """Else an assertion that was made for another service could be shown here, under that service's host."""
    async with serve(saml_idp_initiated=True) as client:
        await register_forger(client, forged_keys)
        app = client.app  # type: ignore[attr-defined]
        other = "http://other-service.example"
        theirs = claims(
            None,
            destination=f"{other}/user/saml/acs",
            recipient=f"{other}/user/saml/acs",
            audiences=((f"{other}/user/saml/metadata",),),
        )
        response = forge.encode(forge.true_response(forged_keys, theirs))
        await client.get("/user/saml/metadata")  # makes our key
        before = await everything(client)
        async with client_of(app, base_url=other) as stranger:
            for answer in (
                await stranger.get("/user/saml/metadata"),
                await stranger.get("/user/auth", params={"sso": "1", "email": ANN}),
                await post(stranger, response),
            ):
                assert answer.status_code == 503
                assert "public_url" in answer.json()["detail"]
            stranger.headers["x-forwarded-host"] = "localhost:8080"
            assert (await post(stranger, response)).status_code == 503
        assert (await post(client, response)).status_code == 401
        assert await everything(client) == before
    async with serve(saml_idp_initiated=True, public_url="https://penstock.example") as client:
        app = client.app  # type: ignore[attr-defined]
        async with client_of(app, base_url=other) as stranger:
            assert (
                'entityID="https://penstock.example/user/saml/metadata"'
                in (await stranger.get("/user/saml/metadata")).text
            )
            assert (await post(stranger, response)).status_code == 401
            assert await rows(client, "accounts") == []


async def test_a_trusted_proxy_says_under_which_name_we_are_reached(serve: Serve) -> None:
    forwarded = {"x-forwarded-proto": "https", "x-forwarded-host": "site.example"}
    async with serve() as client:
        async with client_of(client.app, address="127.0.0.1") as proxy:  # type: ignore[attr-defined]
            text = (await proxy.get("/user/saml/metadata", headers=forwarded)).text
            assert 'entityID="https://site.example/user/saml/metadata"' in text
        stranger = (await client.get("/user/saml/metadata", headers=forwarded)).text
        assert f'entityID="{ENTITY_ID}"' in stranger


# --- registering


async def test_a_domain_has_one_provider(database: Database, company: Company, forged_keys: Keypair) -> None:
    await saml_registry.add(database, company.metadata, ["example.org", "@Example.COM"])
    with pytest.raises(Conflict, match=r"another provider speaks for example\.com"):
        await saml_registry.add(database, forged_metadata(forged_keys), ["example.net", "example.com"])
    assert await saml_registry.listed(database) == [
        saml_registry.Registered(company.entity_id, ["example.com", "example.org"])
    ]
    await saml_registry.add(database, company.metadata, ["example.org"])
    await saml_registry.add(database, forged_metadata(forged_keys), ["example.com"])


@pytest.mark.parametrize("domain", ["", "*", "org", "ann@example.org", "example.org/x", "provider.invalid"])
async def test_what_is_no_domain_is_not_registered(database: Database, company: Company, domain: str) -> None:
    with pytest.raises(Invalid):
        await saml_registry.add(database, company.metadata, [domain])
    with pytest.raises(Invalid, match="at least one"):
        await saml_registry.add(database, company.metadata, [])
    assert await saml_registry.listed(database) == []


async def test_nobody_comes_in_through_a_provider_that_was_removed(serve: Serve, company: Company) -> None:
    async with serve(saml_idp_initiated=True) as client:
        await join(client, company)
        fields = [await company.answer(client, ANN), await company.initiate(ANN)]
        await saml_registry.remove(accounts_of(client).database, company.entity_id)
        for each in fields:
            assert (await post(client, each)).status_code == 401
        asked = await client.get("/user/auth", params={"sso": "1", "email": ANN})
        assert asked.status_code == 401
        assert await rows(client, "accounts") == []


async def test_providers_in_the_settings_are_as_they_stand_there_after_each_start(
    serve: Serve, database_url: str, company: Company, forged_keys: Keypair, tmp_path: Path
) -> None:
    real, forged = tmp_path / "real.xml", tmp_path / "forged.xml"
    real.write_text(company.metadata)
    forged.write_text(forged_metadata(forged_keys))

    async def after_start(*providers: tuple[Path, str]) -> dict[str, list[str]]:
        settings = [{"metadata": str(path), "domains": domains.split()} for path, domains in providers]
        async with serve(saml_providers=settings) as client:
            return {one.entity_id: one.domains for one in await saml_registry.listed(accounts_of(client).database)}

    by_hand = forged_metadata(forged_keys, "https://by-hand.example/metadata")
    database = await open_database(database_url)
    await saml_registry.add(database, by_hand, ["by-hand.example"])
    await database.close()
    kept = {"https://by-hand.example/metadata": ["by-hand.example"]}
    both = await after_start((real, "a.example b.example"), (forged, "c.example"))
    assert both == kept | {company.entity_id: ["a.example", "b.example"], forge.ENTITY_ID: ["c.example"]}
    swapped = await after_start((real, "c.example"), (forged, "a.example"))
    assert swapped == kept | {company.entity_id: ["c.example"], forge.ENTITY_ID: ["a.example"]}
    assert await after_start((real, "a.example")) == kept | {company.entity_id: ["a.example"]}
    assert await after_start() == kept


async def test_somebody_comes_in_through_a_provider_of_the_settings(
    serve: Serve, company: Company, tmp_path: Path
) -> None:
    (tmp_path / "idp.xml").write_text(company.metadata)
    async with serve(saml_providers=[{"metadata": str(tmp_path / "idp.xml"), "domains": ["example.org"]}]) as client:
        await company.meet(client)
        assert (await post(client, await company.answer(client, ANN))).status_code == 303
        assert await who(client) == ANN


async def test_a_provider_of_the_settings_that_cannot_be_used_stops_the_start(
    database: Database, settings_with: Any, company: Company, forged_keys: Keypair, tmp_path: Path
) -> None:
    path = tmp_path / "idp.xml"
    wrong = [{"metadata": str(path), "domains": ["example.org"]}]
    with pytest.raises(SettingsError, match=r"idp\.xml"):
        await saml_registry.register_configured(database, settings_with(saml_providers=wrong))
    path.write_text("<hello/>")
    with pytest.raises(SettingsError, match="not SAML metadata"):
        await saml_registry.register_configured(database, settings_with(saml_providers=wrong))
    path.write_text(company.metadata)
    with pytest.raises(SettingsError, match="stands there twice"):
        await saml_registry.register_configured(database, settings_with(saml_providers=wrong * 2))
    await saml_registry.add(database, forged_metadata(forged_keys), ["example.org"])
    with pytest.raises(SettingsError, match="another provider speaks for"):
        await saml_registry.register_configured(database, settings_with(saml_providers=wrong))


# --- a deployment's own choice


async def test_a_hook_chooses_the_provider_but_not_for_whom_it_speaks(serve: Serve, company: Company) -> None:
    async def choose(email: str) -> str:
        return company.entity_id if email.startswith(("ann", "guest")) else ""

    async with serve(hooks=Hooks(saml_provider_for=choose)) as client:
        await join(client, company)
        await sign_up(client, "bob@example.org")
        assert (
            await client.post("/user/auth", data={"email": "bob@example.org", "password": PASSWORD})
        ).status_code == 200
        assert (await client.post("/user/auth", data={"email": ANN, "password": PASSWORD})).status_code == 407
        assert (await post(client, await company.answer(client, ANN))).status_code == 303
        refused = await post(client, await company.answer(client, "guest@elsewhere.example"))
        assert (refused.status_code, "may not speak for that email" in refused.text) == (401, True)


async def test_a_hook_that_names_an_unknown_provider_is_told_so(serve: Serve) -> None:
    async with serve(hooks=Hooks(saml_provider_for=lambda _: "https://gone.example")) as client:
        answer = await client.get("/user/auth", params={"sso": "1", "email": ANN})
        assert answer.status_code == 502
        assert "https://gone.example" in answer.json()["detail"]
        assert "penstock saml add" in answer.json()["detail"]
