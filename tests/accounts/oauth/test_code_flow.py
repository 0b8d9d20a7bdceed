"""Signing in at oidc-provider, a certified OpenID provider that we did not write."""

from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import msgspec
import pytest

from penstock.accounts.oauth import Identity, OAuthClient, Pending, Refused, UnknownProvider
from penstock.settings import OAuthProvider, Secret

from .browser import peer_http, sign_in
from .conftest import MakeClient
from .forge import Clock

pytestmark = pytest.mark.anyio

CALLBACK = "http://penstock.example/user/oauth/callback/peer"


def at(issuer: str, client_id: str = "penstock", **more: Any) -> OAuthProvider:
    secret = "" if client_id == "public" else f"secret of {client_id}: +/%&"
    return OAuthProvider(client_id=client_id, client_secret=Secret(secret), kind="oidc", issuer=issuer, **more)


async def test_who_signs_in_at_the_provider_comes_back_with_their_verified_email(
    peers: dict[str, Any], make_client: MakeClient
) -> None:
    client = make_client(at(peers["strict"]))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/projects?page=2")
    back = await sign_in(url, "Ada")
    identity = await client.finish("peer", pending, code=back["code"], state=back["state"], iss=back["iss"])
    assert identity.claims["sub"] == "Ada"
    bare = msgspec.structs.replace(identity, claims={})
    assert bare == Identity("peer", "Ada", "ada@people.example", True, "Name of Ada")
    assert pending.next == "/projects?page=2"


async def test_an_id_token_that_bears_the_email_is_enough(peers: dict[str, Any], make_client: MakeClient) -> None:
    client = make_client(at(peers["lavish"]))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    identity = await client.finish("peer", pending, code=back["code"], state=back["state"])
    assert (identity.email, identity.email_verified) == ("ada@people.example", True)


@pytest.mark.parametrize("issuer", ["strict", "lavish"])
@pytest.mark.parametrize(
    ("login", "email"), [("unverified-eve", "unverified-eve@people.example"), ("nameless-eve", "")]
)
async def test_an_email_that_the_provider_did_not_verify_is_not_called_verified(
    peers: dict[str, Any], make_client: MakeClient, issuer: str, login: str, email: str
) -> None:
    client = make_client(at(peers[issuer]))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, login)
    identity = await client.finish("peer", pending, code=back["code"], state=back["state"])
    assert (identity.subject, identity.email, identity.email_verified) == (login, email, False)


async def test_a_trusted_provider_needs_no_word_about_verification(
    peers: dict[str, Any], make_client: MakeClient
) -> None:
    client = make_client(at(peers["strict"], trust_email=True))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "unverified-eve")
    identity = await client.finish("peer", pending, code=back["code"], state=back["state"])
    assert identity.email_verified


@pytest.mark.parametrize("client_id", ["public", "RS256", "PS256", "ES256", "EdDSA"])
async def test_public_clients_and_every_signature_algorithm_on_the_list_work(
    peers: dict[str, Any], make_client: MakeClient, client_id: str
) -> None:
    client = make_client(at(peers["strict"], client_id))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    identity = await client.finish("peer", pending, code=back["code"], state=back["state"])
    assert identity.subject == "ada"


@pytest.mark.parametrize("token_auth", ["basic", "post"])
async def test_the_secret_can_be_shown_in_the_header_and_in_the_body(
    peers: dict[str, Any], make_client: MakeClient, token_auth: str
) -> None:
    client = make_client(at(peers["strict"], token_auth=token_auth))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    assert (await client.finish("peer", pending, code=back["code"], state=back["state"])).subject == "ada"


async def test_the_request_carries_state_nonce_and_an_s256_challenge_but_never_the_verifier(
    peers: dict[str, Any], make_client: MakeClient
) -> None:
    url, pending = await make_client(at(peers["strict"])).begin("peer", redirect_uri=CALLBACK, next="/")
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    assert (query["state"], query["nonce"]) == (pending.state, pending.nonce)
    assert query["code_challenge_method"] == "S256"
    assert query["redirect_uri"] == CALLBACK
    assert query["scope"] == "openid email profile"
    assert pending.verifier not in url
    assert len({pending.state, pending.nonce, pending.verifier, query["code_challenge"]}) == 4


async def test_the_provider_refuses_a_code_with_another_verifier(
    peers: dict[str, Any], make_client: MakeClient
) -> None:
    client = make_client(at(peers["strict"]))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    stolen = msgspec.structs.replace(pending, verifier="v" * 43)
    with pytest.raises(Refused, match=r"refused the code \(invalid_grant\)"):
        await client.finish("peer", stolen, code=back["code"], state=back["state"])


async def test_a_code_works_once(peers: dict[str, Any], make_client: MakeClient) -> None:
    client = make_client(at(peers["strict"]))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    await client.finish("peer", pending, code=back["code"], state=back["state"])
    with pytest.raises(Refused):
        await client.finish("peer", pending, code=back["code"], state=back["state"])


