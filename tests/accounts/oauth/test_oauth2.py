"""Any OAuth 2.0 provider, described by its endpoints: whom it names, and whose tokens are taken from strangers."""

from typing import Any

import httpx
import msgspec
import pytest

from penstock.accounts.oauth import Identity, OAuthClient, OAuthError, Refused
from penstock.settings import OAuthProvider, Secret

from .browser import sign_in
from .conftest import MakeClient
from .stand_in import TOKENS, Serve, come_back, configured

pytestmark = pytest.mark.anyio


class TestOauth2:
    PROVIDER = configured(
        "oauth2",
        auth_url="https://o.example/authorize",
        token_url="https://o.example/token",
        user_info_url="https://o.example/me",
        token_info_url="https://o.example/introspect",
    )

    async def identity(self, serve: Serve, info: Any) -> Identity:
        service = serve({"o.example/token": TOKENS, "o.example/me": info})
        return await come_back(OAuthClient({"peer": self.PROVIDER}, http=service.http))

    @pytest.mark.parametrize(
        ("info", "subject"),
        [({"sub": "a"}, "a"), ({"id": 7}, "7"), ({"id": "b"}, "b"), ({"sub": "a", "id": 7}, "a"), ({"id": 0}, "0")],
    )
    async def test_the_subject_is_sub_or_id(self, serve: Serve, info: Any, subject: str) -> None:
        assert (await self.identity(serve, info)).subject == subject

    @pytest.mark.parametrize(
        "info",
        [
            {},
            {"sub": ""},
            {"sub": ["a"]},
            {"id": True},
            {"id": 1.5},
            {"id": None},
            {"sub": {"a": 1}},
            {"sub": [], "id": 7},
        ],
    )
    async def test_no_subject_no_entry(self, serve: Serve, info: Any) -> None:
        with pytest.raises(OAuthError):
            await self.identity(serve, info)

    @pytest.mark.parametrize(
        ("words", "verified"),
        [
            ({}, False),
            ({"email_verified": True}, True),
            ({"verified_email": True}, True),
            ({"email_verified": "true"}, True),
            ({"confirmed_email": True}, True),
            ({"email_verified": False}, False),
            ({"email_verified": "false"}, False),
            ({"email_verified": 1}, False),
            ({"verified": True}, False),
            ({"email_verified": True, "verified_email": False}, False),
            ({"confirmed_email": "not an email"}, False),
        ],
    )
    async def test_an_email_is_verified_only_by_the_providers_word(
        self, serve: Serve, words: dict[str, Any], verified: bool
    ) -> None:
        identity = await self.identity(serve, {"sub": "a", "email": "A@o.example", **words})
        assert (identity.email, identity.email_verified) == ("a@o.example", verified)

    async def test_a_confirmed_email_goes_before_the_one_that_was_only_typed_in(self, serve: Serve) -> None:
        info = {"sub": "a", "email": "victim@o.example", "confirmed_email": "a@o.example"}
        assert (await self.identity(serve, info)).email == "a@o.example"

    @pytest.mark.parametrize(
        "answer",
        [
            {"active": True, "client_id": "5678"}, {"active": False, "client_id": "1234"}, {"active": True},
            {"active": "true", "client_id": "1234"}, {"active": True, "client_id": ["1234"]}, {}, (401, {}),
            {"active": True, "client_id": "1234", "sub": "eve"},
        ],
    )  # fmt: skip
    async def test_a_token_of_another_client_is_refused(self, serve: Serve, answer: Any) -> None:
        service = serve({"o.example/introspect": answer, "o.example/me": {"sub": "a"}})
        with pytest.raises(Refused):
            await OAuthClient({"peer": self.PROVIDER}, http=service.http).identify("peer", "access")

    async def test_without_an_introspection_address_no_token_is_taken(self, serve: Serve) -> None:
        service = serve({"o.example/me": {"sub": "a"}})
        provider = msgspec.structs.replace(self.PROVIDER, token_info_url="")
        with pytest.raises(Refused, match="no way to prove"):
            await OAuthClient({"peer": provider}, http=service.http).identify("peer", "access")
        assert not service.requests


class TestOauth2AtARealProvider:
    """oidc-provider, used as a plain OAuth 2.0 server with RFC 7662 introspection."""

    CALLBACK = "http://penstock.example/user/oauth/callback/peer"

    def provider(self, issuer: str, client_id: str) -> OAuthProvider:
        return OAuthProvider(
            client_id=client_id,
            client_secret=Secret(f"secret of {client_id}: +/%&"),
            kind="oauth2",
            scopes=["openid", "email"],
            auth_url=f"{issuer}/auth",
            token_url=f"{issuer}/token",
            user_info_url=f"{issuer}/me",
            token_info_url=f"{issuer}/token/introspection",
        )

    async def test_the_code_flow_works(self, peers: dict[str, Any], make_client: MakeClient) -> None:
        client = make_client(self.provider(peers["strict"], "penstock"))
        url, pending = await client.begin("peer", redirect_uri=self.CALLBACK, next="/")
        back = await sign_in(url, "ada")
        identity = await client.finish("peer", pending, code=back["code"], state=back["state"])
        assert identity == Identity("peer", "ada", "ada@people.example", True)

    async def test_an_access_token_identifies_at_its_own_client_and_no_other(
        self, peers: dict[str, Any], make_client: MakeClient
    ) -> None:
        token = ""

        async def overhear(request: httpx.Request) -> None:
            nonlocal token
            token = request.headers["authorization"].removeprefix("Bearer ")

        async with httpx.AsyncClient(trust_env=False, event_hooks={"request": [overhear]}) as http:
            theirs = make_client(self.provider(peers["strict"], "another"), http=http)
            url, pending = await theirs.begin("peer", redirect_uri=self.CALLBACK, next="/")
            back = await sign_in(url, "ada")
            await theirs.finish("peer", pending, code=back["code"], state=back["state"])
        same = make_client(self.provider(peers["strict"], "another"))
        ours = make_client(self.provider(peers["strict"], "penstock"))
        assert (await same.identify("peer", token)).email == "ada@people.example"
        with pytest.raises(Refused, match="another application"):
            await ours.identify("peer", token)
