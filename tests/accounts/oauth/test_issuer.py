"""Discovery and keys: kept for a while, renewed when they turn, and never a way to make us flood a provider."""

import asyncio
from typing import Any

import httpx
import msgspec
import pytest

from penstock.accounts.oauth import OAuthClient, ProviderDown, Refused
from penstock.settings import OAuthProvider, Secret

from .browser import peer_http
from .conftest import MakeClient
from .forge import CALLBACK, ISSUER, PROVIDER, Clock, ForgedIssuer, foreign_key, jwk_of

pytestmark = pytest.mark.anyio

DISCOVERY = "/.well-known/openid-configuration"


async def test_discovery_and_keys_are_fetched_once_for_everyone(issuer: ForgedIssuer) -> None:
    client = issuer.client()
    await asyncio.gather(*(client.identify("peer", issuer.id_token()) for _ in range(20)))
    assert issuer.asked == {DISCOVERY: 1, "/jwks": 1}


async def test_they_are_fetched_again_when_they_have_grown_old(issuer: ForgedIssuer, clock: Clock) -> None:
    client = issuer.client()
    for seconds, keys_fetched in ((0, 1), (599, 1), (1, 2), (3600, 3)):
        clock.now += seconds
        await client.identify("peer", issuer.id_token())
        assert issuer.asked["/jwks"] == keys_fetched
    assert issuer.asked[DISCOVERY] == 2


async def test_a_turned_key_works_at_once(issuer: ForgedIssuer, clock: Clock) -> None:
    client = issuer.client()
    await client.identify("peer", issuer.id_token())
    clock.now += 60
    issuer.keys = [jwk_of(foreign_key(), "second")]
    assert (await client.identify("peer", issuer.id_token(key=foreign_key(), kid="second"))).subject == "ada"
    assert issuer.asked["/jwks"] == 2


async def test_a_flood_of_forged_keys_reaches_the_provider_once_in_a_while(issuer: ForgedIssuer, clock: Clock) -> None:
    client = issuer.client()
    for seconds in range(61):
        for attempt in range(5):
            token = issuer.id_token(key=foreign_key(), kid=f"{seconds}-{attempt}")
            with pytest.raises(Refused, match="not signed by the provider"):
                await client.identify("peer", token)
        clock.now += 1
    assert issuer.asked["/jwks"] == 3


async def test_keys_that_cannot_be_renewed_stay_good(issuer: ForgedIssuer, clock: Clock) -> None:
    client = issuer.client()
    await client.identify("peer", issuer.id_token())
    clock.now += 60
    issuer.down = True
    with pytest.raises(ProviderDown):
        await client.identify("peer", issuer.id_token(key=foreign_key(), kid="forged"))
    with pytest.raises(Refused):
        await client.identify("peer", issuer.id_token(key=foreign_key(), kid="forged"))
    assert (await client.identify("peer", issuer.id_token())).subject == "ada"
    assert issuer.asked["/jwks"] == 2


async def test_a_provider_that_is_down_is_asked_once_for_all_who_wait_and_again_later(issuer: ForgedIssuer) -> None:
    client = issuer.client()
    issuer.down = True
    attempts = [client.identify("peer", issuer.id_token()) for _ in range(10)]
    results = await asyncio.gather(*attempts, return_exceptions=True)
    assert all(isinstance(result, ProviderDown) for result in results)
    assert issuer.asked[DISCOVERY] == 1
    issuer.down = False
    assert (await client.identify("peer", issuer.id_token())).subject == "ada"


async def test_one_who_gives_up_waiting_does_not_spoil_it_for_the_others() -> None:
    asked, release = asyncio.Event(), asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        asked.set()
        await release.wait()
        return httpx.Response(200, json={"issuer": "https://evil.example", **ENDPOINTS})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        client = OAuthClient({"peer": PROVIDER}, http=http)
        first, second = (asyncio.ensure_future(client.begin("peer", redirect_uri=CALLBACK, next="/")) for _ in range(2))
        await asked.wait()
        first.cancel()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await first
        with pytest.raises(ProviderDown, match="another issuer"):
            await second


ENDPOINTS = {
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "jwks_uri": f"{ISSUER}/jwks",
}


@pytest.mark.parametrize("named", ["https://evil.example", ISSUER + "/", ISSUER.upper(), ""])
async def test_a_discovery_document_for_another_issuer_is_refused(issuer: ForgedIssuer, named: str) -> None:
    issuer.metadata["issuer"] = named
    with pytest.raises(ProviderDown, match="another issuer"):
        await issuer.client().begin("peer", redirect_uri=CALLBACK, next="/")
    with pytest.raises(ProviderDown, match="another issuer"):
        await issuer.client().identify("peer", issuer.id_token())


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint"])
@pytest.mark.parametrize(
    "address", ["http://issuer.example/x", "file:///etc/passwd", "//x", "https://a@b.example/", ""]
)
async def test_a_discovery_document_cannot_send_us_to_plain_http(
    issuer: ForgedIssuer, endpoint: str, address: str
) -> None:
    issuer.metadata[endpoint] = address
    if endpoint == "userinfo_endpoint" and not address:
        return
    with pytest.raises(ProviderDown, match="cannot be used"):
        await issuer.client().begin("peer", redirect_uri=CALLBACK, next="/")


@pytest.mark.parametrize("document", [[], "x", None, 7, {}, {"issuer": ISSUER}, {**ENDPOINTS, "issuer": [ISSUER]}])
async def test_a_discovery_document_that_is_none_is_refused(issuer: ForgedIssuer, document: Any) -> None:
    issuer.metadata = document
    with pytest.raises(ProviderDown):
        await issuer.client().begin("peer", redirect_uri=CALLBACK, next="/")


