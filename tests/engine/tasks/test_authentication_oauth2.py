"""OAuth 2 and OpenID Connect: against authorities that others wrote, and one of ours that counts what it is asked."""

import asyncio
import json
import time
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from sqlalchemy import select

from penstock.engine.faults import STANDARD, Error, Fault
from penstock.engine.rotated import StoredTokens
from penstock.engine.tasks import http
from penstock.engine.tasks.authentication import headers
from penstock.engine.tasks.work import Work
from penstock.platform.secrets.vault import Vault
from penstock.settings import load
from penstock.storage import Database, Statement
from penstock.storage.schema import key_values
from tests.node_peers import running

from .authority import Authority, basic_pair
from .http_peer import said, served, working

pytestmark = pytest.mark.anyio

EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


@cache
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def authorities() -> Iterator[dict[str, str]]:
    public = jwt.algorithms.RSAAlgorithm.to_jwk(key().public_key(), as_dict=True)
    with running("tokens.mjs", json.dumps({**public, "alg": "RS256", "use": "sig"})) as ready:
        yield ready


@pytest.fixture
def authority() -> Authority:
    return Authority()


@pytest.fixture
def place(authority: Authority) -> Iterator[str]:
    with served(authority.app) as url:
        yield url


def policy(place: str, **members: Any) -> dict[str, Any]:
    client = {"id": "me", "secret": "s3cret"}
    return {"oauth2": {"authority": f"{place}/realm", "grant": "client_credentials", "client": client, **members}}


async def call(work: Work, place: str, proof: Any, method: str = "get") -> Any:
    endpoint = {"uri": f"{place}/service", "authentication": proof}
    return await http.perform({"method": method, "endpoint": endpoint}, work)


async def fault(proof: Any, work: Work) -> Error:
    with pytest.raises(Fault) as raised:
        await headers(proof, work)
    return raised.value.error


@pytest.mark.parametrize(
    "method", ["client_secret_post", "client_secret_basic", "client_secret_jwt", "private_key_jwt"]
)
async def test_a_strict_authority_believes_every_way_in_which_a_client_proves_itself(
    authorities: dict[str, str], method: str
) -> None:
    issuer = authorities["strict"]
    client = {"id": method, "authentication": method}
    if method == "private_key_jwt":
        claims = {"iss": method, "sub": method, "aud": issuer, "jti": "1", "exp": int(time.time()) + 60}
        client["assertion"] = jwt.encode(claims, key(), algorithm="RS256")
    else:
        client["secret"] = f"a secret of {method}: +/%&, long enough"
    members = {"authority": issuer, "grant": "client_credentials", "client": client, "scopes": ["api"]}
    async with working() as work, httpx.AsyncClient() as browser:
        sent, authorization = await headers({"oidc": members}, work)
        assert authorization is not None
        # httpx does not encode what RFC 6749 wants encoded, so the pair is given encoded.
        known = await browser.post(
            f"{issuer}/token/introspection",
            data={"token": authorization.parameter},
            auth=("client_secret_basic", "a%20secret%20of%20client_secret_basic%3A%20%2B%2F%25%26%2C%20long%20enough"),
        )
        wrong = await fault({"oidc": {**members, "client": {**client, "secret": "x" * 40, "assertion": "x"}}}, work)
    assert sent == {"Authorization": f"Bearer {authorization.parameter}"}
    assert known.json()["active"] is True
    assert (known.json()["client_id"], known.json()["scope"]) == (method, "api")
    assert (wrong.type, wrong.status) == (STANDARD + "authentication", 401)
    assert "(invalid_" in str(wrong.detail)


async def test_passwords_and_refresh_tokens_get_a_token_and_issuers_are_checked(authorities: dict[str, str]) -> None:
    issuer = authorities["mock"]
    base = {"authority": issuer, "endpoints": {"token": "/token"}, "client": {"id": "me", "authentication": "none"}}
    ann = {**base, "grant": "password", "username": "ann", "password": "pw", "issuers": [issuer]}
    again = {**base, "grant": "refresh_token", "refreshToken": "r-1"}
    async with working(secrets={"ann": json.dumps(ann)}) as work:
        _, authorization = await headers({"oauth2": {"use": "ann"}}, work)
        assert authorization is not None
        claims = jwt.decode(authorization.parameter, options={"verify_signature": False})
        assert (claims["iss"], claims["sub"]) == (issuer, "ann")
        assert (await headers({"oauth2": again}, work))[1] is not None
        other = await fault({"oauth2": {**ann, "issuers": ["https://other.example"]}}, work)
        discovered = await fault({"oidc": {**ann, "issuers": ["https://other.example"]}}, work)
    assert (other.title, discovered.title) == ("Issuer not allowed", "Issuer not allowed")


