"""Other sites must not act with a visitor's cookie: on any route that changes something, those to come included."""

import httpx
import pytest
from litestar.routes import HTTPRoute

from tests.accounts.steps import ADA, PASSWORD, another, cookie_of, sign_up, who
from tests.conftest import Serve

pytestmark = pytest.mark.anyio
# What a provider sends the browser to, and what changes nothing.
OPEN = {
    ("GET", "/user/get"),
    ("GET", "/user/oauth/login/{provider:str}"),
    ("GET", "/user/oauth/callback/{provider:str}"),
    ("GET", "/user/saml/metadata"),
    ("POST", "/user/saml/acs"),
}
FOREIGN = [
    {"origin": "https://evil.example"},
    {"origin": "null"},
    {"origin": "http://localhost:8081"},
    {"origin": "https://localhost:8080"},
    {"origin": "http://localhost:8080.evil.example"},
    {"sec-fetch-site": "cross-site"},
    {"origin": "https://evil.example", "sec-fetch-site": "same-origin"},
]
OWN: list[dict[str, str]] = [
    {},
    {"origin": "http://localhost:8080"},
    {"origin": "http://localhost:8080", "sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
]


def routes_of(client: httpx.AsyncClient) -> set[tuple[str, str]]:
    """Every route under /user: method and path."""
    return {
        (str(method), route.path)
        for route in client.app.app.routes  # type: ignore[attr-defined]
        if isinstance(route, HTTPRoute) and route.path.startswith("/user")
        for handler in route.route_handlers
        for method in handler.http_methods
        if method != "OPTIONS"
    }


async def test_every_route_that_changes_something_refuses_other_sites(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    routes = routes_of(client)
    assert routes >= OPEN
    guarded = routes - OPEN
    assert {("GET", "/user/auth"), ("GET", "/user/signout"), ("POST", "/user/create")} <= guarded
    for method, path in guarded:
        for headers in FOREIGN:
            answer = await client.request(method, path, headers=headers)
            assert answer.status_code == 403, (method, path, headers)
            assert answer.headers["status"] == answer.json()["detail"]
            assert not cookie_of(answer)
            assert "access-control-allow-origin" not in answer.headers
        for headers in OWN:
            if path != "/user/signout":
                assert (await client.request(method, path, headers=headers)).status_code != 403, (path, headers)
    assert await who(client) == ADA
    for method, path in OPEN:
        answer = await client.request(method, path, headers={"origin": "https://evil.example"})
        assert answer.status_code != 403, path


async def test_our_own_page_and_a_program_may_do_everything(client: httpx.AsyncClient) -> None:
    await sign_up(client)
    for headers in OWN:
        params = {"email": ADA, "password": PASSWORD}
        assert (await client.get("/user/auth", params=params, headers=headers)).status_code == 200
        assert (await client.get("/user/signout", headers=headers)).status_code == 200


async def test_an_allowed_origin_may_act_and_reads_the_answer(serve: Serve) -> None:
    async with serve(cors_origins=["https://app.example"], public_url="https://p.example") as client:
        await sign_up(client)
        fields = {"email": ADA, "password": PASSWORD}
        for origin in ("https://app.example", "https://p.example"):
            headers = {"origin": origin, "sec-fetch-site": "cross-site"}
            answer = await client.post("/user/auth", data=fields, headers=headers)
            assert answer.status_code == 200
            # Our own origin needs no leave.
            allowed = origin if origin == "https://app.example" else None
            assert answer.headers.get("access-control-allow-origin") == allowed
        assert (await client.post("/user/auth", headers={"origin": "https://app.example.evil"})).status_code == 403


async def test_behind_a_trusted_proxy_our_origin_is_the_one_it_names(client: httpx.AsyncClient) -> None:
    named = {"x-forwarded-host": "p.example", "x-forwarded-proto": "https"}
    async with another(client, "127.0.0.1") as proxied, another(client) as stranger:
        ok = await proxied.get("/user/signout", headers={"origin": "https://p.example", **named})
        assert ok.status_code == 200
        forged = await stranger.get("/user/signout", headers={"origin": "https://p.example", **named})
        assert forged.status_code == 403
