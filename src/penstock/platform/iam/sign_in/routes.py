"""GET and POST /auth/iam/{provider_id}, and its callback: sign-in, or linking, through a company's provider."""

import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from limits import RateLimitItemPerMinute
from litestar import Request, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from msgspec import Struct

from penstock.accounts import sessions
from penstock.accounts.guard import same_site
from penstock.accounts.oauth import safe_next
from penstock.accounts.routes import base_url, saml_url, visitor_of
from penstock.http.answers import Answer, call_of, json, redirect
from penstock.http.bodies import parse_query, read_json
from penstock.http.openapi import Fields, answer, json_body, problems, query
from penstock.ids import is_uuid
from penstock.platform.access import guard
from penstock.platform.auth import flows
from penstock.platform.iam import queries
from penstock.platform.iam.person import Person
from penstock.platform.iam.queries import Stored, stored_from
from penstock.platform.iam.sign_in import accounts, oidc, passwords, saml, underway
from penstock.platform.iam.sign_in.underway import Underway
from penstock.platform.parts import parts_of
from penstock.platform.tokens import TokenPair
from penstock.problems import Denied, Invalid, NotFound

Req = Request[Any, Any, Any]
_TAGS = ["sign-in"]
_EACH_MINUTE = RateLimitItemPerMinute(60, namespace="iam-begin")
_ARRIVES: Fields = {
    "code": ("4/0AX4XfWh…", "The provider's code."),
    "state": ("pCwTlZ…", "What we sent along."),
    "iss": ("https://idp.example", "The provider's name for itself (RFC 9207), when it says it."),
    "error": ("access_denied", "Why the provider did not let you in."),
    "arrival": ("pCwTlZ…", "What a SAML response arrived as."),
}
_ENDS = (
    (400, "Not begun in this browser, refused by the provider, or a type that signs nobody in this way."),
    (403, "The provider is switched off, or may not speak for that email; or a foreign page sent the request."),
    (404, "There is no such provider."),
    (409, "The email belongs to an account: sign in first, then link."),
    (502, "The provider is down."),
)


class UserPassword(Struct, forbid_unknown_fields=True):
    username: str
    password: str


class Linked(Struct):
    linked: bool
    provider_id: str


class Location(Struct):
    location: str


_GOES = ResponseSpec(None, description="On to the provider, or to where one was going.")
_DONE = {200: answer(TokenPair | Linked, "Tokens; or that it is linked.", flows.EXAMPLE)}
_SIGNED_OUT = (401, "The access token is not valid.")


@get(
    "/auth/iam/{provider_id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Sign in through a company's identity provider",
    description="302 to the provider. With an access token, the identity is linked to one's account instead; asked "
    "for JSON, the address is then answered as `location` (200), as a page cannot read a redirect.",
    operation_class=query({"next": ("/", "A path on this site to go to afterwards; without it, tokens are answered.")}),
    responses={302: _GOES, 200: answer(Location, "Where to send the browser.", {"location": "https://idp.example/…"})}
    | problems(*_ENDS, _SIGNED_OUT, (429, "Too many from this address.")),
)
async def begin(request: Req, provider_id: FromPath[str]) -> Answer:
    parts, call = parts_of(request), call_of(request)
    provider = await _provider(request, provider_id)
    await parts.accounts.limits.hit_address(_EACH_MINUTE, call.origin.client, "too many sign-ins from this address")
    wanted = parse_query(request.scope["query_string"]).get("next")
    links_to, session, by_token = await _wants_link(request)
    callback = f"{base_url(request)}/api/v1/auth/iam/{provider.id}/callback"
    pending, request_id = None, ""
    if provider.provider_type == "oidc":
        url, pending = await oidc.begin(parts.iam, provider, callback=callback)
    elif provider.provider_type == "saml":
        url, request_id = await saml.begin(parts, provider, base_url=saml_url(request), callback=callback)
    elif passwords.takes_passwords(parts, provider) is not None:
        raise Invalid("this provider takes a user name and a password: POST them here as JSON, username and password")
    else:
        raise Invalid(f"providers of the type {provider.provider_type} do not sign people in")
    flight = Underway(
        provider_id=provider.id,
        expires=int(time.time()) + underway.LIFETIME,
        next=safe_next(wanted) if wanted is not None else "",
        pending=pending,
        request_id=request_id,
        links_to=links_to,
        session=session,
        by_token=by_token,
    )
    value = underway.sealed(parts.iam.sign_in_key, flight)
    cookies = [underway.set_cookie(value, underway.LIFETIME, secure=call.secure)]
    if by_token and "application/json" in call.header(b"accept"):
        return json(Location(url), cookies=cookies)
    return redirect(url, cookies=cookies)


