"""A provider that is down, slow, endless or talks nonsense costs its own sign-ins, and nothing else."""

import asyncio
import gzip
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from penstock.accounts.oauth import OAuthClient, ProviderDown, Refused, wire
from penstock.settings import OAuthProvider, Secret
from tests.ports import free_port

from .conftest import MakeClient
from .forge import CALLBACK

pytestmark = pytest.mark.anyio

PROVIDER = OAuthProvider(
    client_id="penstock",
    client_secret=Secret("hush"),
    kind="oauth2",
    auth_url="https://provider.example/authorize",
    token_url="https://provider.example/token",
    user_info_url="https://provider.example/me",
    token_info_url="https://provider.example/introspect",
)


async def finish(answer: Any) -> Any:
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer), follow_redirects=True) as http:
        client = OAuthClient({"peer": PROVIDER}, http=http)
        _, pending = await client.begin("peer", redirect_uri=CALLBACK, next="/")
        return await client.finish("peer", pending, code="the-code", state=pending.state)


def always(*args: Any, **kwargs: Any) -> Any:
    return lambda _request: httpx.Response(*args, **kwargs)


async def test_a_provider_that_nobody_answers_for_is_down(make_client: MakeClient) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    client = make_client(OAuthProvider(client_id="penstock", kind="oidc", issuer=address))
    with pytest.raises(ProviderDown, match="could not be reached"):
        await client.begin("peer", redirect_uri=CALLBACK, next="/")


async def test_a_provider_that_lets_us_wait_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "SECONDS", 0.05)

    async def never(_request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(ProviderDown, match="could not be reached"):
        await finish(never)


async def test_a_provider_that_drips_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each byte comes well within any read timeout, the last one never."""
    monkeypatch.setattr(wire, "SECONDS", 0.05)

    async def drip() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0)

    with pytest.raises(ProviderDown, match="could not be reached"):
        await finish(always(200, content=drip()))


async def test_no_more_than_a_mebibyte_of_an_answer_is_read() -> None:
    sent = 0

    async def five_megabytes() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(80):
            sent += 65536
            yield b" " * 65536

    with pytest.raises(ProviderDown, match="too long"):
        await finish(always(200, content=five_megabytes()))
    assert sent <= 1024 * 1024 + 65536


async def test_a_compressed_answer_is_not_unfolded() -> None:
    bomb = gzip.compress(b" " * 50_000_000)
    with pytest.raises(ProviderDown, match="could not be understood"):
        await finish(always(200, stream=httpx.ByteStream(bomb), headers={"Content-Encoding": "gzip"}))


@pytest.mark.parametrize("status", [500, 502, 503, 504, 429, 301, 302, 303, 307, 308, 304])
async def test_failures_and_redirects_count_as_down(status: int) -> None:
    asked = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(status, json={"access_token": "x"}, headers={"Location": "https://evil.example/"})

    with pytest.raises(ProviderDown):
        await finish(answer)
    assert asked == ["provider.example"]


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null", b"7", b'"x"', b"\xff", b"{", b"[" * 100_000, b"{}"])
async def test_an_answer_that_is_no_token_answer_counts_as_down(body: bytes) -> None:
    with pytest.raises(ProviderDown):
        await finish(always(200, content=body))


@pytest.mark.parametrize(
    "tokens",
    [
        {"access_token": 7},
        {"access_token": ["x"]},
        {"access_token": "x", "token_type": "mac"},
        {"access_token": "a\nb"},
    ],
)
async def test_a_token_that_cannot_be_used_counts_as_down(tokens: dict[str, Any]) -> None:
    with pytest.raises(ProviderDown, match="no token"):
        await finish(always(200, json=tokens))


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404])
@pytest.mark.parametrize("body", [{"error": "invalid_grant"}, {"error": "bad_verification_code"}])
async def test_a_refused_code_is_refused_with_the_reason(status: int, body: dict[str, Any]) -> None:
    with pytest.raises(Refused, match=body["error"]):
        await finish(always(status, json=body))


@pytest.mark.parametrize("error", ["<script>alert(1)</script>", "Call 555-1234", {"code": 190}, 7, "x" * 50, "a\nb"])
async def test_what_a_provider_writes_as_its_error_is_not_repeated(error: Any) -> None:
    with pytest.raises(Refused) as refused:
        await finish(always(400, json={"error": error, "error_description": "the-code hush"}))
    assert str(refused.value) == "the provider refused the code"


@pytest.mark.parametrize("body", ["<html>not found", "", "[1]"])
async def test_an_error_page_is_a_refusal_as_well(body: str) -> None:
    with pytest.raises(Refused):
        await finish(always(404, text=body))


async def test_cookies_of_a_provider_are_not_kept(peers: dict[str, Any], make_client: MakeClient) -> None:
    """oidc-provider sets some at its authorization page: asked through our client, they must not stick."""
    client = make_client(OAuthProvider(client_id="penstock", kind="oidc", issuer=peers["strict"]))
    url, _ = await client.begin("peer", redirect_uri="http://penstock.example/user/oauth/callback/peer", next="/")
    response = await client._wire._http.get(url)
    assert response.headers.get_list("set-cookie")
    assert not client._wire._http.cookies


async def test_tokens_and_secrets_reach_neither_the_log_nor_an_error(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    facebook = OAuthProvider(client_id="penstock", client_secret=Secret("hush"), kind="facebook")

    def answer(request: httpx.Request) -> httpx.Response:
        assert "the-token" in str(request.url)
        return httpx.Response(400, json={"error": {"message": "the-token hush"}})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        with pytest.raises(Refused) as refused:
            await OAuthClient({"peer": facebook}, http=http).identify("peer", "the-token")
    assert "graph.facebook.com/debug_token" in caplog.text
    for text in (caplog.text, str(refused.value)):
        assert "the-token" not in text
        assert "hush" not in text