async def test_the_form_says_what_the_policy_says(authority: Authority, place: str) -> None:
    async with working() as work:
        await headers(policy(place, scopes=["a", "b"], audiences=["x", "y"]), work)
        subject, actor = {"token": "s", "type": "jwt"}, {"token": "a", "type": "urn:x"}
        await headers(policy(place, grant=EXCHANGE, subject=subject, actor=actor, audiences=["x", "y"]), work)
        await headers(policy(place, request={"encoding": "application/json"}, endpoints={"token": "other"}), work)
        basic = {"id": "m:e", "secret": "s c", "authentication": "client_secret_basic"}
        await headers(policy(place, client=basic), work)
    credentials = {"client_id": ["me"], "client_secret": ["s3cret"]}
    assert authority.asked[0] == {
        "grant_type": ["client_credentials"], "scope": ["a b"], "audience": ["x y"], **credentials
    }  # fmt: skip
    assert authority.asked[1] == {
        "grant_type": [EXCHANGE], "audience": ["x", "y"], **credentials,
        "subject_token": ["s"], "subject_token_type": ["urn:ietf:params:oauth:token-type:jwt"],
        "actor_token": ["a"], "actor_token_type": ["urn:x"],
    }  # fmt: skip
    assert authority.asked[2] == {"grant_type": "client_credentials", "client_id": "me", "client_secret": "s3cret"}
    assert basic_pair(authority.headers[3]["authorization"]) == "m%3Ae:s%20c"
    assert "idempotency-key" not in authority.headers[0]


async def test_many_calls_at_once_share_one_token(authority: Authority, place: str) -> None:
    authority.slow = 0.1
    async with working() as work:
        first, *others = [asyncio.create_task(call(work, place, policy(place))) for _ in range(100)]
        while not authority.asked:
            await asyncio.sleep(0.005)
        first.cancel()  # who asked first gives up; the others still get what it asked for
        done = await asyncio.gather(*others)
        assert "token-1" not in str(said(work))
    assert len(authority.asked) == 1
    assert {each.authorization.parameter for each in done} == {"token-1"}


async def test_other_credentials_have_another_token(authority: Authority, place: str) -> None:
    async with working() as work:
        for secret in ("one", "two", "one"):
            await headers(policy(place, client={"id": "me", "secret": secret}), work)
    assert [asked["client_secret"] for asked in authority.asked] == [["one"], ["two"]]


async def test_a_refused_token_is_fetched_anew_once(authority: Authority, place: str) -> None:
    async with working() as work:
        await call(work, place, policy(place))
        authority.revoke()
        performed = await call(work, place, policy(place), "post")
        assert performed.authorization.parameter == "token-2"
        assert (len(authority.asked), authority.served) == (2, 3)
        # A service that believes no token is asked twice, not for ever.
        authority.answer = {"access_token": "never-good"}
        authority.revoke()
        with pytest.raises(Fault) as raised:
            await call(work, place, policy(place))
    assert raised.value.error.status == 401
    assert (len(authority.asked), authority.served) == (3, 5)


async def test_a_short_lived_token_is_not_used_when_it_is_over(authority: Authority, place: str) -> None:
    authority.answer = {"expires_in": "0", "refresh_token": "r-2"}
    refreshing = policy(place, grant="refresh_token", subject={"token": "r-1", "type": "refresh_token"})
    async with working() as work:
        for _ in range(3):
            await headers(refreshing, work)
    # A refresh token that the authority replaced is not used again.
    assert [asked["refresh_token"] for asked in authority.asked] == [["r-1"], ["r-2"], ["r-2"]]


