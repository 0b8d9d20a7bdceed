"""Which account an outside identity opens, and every way that we know of to get into somebody else's with one."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from sqlalchemy import select

from penstock.accounts import reset_tokens
from penstock.accounts.hooks import Hooks
from penstock.accounts.oauth import OAuthClient
from penstock.accounts.users import Account
from penstock.storage import Statement, Transaction
from penstock.storage.platform_tables import audit_entries
from tests.conftest import Serve, client_of

from .inside import accounts_of, everything, rows, stored, verify_email
from .oauth.stand_in import TOKENS, Service
from .social_site import PASSWORD, arrive, come_in, configured, sign_up, token_of, who

pytestmark = pytest.mark.anyio
Peers = dict[str, Any]
VICTIM = "victim@example.com"
_ENTRIES = Statement(
    select(audit_entries.c.action, audit_entries.c.details).order_by(audit_entries.c.created_at, audit_entries.c.id)
)


def another(client: httpx.AsyncClient) -> httpx.AsyncClient:
    """Another browser, at the same application."""
    return client_of(client.app)  # type: ignore[attr-defined]


async def password_opens(client: httpx.AsyncClient, email: str, password: str = PASSWORD) -> bool:
    async with another(client) as browser:
        return (await browser.post("/user/auth", data={"email": email, "password": password})).status_code == 200


async def entries(client: httpx.AsyncClient) -> list[Any]:
    """The audit log, oldest first."""
    found = await accounts_of(client).database.all(_ENTRIES)
    return [dict(zip(("action", "details"), row, strict=True)) for row in found]


# --- joining an account


async def test_an_unverified_email_of_an_existing_account_opens_nothing(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, VICTIM)
        await verify_email(client, VICTIM)
        before = await everything(client)
        async with another(client) as attacker:
            words: list[Any] = [False, None, "false", "yes", 1, ["true"]]
            for word in words:
                token = await token_of(peers, sub="eve", email="Victim@Example.com", email_verified=word)
                answer = await arrive(attacker, token)
                detail = "an account with this email exists: sign in first, then link"
                assert (answer.status_code, answer.json()["detail"]) == (409, detail), word
            assert (await come_in(attacker, "", "bent")).status_code == 409
            assert await who(attacker) is None
        assert await everything(client) == before


async def test_a_verified_email_joins_a_verified_account_which_keeps_its_password(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "ada@people.example")
        await verify_email(client, "ada@people.example")
        mine = (await client.get("/user/get")).json()["userid"]
        async with another(client) as phone:
            assert (await come_in(phone, "ada")).status_code == 302
            info = (await phone.get("/user/get")).json()
            assert (info["userid"], info["methods"], info["newAccount"]) == (mine, ["peer"], False)
        assert await who(client) == "ada@people.example"
        assert await password_opens(client, "ada@people.example")


async def test_a_trusted_provider_needs_no_word_about_the_email(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers, bent={"trust_email": True})) as client:
        await sign_up(client, VICTIM)
        token = await token_of(peers, sub="victim", email=VICTIM)
        assert (await arrive(client, token, "bent2")).status_code == 409
        assert (await arrive(client, token)).json()["methods"] == ["bent"]


async def made_before(attacker: httpx.AsyncClient, peers: Peers) -> tuple[Account, str, str]:
    """An account with the victim's email, the attacker's own token that opens it, and one to reset its password."""
    await sign_up(attacker, VICTIM)
    own = await token_of(peers, sub="eve", email="eve@example.com", email_verified=True)
    await attacker.post("/user/oauth/add", data={"method": "bent2", "token": own})
    account = await stored(attacker, VICTIM)
    async with accounts_of(attacker).database.transaction() as tx:
        reset = await reset_tokens.issue(tx, account.userid, 3600)
    return account, own, reset


async def test_who_made_an_account_with_somebody_elses_email_is_out_when_the_owner_arrives(
    serve: Serve, peers: Peers
) -> None:
    async with serve(oauth_providers=configured(peers)) as attacker:
        account, own, reset = await made_before(attacker, peers)
        async with another(attacker) as victim:
            token = await token_of(peers, sub="victim", email=VICTIM, email_verified=True)
            info = (await arrive(victim, token)).json()
            assert (info["userid"], info["methods"]) == (account.userid, ["bent"])
            assert await who(attacker) is None
            assert not await password_opens(attacker, VICTIM)
            spent = await attacker.post("/user/resetpassword", data={"token": reset, "password": "another password"})
            assert spent.status_code == 401
            assert (await arrive(attacker, own, "bent2")).json()["userid"] != account.userid
            assert await who(victim) == VICTIM
        after = await stored(attacker, VICTIM)
        assert after.email_verified
        assert after.password_hash is None


async def test_who_made_an_account_with_somebody_elses_email_is_out_when_the_owner_resets_its_password(
    serve: Serve, peers: Peers
) -> None:
    async with serve(oauth_providers=configured(peers)) as attacker:
        account, own, reset = await made_before(attacker, peers)
        async with another(attacker) as victim:
            spent = await victim.post("/user/resetpassword", data={"token": reset, "password": "another password"})
            assert (spent.json()["userid"], spent.json()["methods"]) == (account.userid, [])
        assert (await arrive(attacker, own, "bent2")).json()["userid"] != account.userid


async def test_a_link_that_vouches_for_the_accounts_own_email_stays_when_its_password_is_reset(
    serve: Serve, peers: Peers
) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, VICTIM)
        token = await token_of(peers, sub="victim", email=VICTIM, email_verified=True)
        await client.post("/user/oauth/add", data={"method": "bent", "token": token})
        account = await stored(client, VICTIM)
        assert account.email_verified
        async with accounts_of(client).database.transaction() as tx:
            reset = await reset_tokens.issue(tx, account.userid, 3600)
        spent = await client.post("/user/resetpassword", data={"token": reset, "password": "another password"})
        assert spent.json()["methods"] == ["bent"]


async def test_links_and_who_is_put_out_are_in_the_audit_log(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, VICTIM)
        own = await token_of(peers, sub="eve", email="eve@example.com", email_verified=True)
        fields = {"method": "bent2", "token": own, "update_email": "true"}
        assert (await client.post("/user/oauth/add", data=fields)).status_code == 200
        assert (await client.post("/user/oauth/remove", data={"method": "bent2"})).status_code == 200
        assert (await client.post("/user/update", data={"email": VICTIM})).status_code == 200
        await client.post("/user/update", data={"email": VICTIM})
        async with another(client) as victim:
            await arrive(victim, await token_of(peers, sub="victim", email=VICTIM, email_verified=True))
        noted = [(entry["action"], json.loads(entry["details"])) for entry in await entries(client)]
        assert [one for one in noted if one[0].startswith("user.")] == [
            ("user.link", {"method": "bent2"}),
            ("user.update", {"email": {"before": VICTIM, "after": "eve@example.com"}}),
            ("user.unlink", {"method": "bent2"}),
            ("user.update", {"email": {"before": "eve@example.com", "after": VICTIM}}),
            ("user.claim", {}),
            ("user.link", {"method": "bent"}),
        ]


async def test_the_owner_may_set_a_password_of_their_own_then(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, VICTIM)
        await arrive(client, await token_of(peers, sub="victim", email=VICTIM, email_verified=True))
        await client.post("/user/update", data={"password": "the owner's own"})
        assert await password_opens(client, VICTIM, "the owner's own")
        assert not await password_opens(client, VICTIM)
        # the email is verified now, so that another provider joins without putting anybody out
        async with another(client) as phone:
            token = await token_of(peers, sub="victim", email=VICTIM, email_verified=True)
            assert (await arrive(phone, token, "bent2")).json()["methods"] == ["bent", "bent2"]
        assert await password_opens(client, VICTIM, "the owner's own")


async def test_who_took_somebody_elses_email_later_is_out_too(serve: Serve, peers: Peers) -> None:
    """The attacker's own email was verified; the new one never was."""
    async with serve(oauth_providers=configured(peers)) as attacker:
        own = await token_of(peers, sub="eve", email="eve@example.com", email_verified=True)
        await arrive(attacker, own)
        await attacker.post("/user/update", data={"password": PASSWORD})
        assert (await attacker.post("/user/update", data={"email": VICTIM})).status_code == 200
        async with another(attacker) as victim:
            token = await token_of(peers, sub="victim", email=VICTIM, email_verified=True)
            assert (await arrive(victim, token)).json()["methods"] == ["bent"]
            assert await who(victim) == VICTIM
        assert await who(attacker) is None
        assert not await password_opens(attacker, VICTIM)
        assert not await password_opens(attacker, "eve@example.com")
        assert (await arrive(attacker, own)).json()["newAccount"] is True


