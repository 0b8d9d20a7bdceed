"""Social sign-in through the routes of the whole application, at providers that we did not write."""

import time
from typing import Any

import httpx
import msgspec
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from penstock.accounts.hooks import Hooks
from penstock.accounts.oauth import seal, unseal
from penstock.app import create_accounts_app
from penstock.problems import Conflict
from penstock.storage import Transaction
from tests.conftest import Serve, client_of

from .inside import accounts_of, deactivate, everything, rows, stored
from .oauth.browser import come_back
from .social_site import (
    PASSWORD,
    SECRET,
    SITE,
    arrive,
    come_in,
    configured,
    cookies_of,
    query_of,
    set_out,
    sign_up,
    token_of,
    who,
)

pytestmark = pytest.mark.anyio
Peers = dict[str, Any]
NOBODY_LISTENS = "http://127.0.0.1:9"


class Events:
    """What the deployment hears of sign-ins."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, int, bool]] = []
        self.hooks = Hooks(on_auth_event=self._hear)

    async def _hear(self, _: Transaction, action: str, userid: int, info: Any) -> None:
        self.heard.append((action, userid, info.new_account))


# --- the way there and back


async def test_a_browser_comes_back_from_the_provider_signed_in_to_a_new_account(serve: Serve, peers: Peers) -> None:
    events = Events()
    async with serve(oauth_providers=configured(peers), hooks=events.hooks) as client:
        answer = await client.get("/user/oauth/login/peer", params={"next": "/x?tab=1#top"})
        there = answer.headers["location"]
        asked = query_of(there)
        assert there.startswith(peers["lavish"])
        assert asked["redirect_uri"] == f"{SITE}/user/oauth/callback/peer"
        assert asked["code_challenge_method"] == "S256"
        assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 43
        cookie = cookies_of(answer)["oauth_login"]
        assert cookie.endswith("; Max-Age=600; Path=/user/oauth; HttpOnly; SameSite=Lax")
        assert answer.headers["cache-control"] == "no-store"

        back = await client.get(await come_back(there, "ada"))
        assert (back.status_code, back.headers["location"]) == (302, "/x?tab=1#top")
        assert cookies_of(back)["oauth_login"].startswith("oauth_login=; Max-Age=0; Path=/user/oauth;")
        assert "HttpOnly; SameSite=Lax" in cookies_of(back)["session"]
        info = (await client.get("/user/get")).json()
        assert (info["email"], info["methods"]) == ("ada@people.example", ["peer"])
        assert (await stored(client, "ada@people.example")).email_verified

        async with client_of(client.app) as second:  # type: ignore[attr-defined]
            await come_in(second, "ada")
            assert (await second.get("/user/get")).json()["userid"] == info["userid"]
        userid = info["userid"]
        assert events.heard == [("create", userid, True), ("auth", userid, True), ("auth", userid, False)]


async def test_an_email_that_only_the_user_info_tells_counts_too(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        assert (await come_in(client, "unverified-bob", "strict")).status_code == 302
        assert await who(client) == "unverified-bob@people.example"
        assert not (await stored(client, "unverified-bob@people.example")).email_verified


async def test_who_has_no_email_gets_an_address_that_cannot_exist(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        for _ in range(2):
            await come_in(client, "nameless-7")
            assert await who(client) == "nameless-7@peer.invalid"
        assert len(await rows(client, "accounts")) == 1


async def test_next_never_leads_to_another_site(serve: Serve, peers: Peers) -> None:
    attacks = [
        "//evil.example",
        "/\\evil.example",
        "\\/evil.example",
        "/\t/evil.example",
        "\t//evil.example",
        "/\n/evil.example",
        "/%2f/evil.example",
        "/%5cevil.example",
        "/%252f/evil.example",
        "/%09/evil.example",
        "https://evil.example/x",
        "https:evil.example",
        "javascript:alert(1)",
        "///evil.example",
        "evil.example",
        " //evil.example",
        "/x\r\nSet-Cookie: session=planted",
        "",
    ]
    await token_of(peers, sub="ada", email="ada@example.com", email_verified=True)
    async with serve(oauth_providers=configured(peers)) as client:
        for attack in attacks:
            back = await come_in(client, "", "bent", next_=attack)
            assert (back.status_code, back.headers["location"]) == (302, "/"), attack
            assert client.cookies["session"] != "planted"


async def test_what_does_not_belong_together_is_refused(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        there = await set_out(client, "bent")
        back = httpx.URL(await come_back(there, ""))
        before = await everything(client)
        wrong = {
            "another state": await client.get(back.copy_set_param("state", "x" * 43)),
            "no state": await client.get(back.copy_remove_param("state")),
            "no code": await client.get(back.copy_remove_param("code")),
            "another issuer": await client.get(back.copy_set_param("iss", "https://evil.example")),
            "another provider": await client.get(str(back).replace("/bent?", "/bent2?")),
            "a code of nobody": await client.get(back.copy_set_param("code", "made-up")),
            "the provider's error": await client.get(
                "/user/oauth/callback/bent", params={"error": "access_denied", "state": back.params["state"]}
            ),
            "two codes": await client.get(str(back) + "&code=another"),
        }
        cookie = client.cookies["oauth_login"]
        client.cookies.clear()
        wrong["no cookie"] = await client.get(back)
        client.cookies.set("oauth_login", cookie[:-2] + ("AA" if cookie[-2:] != "AA" else "BB"))
        wrong["a cookie that was touched"] = await client.get(back)
        assert {name: answer.status_code for name, answer in wrong.items()} == dict.fromkeys(wrong, 400)
        assert not any("session" in cookies_of(answer) for answer in wrong.values())
        assert all(answer.headers["content-type"] == "application/problem+json" for answer in wrong.values())
        assert await everything(client) == before
        assert "access_denied" not in wrong["the provider's error"].text


async def test_a_callback_works_once(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        back = await come_back(await set_out(client), "ada")
        kept = client.cookies["oauth_login"]
        assert (await client.get(back)).status_code == 302
        assert "oauth_login" not in client.cookies
        async with client_of(client.app) as again:  # type: ignore[attr-defined]
            assert (await again.get(back)).status_code == 400
            again.cookies.set("oauth_login", kept)
            assert (await again.get(back)).status_code == 400
            assert await who(again) is None


async def test_a_sign_in_that_took_more_than_ten_minutes_is_refused(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        back = await come_back(await set_out(client, "bent"), "")
        key = accounts_of(client).state_key
        pending = unseal(client.cookies["oauth_login"], key)
        late = seal(msgspec.structs.replace(pending, expires=int(time.time()) - 1), key)
        client.cookies.clear()
        client.cookies.set("oauth_login", late)
        assert (await client.get(back)).status_code == 400


async def test_a_provider_that_nobody_configured_is_not_found(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        assert (await client.get("/user/oauth/login/nobody")).status_code == 404
        await set_out(client)
        assert (await client.get("/user/oauth/callback/nobody", params={"code": "x"})).status_code == 404


async def test_a_provider_that_was_switched_off_is_refused_on_the_way_back_too(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        back = await come_back(await set_out(client), "ada")
        cookie = client.cookies["oauth_login"]
    async with serve(oauth_providers=configured(peers, peer={"enabled": False})) as client:
        client.cookies.set("oauth_login", cookie)
        answer = await client.get(back)
        assert (answer.status_code, answer.json()["detail"]) == (400, "sign-in with peer is switched off")
        assert (await client.get("/user/oauth/login/peer")).status_code == 400
        assert (await arrive(client, "x.y.z", "peer")).status_code == 400
        assert await rows(client, "accounts") == []


async def test_a_provider_that_does_not_answer_is_a_bad_gateway(serve: Serve, peers: Peers) -> None:
    halfway = {"auth_url": f"{peers['bent']}/authorize", "jwks_url": f"{peers['bent']}/jwks"}
    providers = configured(
        peers, peer={"issuer": NOBODY_LISTENS}, bent={**halfway, "token_url": f"{NOBODY_LISTENS}/token"}
    )
    async with serve(oauth_providers=providers) as client:
        assert (await client.get("/user/oauth/login/peer")).status_code == 502
        assert (await come_in(client, "", "bent")).status_code == 502
        assert (await arrive(client, await token_of(peers, sub="ada"), "peer")).status_code == 502


# --- where the provider sends people back to


async def test_the_callback_is_at_the_address_that_the_browser_used(serve: Serve, peers: Peers) -> None:
    forwarded = {"x-forwarded-proto": "https", "x-forwarded-host": "site.example"}
    async with serve(oauth_providers=configured(peers)) as client:
        stranger = await client.get("/user/oauth/login/bent", headers=forwarded)
        assert query_of(stranger.headers["location"])["redirect_uri"] == f"{SITE}/user/oauth/callback/bent"
        assert "Secure" not in cookies_of(stranger)["oauth_login"]
        async with client_of(client.app, address="127.0.0.1") as proxy:  # type: ignore[attr-defined]
            proxied = await proxy.get("/user/oauth/login/bent", headers=forwarded)
        callback = query_of(proxied.headers["location"])["redirect_uri"]
        assert callback == "https://site.example/user/oauth/callback/bent"
        assert cookies_of(proxied)["oauth_login"].endswith("; Secure")


async def test_the_settings_go_before_the_address_that_the_browser_used(serve: Serve, peers: Peers) -> None:
    providers = configured(peers, bent={"redirect_url": "https://elsewhere.example/back"})
    async with serve(oauth_providers=providers, public_url="https://public.example/app/") as client:
        assert query_of(await set_out(client, "bent"))["redirect_uri"] == "https://elsewhere.example/back"
        answer = await client.get("/user/oauth/login/bent2")
        callback = query_of(answer.headers["location"])["redirect_uri"]
        assert callback == "https://public.example/app/user/oauth/callback/bent2"
        assert "; Path=/app/user/oauth; " in cookies_of(answer)["oauth_login"]


async def test_sign_in_works_where_we_are_mounted_in_another_application(
    settings_with: Any, database_url: str, peers: Peers
) -> None:
    await token_of(peers, sub="ada", email="ada@example.com", email_verified=True)
    app = create_accounts_app(settings_with(oauth_providers=configured(peers)))
    async with app.running(), client_of(Starlette(routes=[Mount("/site", app)])) as client:
        answer = await client.get("/site/user/oauth/login/bent")
        back = await come_back(answer.headers["location"], "")
        assert back.startswith(f"{SITE}/site/user/oauth/callback/bent?")
        assert (await client.get(back)).status_code == 302
        assert (await client.get("/site/user/get")).json()["email"] == "ada@example.com"


# --- linking on the way back


async def test_coming_back_signed_in_links_the_identity_to_the_account(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "grace@example.com")
        session = client.cookies["session"]
        back = await come_in(client, "ada", next_="/settings")
        assert (back.status_code, back.headers["location"]) == (302, "/settings")
        assert client.cookies["session"] == session
        info = (await client.get("/user/get")).json()
        assert (info["email"], info["methods"]) == ("grace@example.com", ["peer"])
        assert (await come_in(client, "ada")).status_code == 302  # once more does no harm
        async with client_of(client.app) as elsewhere:  # type: ignore[attr-defined]
            await come_in(elsewhere, "ada")
            assert await who(elsewhere) == "grace@example.com"


async def test_an_identity_of_another_account_is_not_linked(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await come_in(client, "ada")
        async with client_of(client.app) as thief:  # type: ignore[attr-defined]
            await sign_up(thief, "eve@example.com")
            assert (await come_in(thief, "ada")).status_code == 409
            assert (await thief.get("/user/get")).json()["methods"] == []


async def test_a_foreign_page_cannot_link_its_own_identity_to_a_visitors_account(serve: Serve, peers: Peers) -> None:
    """It signs the visitor in at the provider as somebody else, and then sends them to our login."""
    async with serve(oauth_providers=configured(peers), cors_origins=["https://app.example"]) as client:
        await sign_up(client, "victim@example.com")
        headers = {"sec-fetch-site": "cross-site", "referer": "https://evil.example/"}
        assert (await come_in(client, "eve", headers=headers)).status_code == 302
        assert await who(client) == "eve@people.example"
        assert await rows(client, "oauth_links") != []
        assert (await client.post("/user/auth", data={"email": "victim@example.com", "password": PASSWORD})).json()[
            "methods"
        ] == []
        # a front end of the deployment's own is no foreign page
        headers["referer"] = "https://app.example/"
        assert (await come_in(client, "victims-own", headers=headers)).status_code == 302
        assert (await client.get("/user/get")).json()["methods"] == ["peer"]
        assert await who(client) == "victim@example.com"


async def test_a_planted_cookie_does_not_link_an_attackers_identity(serve: Serve, peers: Peers) -> None:
    """A neighbour under the same domain can set cookies for us, and then has the victim call our callback."""
    async with serve(oauth_providers=configured(peers)) as victim:
        async with client_of(victim.app) as attacker:  # type: ignore[attr-defined]
            await sign_up(attacker, "eve@example.com")
            back = await come_back(await set_out(attacker), "eve")
            planted = attacker.cookies["oauth_login"]
        await sign_up(victim, "victim@example.com")
        victim.cookies.set("oauth_login", planted)
        await victim.get(back)
        assert await who(victim) != "victim@example.com"
        signed_in = await victim.post("/user/auth", data={"email": "victim@example.com", "password": PASSWORD})
        assert signed_in.json()["methods"] == []


# --- who is let in


async def test_a_deactivated_account_is_not_opened(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        token = await token_of(peers, sub="ada", email="ada@example.com", email_verified=True)
        await arrive(client, token)
        await deactivate(client, "ada@example.com")
        before = await everything(client)
        assert (await arrive(client, token)).status_code == 403
        assert (await come_in(client, "", "bent")).status_code == 403
        assert (await arrive(client, token, "bent2")).status_code == 403
        assert await who(client) is None
        assert await everything(client) == before


async def test_a_hook_that_refuses_a_sign_in_is_asked_once_and_nothing_happened(serve: Serve, peers: Peers) -> None:
    asked: list[str] = []

    def refuse(_: Transaction, action: str, __: int, ___: Any) -> None:
        asked.append(action)
        if len(asked) > 2:
            raise Conflict("not today")

    async with serve(oauth_providers=configured(peers), hooks=Hooks(on_auth_event=refuse)) as client:
        token = await token_of(peers, sub="ada", email="ada@example.com", email_verified=True)
        assert (await arrive(client, token)).status_code == 200
        before = await everything(client)
        for provider in ("bent", "bent2"):
            answer = await arrive(client, token, provider)
            assert (answer.status_code, answer.json()["detail"]) == (409, "not today")
        assert asked == ["create", "auth", "auth", "auth"]
        assert await everything(client) == before


# --- tokens that a client has already


async def test_a_providers_token_signs_in(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        token = await token_of(peers, sub="ada", email="Ada@Example.com", email_verified=True)
        first = await client.get("/user/auth", params={"method": "bent", "token": token})
        assert first.json() | {"userid": 0} == {
            "userid": 0,
            "email": "ada@example.com",
            "settings": "",
            "methods": ["bent"],
            "newAccount": True,
        }
        second = await client.post("/user/auth", json={"method": "bent", "token": token})
        assert second.json() == first.json() | {"newAccount": False}
        assert await who(client) == "ada@example.com"
        assert len(await rows(client, "sessions")) == 1


async def test_a_token_that_is_not_for_us_is_refused_everywhere(serve: Serve, peers: Peers) -> None:
    claims: dict[str, Any] = {"sub": "ada", "email": "ada@example.com", "email_verified": True}
    wrong = {
        "for another application": await token_of(peers, **claims, client_id="another"),
        "expired": await token_of(peers, **claims, exp=int(time.time()) - 3600),
        "of another issuer": await token_of(peers, **claims, iss="https://evil.example"),
        "unsigned": "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZGEifQ.",
        "no token at all": "hello",
        "blank": "",
    }
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "grace@example.com")
        before = await everything(client)
        for reason, token in wrong.items():
            assert (await arrive(client, token)).status_code == 400, reason
            added = await client.post("/user/oauth/add", data={"method": "bent", "token": token})
            assert added.status_code == 400, reason
        good = await token_of(peers, **claims)
        for method in ("nobody", "", "peer"):  # the last one is configured, and did not issue the token
            added = await client.post("/user/oauth/add", data={"method": method, "token": good})
            assert added.status_code == 400, method
        assert (await arrive(client, good, "nobody")).status_code == 400
        assert await everything(client) == before


async def test_linking_needs_a_session_and_a_page_of_ours(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        fields = {"method": "bent", "token": await token_of(peers, sub="ada")}
        assert (await client.post("/user/oauth/add", data=fields)).status_code == 401
        assert (await client.post("/user/oauth/remove", data={"method": "bent"})).status_code == 401
        await sign_up(client, "grace@example.com")
        for headers in ({"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}):
            assert (await client.post("/user/oauth/add", data=fields, headers=headers)).status_code == 403
            gone = await client.post("/user/oauth/remove", data={"method": "bent"}, headers=headers)
            assert gone.status_code == 403
        assert await rows(client, "oauth_links") == []


async def test_a_link_is_added_once_for_each_provider(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "grace@example.com")
        fields = {"method": "bent", "token": await token_of(peers, sub="grace", email="other@example.com")}
        for _ in range(2):
            added = await client.post("/user/oauth/add", data=fields)
            assert (added.status_code, added.json()["methods"]) == (200, ["bent"])
            assert added.json()["email"] == "grace@example.com"
        another = {"method": "bent", "token": await token_of(peers, sub="another")}
        assert (await client.post("/user/oauth/add", data=another)).status_code == 409
        async with client_of(client.app) as thief:  # type: ignore[attr-defined]
            await sign_up(thief, "eve@example.com")
            assert (await thief.post("/user/oauth/add", data=fields)).status_code == 409
            assert (await arrive(thief, fields["token"])).json()["email"] == "grace@example.com"


@pytest.mark.parametrize("verified", [True, False])
async def test_update_email_takes_the_providers_email_and_its_word_about_it(
    serve: Serve, peers: Peers, verified: bool
) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "grace@example.com")
        token = await token_of(peers, sub="grace", email="Grace@Work.example", email_verified=verified)
        fields = {"method": "bent", "token": token, "update_email": "true"}
        added = await client.post("/user/oauth/add", data=fields)
        assert (added.status_code, added.json()["email"]) == (200, "grace@work.example")
        assert bool((await stored(client, "grace@work.example")).email_verified) is verified
        old = await client.post("/user/auth", data={"email": "grace@example.com", "password": PASSWORD})
        assert old.status_code == 401


async def test_update_email_takes_nobodys_email_from_another_account(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "taken@example.com")
        await sign_up(client, "grace@example.com")
        before = await everything(client)
        taken = await token_of(peers, sub="grace", email="Taken@example.com", email_verified=True)
        none = await token_of(peers, sub="grace")
        for token, status in ((taken, 409), (none, 400)):
            fields = {"method": "bent", "token": token, "update_email": "1"}
            assert (await client.post("/user/oauth/add", data=fields)).status_code == status
        assert await everything(client) == before


# --- unlinking


async def test_a_link_can_go_when_a_password_or_another_link_is_left(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        token = await token_of(peers, sub="ada", email="ada@example.com", email_verified=True)
        await arrive(client, token)
        assert (await client.post("/user/oauth/remove", data={"method": "peer"})).status_code == 404
        last = await client.post("/user/oauth/remove", data={"method": "bent"})
        assert (last.status_code, (await client.get("/user/get")).json()["methods"]) == (409, ["bent"])
        await client.post("/user/oauth/add", data={"method": "bent2", "token": token})
        removed = await client.post("/user/oauth/remove", data={"method": "bent"})
        assert (removed.status_code, removed.json()["methods"]) == (200, ["bent2"])
        await client.post("/user/update", data={"password": PASSWORD})
        removed = await client.post("/user/oauth/remove", data={"method": "bent2"})
        assert (removed.status_code, removed.json()["methods"]) == (200, [])
        assert (await client.post("/user/oauth/remove", data={"method": "bent2"})).status_code == 404
        signed_in = await client.post("/user/auth", data={"email": "ada@example.com", "password": PASSWORD})
        assert signed_in.status_code == 200


async def test_no_secret_of_ours_or_of_the_provider_is_in_an_answer(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        there = await set_out(client)
        back = httpx.URL(await come_back(there, "ada"))
        pending = unseal(client.cookies["oauth_login"], accounts_of(client).state_key)
        answers = [await client.get(back.copy_set_param("code", "made-up-code")), await client.get(back)]
        assert [answer.status_code for answer in answers] == [400, 302]
        for answer in answers:
            said = answer.text + str(answer.headers) + there
            assert not any(secret in said for secret in (SECRET, pending.verifier, back.params["code"], "made-up-code"))
