"""GET /auth/oauth2/{provider} and its callback: social sign-in that ends in tokens. The providers and the linking rule
are document 1's."""

from typing import Any

from litestar import Request, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from penstock.accounts import social
from penstock.accounts.routes import base_url
from penstock.http.answers import Answer, call_of, json, redirect
from penstock.http.bodies import parse_query
from penstock.http.openapi import Fields, problems, query
from penstock.platform.access import guard
from penstock.platform.auth import flows
from penstock.platform.parts import parts_of

COOKIE = "oauth_state"
_ARRIVES: Fields = {
    "code": ("4/0AX4XfWh…", "The provider's code."),
    "state": ("pCwTlZ…", "What we sent along."),
    "iss": ("https://accounts.google.com", "The provider's name for itself (RFC 9207), when it says it."),
    "error": ("access_denied", "Why the provider did not let you in."),
}
_TAGS = ["sign-in"]
Req = Request[Any, Any, Any]


def _callback(request: Req, provider: str) -> str:
    return f"{base_url(request)}/api/v1/auth/oauth2/{provider}/callback"


def _cookie(request: Req, value: str, seconds: int) -> str:
    secure = "; Secure" if call_of(request).secure else ""
    return f"{COOKIE}={value}; Max-Age={seconds}; Path=/api/v1/auth/oauth2; HttpOnly; SameSite=Lax{secure}"


@get(
    "/auth/oauth2/{provider:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Sign in with a social provider",
    responses={302: ResponseSpec(None, description="On to the provider.")}
    | problems((404, "Unknown provider."), (502, "The provider is down.")),
)
async def begin(request: Req, provider: FromPath[str]) -> Answer:
    url, cookie = await social.begin(
        parts_of(request).accounts, provider, callback=_callback(request, provider), next_="/", links_to=0
    )
    return redirect(url, cookies=[_cookie(request, cookie, 600)])


@get(
    "/auth/oauth2/{provider:str}/callback",
    before_request=guard,
    tags=_TAGS,
    summary="Back from the social provider: tokens",
    operation_class=query(_ARRIVES),
    responses=flows.TOKENS
    | problems(
        (400, "The provider's error, a refused code, or any mismatch."),
        (404, "Unknown provider."),
        (409, "The email belongs to an account: sign in first, then link."),
        (502, "The provider is down."),
    ),
)
async def callback(request: Req, provider: FromPath[str]) -> Answer:
    parts, call = parts_of(request), call_of(request)
    identity = await social.arrived(
        parts.accounts, provider, query=parse_query(request.scope["query_string"]), cookie=call.cookie(COOKIE)
    )
    _, token = await social.sign_in(parts.accounts, identity, flows.visitor(call))
    return json(await flows.tokens_for(parts, token), cookies=[_cookie(request, "", 0)])


HANDLERS = [begin, callback]