async def test_an_identity_that_says_another_email_later_keeps_its_own_account(serve: Serve, peers: Peers) -> None:
    """Emails at a provider change hands; the provider's id of a person does not."""
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, VICTIM)
        await verify_email(client, VICTIM)
        await arrive(client, await token_of(peers, sub="eve", email="eve@example.com", email_verified=True))
        await arrive(client, await token_of(peers, sub="eve", email=VICTIM, email_verified=True))
        assert await who(client) == "eve@example.com"


async def test_a_second_identity_of_a_provider_does_not_take_the_place_of_the_first(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await arrive(client, await token_of(peers, sub="first", email=VICTIM, email_verified=True))
        before = await everything(client)
        async with another(client) as browser:
            token = await token_of(peers, sub="recycled", email=VICTIM, email_verified=True)
            assert (await arrive(browser, token)).status_code == 409
            assert await who(browser) is None
        assert await everything(client) == before


# --- odd emails and ids


async def test_one_person_has_one_account_however_the_email_is_written(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        for method, email in (("bent", "Ada@EXAMPLE.com"), ("bent2", "aDA@example.COM")):
            await arrive(client, await token_of(peers, sub="ada", email=email, email_verified=True), method)
            assert await who(client) == "ada@example.com"
        assert len(await rows(client, "accounts")) == 1


async def test_an_email_that_would_turn_into_another_ones_is_no_email(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client:
        await sign_up(client, "rick@example.com")
        await verify_email(client, "rick@example.com")
        odd = [
            "ric\N{KELVIN SIGN}@example.com",
            " rick@example.com",
            "rick@example.com\n",
            "rick@example.com,eve@evil.example",
            "<rick@example.com>",
            "rick@example.com\u200b",
        ]
        for number, email in enumerate(odd):
            answer = await arrive(client, await token_of(peers, sub=f"eve{number}", email=email, email_verified=True))
            assert answer.json()["email"] == f"eve{number}@bent.invalid", email


async def test_nobody_sits_where_accounts_without_an_email_live(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers, bent2={"trust_email": True})) as client:
        taken = {"email": "ada@bent.invalid", "password": PASSWORD, "signin": "1"}
        assert (await client.post("/user/create", data=taken)).status_code == 400
        await sign_up(client, "eve@example.com")
        assert (await client.post("/user/update", data={"email": "ada@bent.invalid"})).status_code == 400
        # nor by a provider that claims it, trusted and verified
        claimed = await token_of(peers, sub="eve", email="ada@bent.invalid", email_verified=True)
        assert (await arrive(client, claimed, "bent2")).json()["email"] == "eve@bent2.invalid"
        answer = await arrive(client, await token_of(peers, sub="ada"))
        assert (answer.json()["email"], answer.json()["newAccount"]) == ("ada@bent.invalid", True)
        await arrive(client, claimed, "bent2")
        assert await who(client) == "eve@bent2.invalid"


async def test_ids_that_differ_have_accounts_that_differ(serve: Serve, peers: Peers) -> None:
    """Emails are compared in lower case, a provider's ids are not."""
    async with serve(oauth_providers=configured(peers)) as client:
        ids = ["ada", "Ada", "ADA", "a da", "ada@bent.invalid", "a" * 65, "ädä", "ada@example.com", "../ada"]
        for subject in ids:
            answer = await arrive(client, await token_of(peers, sub=subject))
            assert (answer.status_code, answer.json()["newAccount"]) == (200, True), subject
            assert answer.json()["email"].endswith("@bent.invalid")
            assert (await arrive(client, await token_of(peers, sub=subject))).json()["newAccount"] is False
        assert len(await rows(client, "accounts")) == len(ids)


@pytest.mark.parametrize("use_email", [True, False])
async def test_an_email_that_x_confirmed_counts_as_verified_when_it_was_asked_for(
    serve: Serve, use_email: bool
) -> None:
    service = Service(
        {
            "api.x.com/2/oauth2/token": TOKENS,
            "api.x.com/2/users/me": {"data": {"id": "2244994945", "name": "Ada", "confirmed_email": "Ada@Example.com"}},
        }
    )
    slot = {"client_id": "1234", "client_secret": "hush", "use_email": use_email}
    async with serve(oauth_providers={"provider_a": slot}) as client, service.http:
        accounts = accounts_of(client)
        await accounts.oauth.aclose()
        accounts.oauth = OAuthClient(accounts.settings.oauth_providers, http=service.http)
        async with another(client) as attacker:
            await sign_up(attacker, "ada@example.com")
        there = httpx.URL((await client.get("/user/oauth/login/provider_a")).headers["location"])
        assert ("users.email" in there.params["scope"].split()) is use_email
        back = {"code": "code", "state": there.params["state"]}
        assert (await client.get("/user/oauth/callback/provider_a", params=back)).status_code == 302
        asked = service.requests["api.x.com/2/users/me"].url.params
        assert asked.get("user.fields") == ("confirmed_email" if use_email else None)
        assert await who(client) == ("ada@example.com" if use_email else "2244994945@provider_a.invalid")
        assert await password_opens(client, "ada@example.com") is not use_email


# --- at the same moment


async def test_two_first_sign_ins_of_one_person_make_one_account(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client, serve(oauth_providers=configured(peers)) as second:
        for verified in (True, False):
            token = await token_of(
                peers, sub=f"ada{verified}", email=f"{verified}@example.com", email_verified=verified
            )
            answers = await asyncio.gather(*(arrive(one, token) for one in (client, second) * 4))
            assert [answer.status_code for answer in answers] == [200] * 8
            assert len({answer.json()["userid"] for answer in answers}) == 1
            assert [answer.json()["newAccount"] for answer in answers].count(True) == 1
        assert len(await rows(client, "accounts")) == 2


async def test_two_providers_that_bring_one_email_at_once_open_one_account(serve: Serve, peers: Peers) -> None:
    async with serve(oauth_providers=configured(peers)) as client, serve(oauth_providers=configured(peers)) as second:
        token = await token_of(peers, sub="ada", email="ada@example.com", email_verified=True)
        answers = await asyncio.gather(
            *(arrive(one, token, method) for one in (client, second) for method in ("bent", "bent2") * 2)
        )
        assert [answer.status_code for answer in answers] == [200] * 8
        assert len({answer.json()["userid"] for answer in answers}) == 1
        assert (await arrive(client, token)).json()["methods"] == ["bent", "bent2"]
        assert len(await rows(client, "accounts")) == 1


async def test_who_is_put_out_cannot_come_in_at_the_same_moment(serve: Serve, peers: Peers) -> None:
    """The attacker tries every door while the owner arrives; whatever came first, the owner is alone in the end."""
    async with serve(oauth_providers=configured(peers), limit_create=1000, limit_failed_logins=1000) as client:
        owner = await token_of(peers, sub="victim", email=VICTIM, email_verified=True)
        own = await token_of(peers, sub="eve", email="eve@example.com", email_verified=True)
        async with another(client) as attacker, another(client) as again, another(client) as victim:
            await sign_up(attacker, VICTIM)
            await attacker.post("/user/oauth/add", data={"method": "bent2", "token": own})
            again.cookies.set("session", attacker.cookies["session"])
            await asyncio.gather(
                *(arrive(again, own, "bent2") for _ in range(3)),
                again.post("/user/auth", data={"email": VICTIM, "password": PASSWORD}),
                attacker.post("/user/update", data={"password": "the attacker's own"}),
                attacker.post("/user/oauth/add", data={"method": "bent", "token": own}),
                arrive(victim, owner),
            )
            victims = (await victim.get("/user/get")).json()
            assert (victims["email"], victims["methods"]) == (VICTIM, ["bent"])
            for browser in (attacker, again):
                assert await who(browser) != VICTIM
            for password in (PASSWORD, "the attacker's own"):
                assert not await password_opens(client, VICTIM, password)
            sessions = [row for row in await rows(client, "sessions") if victims["userid"] in row]
            assert len(sessions) == 1


async def test_a_change_that_began_before_the_owner_arrived_is_not_made_after(serve: Serve, peers: Peers) -> None:
    """Hashing takes long enough to arrive in between."""
    reached, go_on = asyncio.Event(), asyncio.Event()

    async def slow(password: str) -> str:
        if password == "the attacker's own":
            reached.set()
            await go_on.wait()
        return "hash of " + password

    async with serve(oauth_providers=configured(peers), hooks=Hooks(hash_password=slow)) as attacker:
        await sign_up(attacker, VICTIM)
        change = asyncio.create_task(attacker.post("/user/update", data={"password": "the attacker's own"}))
        await reached.wait()
        async with another(attacker) as victim:
            await arrive(victim, await token_of(peers, sub="victim", email=VICTIM, email_verified=True))
            go_on.set()
            assert (await change).status_code == 401
            assert await who(victim) == VICTIM
        assert (await stored(attacker, VICTIM)).password_hash is None


async def test_a_hook_that_fails_leaves_a_claimed_account_as_it_was(serve: Serve, peers: Peers) -> None:
    def fail(_: Transaction, action: str, __: int, ___: Any) -> None:
        if action == "auth":
            raise RuntimeError("the deployment's own table is gone")

    async with serve(oauth_providers=configured(peers), hooks=Hooks(on_auth_event=fail)) as client:
        await sign_up(client, VICTIM)
        before = await everything(client)
        async with another(client) as victim:
            answer = await arrive(victim, await token_of(peers, sub="victim", email=VICTIM, email_verified=True))
            assert answer.status_code == 500
            assert "table" not in answer.text
        assert await everything(client) == before
        assert await who(client) == VICTIM