async def test_a_refresh_token_that_was_replaced_is_known_in_the_next_life_and_kept_sealed(
    authority: Authority, place: str, database: Database
) -> None:
    stored = StoredTokens(database, Vault(load(environ={}).settings, b"a secret of thirty-two bytes, ok"))
    refreshing = policy(place, grant="refresh_token", subject={"token": "r-1", "type": "refresh_token"})
    for answer in ("r-2", "r-3"):
        authority.answer = {"expires_in": "0", "refresh_token": answer}
        async with working() as work:
            work.tools.http.rotated = stored
            await headers(refreshing, work)
    assert [asked["refresh_token"] for asked in authority.asked] == [["r-1"], ["r-2"]]
    rows = await database.all(Statement(select(key_values.c.value)))
    assert len(rows) == 1
    assert "r-3" not in rows[0][0]
    async with working() as work:
        other = Vault(load(environ={}).settings, b"another secret of enough bytes..")
        work.tools.http.rotated = StoredTokens(database, other)
        await headers(refreshing, work)
    # With another key it is as good as none.
    assert authority.asked[-1]["refresh_token"] == ["r-1"]


async def test_a_refresh_token_is_sealed_anew_when_the_key_changes(database: Database) -> None:
    old, new = "the old key, of thirty-two bytes", "the new key, of thirty-two bytes"

    def stored(key: str, *previous: str) -> StoredTokens:
        given = {"secrets_key": key, "secrets_key_previous": list(previous)}
        return StoredTokens(
            database, Vault(load(environ={}, overrides=given).settings, b"the server's own, of 32 bytes...")
        )

    await stored(old).keep("policy", "r-1")
    assert await stored(new).find("policy") is None
    assert await stored(new, old).reseal() == 1
    assert await stored(new).find("policy") == "r-1"
    assert await stored(new).reseal() == 0


async def test_discovery_finds_the_token_endpoint_with_or_without_its_path(authority: Authority, place: str) -> None:
    members = policy(place, issuers=[f"{place}/realm/"])["oauth2"]
    async with working() as work:
        for end in ("", "/.well-known/openid-configuration"):
            assert (await headers({"oidc": {**members, "authority": f"{place}/realm{end}"}}, work))[1] is not None
        nowhere = await fault({"oidc": {**members, "authority": f"{place}/nowhere"}}, work)
        opaque = await fault({"oauth2": members}, work)
    assert (nowhere.type, nowhere.status) == (STANDARD + "communication", 404)
    assert opaque.title == "Issuer not known"


@pytest.mark.parametrize(
    ("refuse", "title", "status"),
    [
        ((400, {"error": "invalid_client", "error_description": "s3cret is wrong"}), "Token refused", 401),
        ((401, "nonsense"), "Token refused", 401),
        ((503, {}), "Service Unavailable", 503),
        ((200, {"no": "token"}), "Answer not understood", 500),
        ((200, {"access_token": "bad\nheader"}), "Answer not understood", 500),
        ((200, {"access_token": "x", "token_type": "mac"}), "Answer not understood", 500),
    ],
)
async def test_an_authority_that_gives_no_token_is_told_without_secrets(
    authority: Authority, place: str, refuse: Any, title: str, status: int
) -> None:
    authority.refuse = refuse
    async with working() as work:
        error = await fault(policy(place), work)
        await fault(policy(place), work)  # nothing of it is kept
    assert (error.title, error.status) == (title, status)
    assert "s3cret" not in str(error)
    assert len(authority.asked) == 2


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"grant": "authorization_code"}, "browser"),
        ({"grant": "magic"}, "not known"),
        ({"grant": "password"}, "username"),
        ({"client": {"id": "me"}}, "client.secret"),
        ({"client": {"id": "me", "authentication": "private_key_jwt"}}, "client.assertion"),
        ({"client": "me"}, "client"),
        ({"authority": "not an address"}, "authority"),
        ({"request": {"encoding": "text/xml"}}, "request.encoding"),
        ({"scopes": "a b"}, "scopes"),
    ],
)
async def test_a_policy_that_cannot_work_says_why(members: dict[str, Any], says: str) -> None:
    async with working() as work:
        error = await fault(policy("http://127.0.0.1:9", **members), work)
    assert error.type == STANDARD + "configuration"
    assert says in str(error.detail)


async def test_an_authority_is_reached_only_where_it_may_be() -> None:
    async with working(deny=("127.0.0.0/8",)) as work:
        error = await fault(policy("http://127.0.0.1:9"), work)
    assert (error.status, error.title) == (403, "Address not allowed")
