"""An OpenID Connect issuer in memory that signs anything, and a clock that is set by hand: for the attacks."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from penstock.accounts.oauth import Identity, OAuthClient
from penstock.settings import OAuthProvider, Secret

ISSUER = "https://issuer.example"
CALLBACK = "https://penstock.example/user/oauth/callback/peer"
PROVIDER = OAuthProvider(client_id="penstock", client_secret=Secret("hush"), kind="oidc", issuer=ISSUER)


@cache
def own_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@cache
def foreign_key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


def jwk_of(key: RSAPrivateKey, kid: str) -> dict[str, Any]:
    jwk: dict[str, Any] = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    return {**jwk, "kid": kid, "use": "sig"}


class ForgedIssuer:
    """Answers with what its members hold at that moment, and counts what it was asked."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.asked: Counter[str] = Counter()
        self.metadata: dict[str, Any] = {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/jwks",
            "userinfo_endpoint": f"{ISSUER}/userinfo",
        }
        self.keys: list[Any] = [jwk_of(own_key(), "first")]
        self.userinfo: Any = {}
        self.claims: dict[str, Any] = {}
        self.tokens: dict[str, Any] | None = None
        self.down = False
        self.http = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))

    def client(self, provider: OAuthProvider = PROVIDER) -> OAuthClient:
        return OAuthClient({"peer": provider}, http=self.http, clock=self.clock)

    def valid(self, **claims: Any) -> dict[str, Any]:
        """Claims that are accepted, but for what the test puts into them. None takes one out."""
        usual = {
            "iss": ISSUER,
            "sub": "ada",
            "aud": "penstock",
            "exp": int(self.clock.now) + 300,
            "iat": int(self.clock.now),
            "email": "Ada@People.example",
            "email_verified": True,
            "name": "Ada",
        }
        return {name: value for name, value in {**usual, **claims}.items() if value is not None}

    def id_token(self, *, key: Any = own_key, alg: str = "RS256", kid: str | None = "first", **claims: Any) -> str:
        headers = {"kid": kid} if kid is not None else {}
        key = own_key() if key is own_key else key
        return jwt.PyJWS().encode(json.dumps(self.valid(**claims)).encode(), key, alg, headers)

    async def sign_in(self, client: OAuthClient, **claims: Any) -> Identity:
        """The code flow, with an id_token of these claims at its end."""
        _, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
        self.claims = {"nonce": pending.nonce, **claims}
        return await client.finish("peer", pending, code="code", state=pending.state)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked[request.url.path] += 1
        await asyncio.sleep(0)  # as on a network, others get their turn meanwhile
        if self.down:
            raise httpx.ConnectError("connection refused")
        answers: dict[str, Callable[[], Any]] = {
            "/.well-known/openid-configuration": lambda: self.metadata,
            "/jwks": lambda: {"keys": self.keys},
            "/userinfo": lambda: self.userinfo,
            "/token": self._tokens,
        }
        return httpx.Response(200, json=answers[request.url.path]())

    def _tokens(self) -> dict[str, Any]:
        if self.tokens is not None:
            return self.tokens
        return {"access_token": "access", "token_type": "Bearer", "id_token": self.id_token(**self.claims)}