@pytest.mark.parametrize("keys", [None, {}, "x", 7])
async def test_keys_that_are_none_are_refused(issuer: ForgedIssuer, keys: Any) -> None:
    issuer.keys = keys
    with pytest.raises(ProviderDown, match="keys could not be read"):
        await issuer.client().identify("peer", issuer.id_token())


async def test_configured_endpoints_go_before_discovered_ones(issuer: ForgedIssuer) -> None:
    client = issuer.client(msgspec.structs.replace(PROVIDER, auth_url="https://elsewhere.example/auth?tenant=7"))
    url, _ = await client.begin("peer", redirect_uri=CALLBACK, next="/")
    assert url.startswith("https://elsewhere.example/auth?tenant=7&")


async def test_with_every_endpoint_configured_there_is_no_discovery(issuer: ForgedIssuer) -> None:
    provider = msgspec.structs.replace(
        PROVIDER, auth_url=f"{ISSUER}/authorize", token_url=f"{ISSUER}/token", jwks_url=f"{ISSUER}/jwks"
    )
    assert (await issuer.sign_in(issuer.client(provider))).subject == "ada"
    assert issuer.asked == {"/token": 1, "/jwks": 1}


class TestUserInfo:
    async def test_it_is_asked_when_the_id_token_has_no_email(self, issuer: ForgedIssuer) -> None:
        issuer.userinfo = {"sub": "ada", "email": "Ada@Other.example", "email_verified": "true"}
        identity = await issuer.sign_in(issuer.client(), email=None)
        assert (identity.email, identity.email_verified) == ("ada@other.example", True)

    @pytest.mark.parametrize("subject", ["eve", "", None, ["ada"], "ada ", "Ada"])
    async def test_that_speaks_of_another_person_is_refused(self, issuer: ForgedIssuer, subject: Any) -> None:
        issuer.userinfo = {"sub": subject, "email": "ada@people.example", "email_verified": True}
        with pytest.raises(Refused, match="two answers about who you are"):
            await issuer.sign_in(issuer.client(), email=None)

    @pytest.mark.parametrize("token", [None, "", 7, "a b", "a\r\nb: c", "é", "x" * 16385])
    async def test_it_is_never_asked_with_something_that_is_no_token(self, issuer: ForgedIssuer, token: Any) -> None:
        client = issuer.client()
        _, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
        issuer.tokens = {"access_token": token, "id_token": issuer.id_token(nonce=pending.nonce, email=None)}
        with pytest.raises(ProviderDown):
            await client.finish("peer", pending, code="code", state=pending.state)
        assert not issuer.asked["/userinfo"]


async def test_a_token_answer_without_an_id_token_is_refused(issuer: ForgedIssuer) -> None:
    issuer.tokens = {"access_token": "access"}
    with pytest.raises(ProviderDown, match="no id_token"):
        await issuer.sign_in(issuer.client())


class TestOauth2MockServer:
    """A second provider that we did not write, whose tokens are bent before it signs them."""

    @pytest.fixture
    def provider(self, peers: dict[str, Any]) -> OAuthProvider:
        return OAuthProvider(client_id="penstock", client_secret=Secret("any"), kind="oidc", issuer=peers["bent"])

    async def sign_in(self, peers: dict[str, Any], client: OAuthClient, **bend: Any) -> Any:
        url, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
        claims = {"email": "John@People.example", "email_verified": True, **bend.pop("claims", {})}
        async with peer_http() as http:
            control = {"claims": claims, "userinfo": {}, **bend}
            assert (await http.post(peers["control"], json=control)).is_success
            back = httpx.URL((await http.get(url)).headers["location"]).params
        return await client.finish("peer", pending, code=back["code"], state=back["state"])

    async def test_lets_people_in(
        self, peers: dict[str, Any], make_client: MakeClient, provider: OAuthProvider
    ) -> None:
        identity = await self.sign_in(peers, make_client(provider))
        assert (identity.subject, identity.email, identity.email_verified) == ("johndoe", "john@people.example", True)

    async def test_may_turn_its_key_and_its_algorithm(
        self, peers: dict[str, Any], make_client: MakeClient, provider: OAuthProvider, clock: Clock
    ) -> None:
        client = make_client(provider, clock=clock)
        await self.sign_in(peers, client)
        for alg in ("ES256", "EdDSA", "PS256", "RS256"):
            clock.now += 31
            assert (await self.sign_in(peers, client, rotate=alg)).subject == "johndoe"

    @pytest.mark.parametrize(
        "claims",
        [{"aud": "another"}, {"iss": "https://evil.example"}, {"exp": 1}, {"nonce": "other"}, {"nbf": 9e9}],
    )
    async def test_is_refused_when_it_signs_a_wrong_claim(
        self, peers: dict[str, Any], make_client: MakeClient, provider: OAuthProvider, claims: dict[str, Any]
    ) -> None:
        with pytest.raises(Refused):
            await self.sign_in(peers, make_client(provider), claims=claims)

    async def test_is_refused_when_its_user_info_speaks_of_another(
        self, peers: dict[str, Any], make_client: MakeClient, provider: OAuthProvider
    ) -> None:
        with pytest.raises(Refused, match="two answers"):
            await self.sign_in(peers, make_client(provider), claims={"email": None}, userinfo={"sub": "eve"})