async def test_a_code_of_another_sign_in_is_caught_by_the_nonce(peers: dict[str, Any], make_client: MakeClient) -> None:
    client = make_client(at(peers["strict"]))
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    other = msgspec.structs.replace(pending, nonce="n" * 43)
    with pytest.raises(Refused, match="another sign-in"):
        await client.finish("peer", other, code=back["code"], state=back["state"])


async def test_an_id_token_identifies_only_at_the_client_that_it_was_issued_to(
    peers: dict[str, Any], make_client: MakeClient
) -> None:
    ours, theirs = make_client(at(peers["lavish"])), make_client(at(peers["lavish"], "another"))
    token = await id_token(theirs, peers["lavish"], "another")
    assert (await theirs.identify("peer", token)).email == "ada@people.example"
    with pytest.raises(Refused, match="another application"):
        await ours.identify("peer", token)


async def id_token(client: OAuthClient, issuer: str, client_id: str) -> str:
    """As an application of another make would get it."""
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    form = {
        "grant_type": "authorization_code",
        "code": back["code"],
        "redirect_uri": CALLBACK,
        "code_verifier": pending.verifier,
    }
    async with peer_http() as http:
        secret = quote(f"secret of {client_id}: +/%&", safe="")
        answer = await http.post(f"{issuer}/token", data=form, auth=(client_id, secret))
    return str(answer.json()["id_token"])


async def test_a_wrong_client_secret_is_refused_without_showing_it(
    peers: dict[str, Any], make_client: MakeClient
) -> None:
    client = make_client(
        OAuthProvider(client_id="penstock", client_secret=Secret("wrong"), kind="oidc", issuer=peers["strict"])
    )
    url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    back = await sign_in(url, "ada")
    with pytest.raises(Refused) as refused:
        await client.finish("peer", pending, code=back["code"], state=back["state"])
    assert str(refused.value) == "the provider refused the code (invalid_client)"


class TestBeforeTheProviderIsAsked:
    @pytest.fixture
    def pending(self, clock: Clock) -> Pending:
        return Pending("peer", "s" * 43, "v" * 43, "n" * 43, "/", int(clock.now) + 600, CALLBACK)

    async def test_another_state_is_refused(self, make_client: MakeClient, pending: Pending, clock: Clock) -> None:
        client = make_client(at("http://127.0.0.1:9"), clock=clock)
        for state in ("", "S" * 43, "s" * 42, "s" * 43 + "\ud800", "é"):
            with pytest.raises(Refused, match="not begun in this browser"):
                await client.finish("peer", pending, code="code", state=state)

    async def test_a_sign_in_that_took_too_long_is_refused(
        self, make_client: MakeClient, pending: Pending, clock: Clock
    ) -> None:
        client = make_client(at("http://127.0.0.1:9"), clock=clock)
        clock.now += 600
        with pytest.raises(Refused, match="start again"):
            await client.finish("peer", pending, code="code", state=pending.state)

    async def test_a_sign_in_that_was_begun_with_another_provider_is_refused(
        self, make_client: MakeClient, pending: Pending, clock: Clock
    ) -> None:
        client = make_client(at("http://127.0.0.1:9"), clock=clock)
        other = msgspec.structs.replace(pending, provider="other")
        with pytest.raises(Refused, match="another provider"):
            await client.finish("peer", other, code="code", state=pending.state)

    async def test_an_answer_of_another_issuer_is_refused(
        self, peers: dict[str, Any], make_client: MakeClient, pending: Pending, clock: Clock
    ) -> None:
        client = make_client(at(peers["strict"]), clock=clock)
        with pytest.raises(Refused, match="another provider"):
            await client.finish("peer", pending, code="code", state=pending.state, iss=peers["lavish"])

    @pytest.mark.parametrize("code", ["", "c" * 4097])
    async def test_a_code_that_cannot_be_one_is_refused(
        self, make_client: MakeClient, pending: Pending, clock: Clock, code: str
    ) -> None:
        client = make_client(at("http://127.0.0.1:9"), clock=clock)
        with pytest.raises(Refused, match="no usable code"):
            await client.finish("peer", pending, code=code, state=pending.state)

    async def test_a_disabled_provider_is_refused_everywhere(
        self, make_client: MakeClient, pending: Pending, clock: Clock
    ) -> None:
        client = make_client(at("http://127.0.0.1:9", enabled=False), clock=clock)
        for call in (
            client.begin("peer", redirect_uri=CALLBACK, next="/"),
            client.finish("peer", pending, code="code", state=pending.state),
            client.identify("peer", "token"),
        ):
            with pytest.raises(Refused, match="switched off"):
                await call

    async def test_an_unknown_provider_is_told_apart(
        self, make_client: MakeClient, pending: Pending, clock: Clock
    ) -> None:
        client = make_client(at("http://127.0.0.1:9"), clock=clock)
        for call in (
            client.begin("nobody", redirect_uri=CALLBACK, next="/"),
            client.finish("nobody", pending, code="code", state=pending.state),
            client.identify("nobody", "token"),
        ):
            with pytest.raises(UnknownProvider):
                await call