@get(
    "/auth/iam/{provider_id:str}/callback",
    before_request=guard,
    tags=_TAGS,
    summary="Back from a company's identity provider: tokens, or on to where one was going",
    operation_class=query(_ARRIVES),
    responses={302: _GOES} | _DONE | problems(*_ENDS, _SIGNED_OUT),
)
async def callback(request: Req, provider_id: FromPath[str]) -> Answer:
    parts, call = parts_of(request), call_of(request)
    provider = await _provider(request, provider_id)
    cookie = call.cookie(underway.cookie_name(secure=call.secure))
    flight = underway.opened(parts.iam.sign_in_key, cookie, provider.id)
    came_with = parse_query(request.scope["query_string"])
    if provider.provider_type == "oidc":
        person = await oidc.finish(parts.iam, provider, flight.pending, came_with)
    else:
        person = saml.finish(parts.iam, flight, came_with.text("arrival"))
    return await _finished(request, flight, person)


@post(
    "/auth/iam/{provider_id:str}",
    guards=[same_site],
    before_request=guard,
    tags=_TAGS,
    summary="Sign in with a user name and a password of a company's directory",
    description="Answers tokens, and sets the session cookie, as the callback does. With an access token, the "
    "directory's account is linked to one's own instead.",
    status_code=200,
    operation_class=json_body(UserPassword, {"username": "ann", "password": "…"}),
    responses=_DONE | problems(*_ENDS, (401, "Wrong user name or password."), (429, "Too many attempts.")),
)
async def with_password(request: Req, provider_id: FromPath[str]) -> Answer:
    parts, call = parts_of(request), call_of(request)
    body = await read_json(request, UserPassword)
    provider = await _provider(request, provider_id)
    kind = passwords.takes_passwords(parts, provider)
    if kind is None:
        raise Invalid("this provider takes no passwords here; GET this address to sign in at the provider's own page")
    person = await passwords.identify(parts, call, provider, kind, body.username, body.password)
    caller = request.scope.get("access")
    if caller is not None:
        flight = Underway(
            provider_id=provider.id,
            expires=0,
            links_to=caller.caller.userid,  # type: ignore[attr-defined]
            session=caller.caller.session_hash,  # type: ignore[attr-defined]
            by_token=True,
        )
        await accounts.link(parts, call, person, flight, "")
        return json(Linked(True, provider.id))
    return await _admitted(request, provider.id, person)


async def _finished(request: Req, flight: Underway, person: Person) -> Answer:
    parts, call = parts_of(request), call_of(request)
    cookies = [underway.set_cookie("", 0, secure=call.secure)]
    if flight.links_to:
        await accounts.link(parts, call, person, flight, call.cookie(sessions.COOKIE))
        return (
            redirect(flight.next, cookies=cookies)
            if flight.next
            else json(Linked(True, flight.provider_id), cookies=cookies)
        )
    return await _admitted(request, flight.provider_id, person, flight.next, cookies)


async def _admitted(
    request: Req, provider_id: str, person: Person, next_: str = "", cookies: Sequence[str] = ()
) -> Answer:
    """A session with its cookie, so that the console opens, too; on to where one was going, or its tokens."""
    parts, call = parts_of(request), call_of(request)
    admitted = await accounts.admit(parts, call, provider_id, person, visitor_of(request))
    session = sessions.set_cookie(admitted.cookie, parts.settings.session_ttl, secure=call.secure)
    return redirect(next_, cookies=[*cookies, session]) if next_ else json(admitted.tokens, cookies=[*cookies, session])


async def _provider(request: Req, provider_id: str) -> Stored:
    id_ = provider_id.lower()
    row = await parts_of(request).database.one(queries.FIND, id=id_) if is_uuid(id_) else None
    if row is None:
        raise NotFound("there is no such identity provider")
    provider = stored_from(row)
    if not provider.enabled:
        raise Denied("this identity provider is switched off")
    return provider


async def _wants_link(request: Req) -> tuple[int, bytes, bool]:
    """Whose account the identity is to be linked to (0: a sign-in), with what session, and whether by access token.

    Whoever runs a provider decides who comes back from it. A link to this address, in a mail or on a foreign page,
    would link an identity of theirs to the account of whoever follows it, and so hand it over. So a cookie counts only
    when our own pages sent the browser here, or when it is no browser (all of them say where a request comes from).
    """
    parts, call = parts_of(request), call_of(request)
    access: Any = request.scope.get("access")
    if access is not None:
        return access.caller.userid, access.caller.session_hash, True
    site = call.header(b"sec-fetch-site")
    referer = urlsplit(call.header(b"referer"))
    foreign = referer.netloc and f"{referer.scheme}://{referer.netloc}".lower() != call.origin.base_url.lower()
    if site not in {"", "same-origin"} or foreign:
        return 0, b"", False
    session = await sessions.find(parts.database, call.cookie(sessions.COOKIE))
    return (session.user.userid, session.token_hash, False) if session is not None else (0, b"", False)


HANDLERS = [begin, callback, with_password]
