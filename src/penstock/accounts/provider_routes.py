"""The endpoints of document 1 for social sign-in and SAML."""

from typing import Any
from urllib.parse import urlsplit

from litestar import Request, get, post
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from penstock.accounts import changes, sessions, social, sso
from penstock.accounts.guard import same_site
from penstock.accounts.oauth import safe_next
from penstock.accounts.routes import (
    FOREIGN,
    INFO,
    NOT_SIGNED_IN,
    TAGS,
    accounts_of,
    base_url,
    saml_url,
    session_of,
    visitor_of,
)
from penstock.http.answers import Answer, call_of, json, redirect
from penstock.http.bodies import parse_query, read_form
from penstock.http.openapi import form, problems

Call = Request[Any, Any, Any]
_METHOD = {"method": ("provider_b", "The provider's configured name.")}
_GOES = ResponseSpec(None, description="The browser goes on, to the address in `Location`.")


@post(
    "/user/oauth/add",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Link a provider",
    operation_class=form(
        required=_METHOD | {"token": ("eyJhbGciOi…", "An id_token for OIDC kinds, an access token for others.")},
        optional={"update_email": ("true", "Replace the account's email with the provider's.")},
    ),
    responses=INFO
    | problems((400, "Unknown method or rejected token."), NOT_SIGNED_IN, FOREIGN, (409, "Linked to another account.")),
)
async def add(request: Call) -> Answer:
    session = await session_of(request)
    fields = await read_form(request, "method", "token", flags=("update_email",))
    accounts = accounts_of(request)
    identity = await social.identify(accounts, fields.text("method"), fields.text("token"))
    update_email = fields.flag("update_email")
    return json(await changes.add_provider(accounts, session, identity, visitor_of(request), update_email=update_email))


@post(
    "/user/oauth/remove",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Unlink a provider",
    operation_class=form(required=_METHOD),
    responses=INFO | problems(NOT_SIGNED_IN, FOREIGN, (404, "Not linked."), (409, "It is the only way to sign in.")),
)
async def remove(request: Call) -> Answer:
    session = await session_of(request)
    fields = await read_form(request, "method")
    method, visitor = fields.text("method"), visitor_of(request)
    return json(await changes.remove_provider(accounts_of(request), session, method, visitor))


@get(
    "/user/oauth/login/{provider:str}",
    tags=TAGS,
    summary="Sign in with a provider",
    responses={302: _GOES} | problems((404, "Unknown provider."), (502, "The provider is down.")),
)
async def login(request: Call, provider: FromPath[str]) -> Answer:
    query = parse_query(request.scope["query_string"])
    url, cookie = await social.begin(
        accounts_of(request),
        provider,
        callback=f"{base_url(request)}/user/oauth/callback/{provider}",
        next_=safe_next(query.get("next")),
        links_to=await _wants_link(request),
    )
    return redirect(url, cookies=[_login_cookie(request, cookie, 600)])


@get(
    "/user/oauth/callback/{provider:str}",
    tags=TAGS,
    summary="Back from the provider",
    responses={302: _GOES}
    | problems(
        (400, "The provider's error, a refused code, or any mismatch."),
        (404, "Unknown provider."),
        (409, "The email belongs to an account: sign in first, then link."),
        (502, "The provider is down."),
    ),
)
async def callback(request: Call, provider: FromPath[str]) -> Answer:
    accounts, call = accounts_of(request), call_of(request)
    arrived = await social.finish(
        accounts,
        provider,
        query=parse_query(request.scope["query_string"]),
        cookie=call.cookie(social.COOKIE),
        visitor=visitor_of(request),
    )
    cookies = [_login_cookie(request, "", 0)]
    if arrived.cookie is not None:
        cookies.append(sessions.set_cookie(arrived.cookie, accounts.settings.session_ttl, secure=call.secure))
    return redirect(arrived.next, cookies=cookies)


async def _wants_link(request: Call) -> int:
    """Whose account the identity is to be linked to; 0 for a sign-in.

    A foreign page can send anybody here, and can have signed them in at the provider as somebody else before: that
    must not link somebody else's identity to their account, so what begins there is only ever a sign-in.
    """
    accounts, call = accounts_of(request), call_of(request)
    if call.header(b"sec-fetch-site") == "cross-site":
        front_end = urlsplit(call.header(b"referer"))
        if f"{front_end.scheme}://{front_end.netloc}" not in accounts.settings.cors_origins:
            return 0
    session = await sessions.find(accounts.database, call.cookie(sessions.COOKIE))
    return session.user.userid if session is not None else 0


def _login_cookie(request: Call, value: str, seconds: int) -> str:
    # Behind a prefix, the browser knows our paths by it, and sends the cookie only there.
    path = urlsplit(base_url(request)).path + "/user/oauth"
    secure = "; Secure" if call_of(request).secure else ""
    return f"{social.COOKIE}={value}; Max-Age={seconds}; Path={path}; HttpOnly; SameSite=Lax{secure}"


@get(
    "/user/saml/metadata",
    tags=TAGS,
    summary="Our SAML metadata, for the identity provider's administrators",
    responses={200: ResponseSpec(str, description="XML.", media_type="application/samlmetadata+xml")},
)
async def saml_metadata(request: Call) -> Answer:
    xml = await sso.metadata(accounts_of(request), saml_url(request))
    return Answer(200, xml.encode(), "application/samlmetadata+xml")


@post(
    "/user/saml/acs",
    status_code=303,
    tags=TAGS,
    summary="Where the SAML identity provider posts its assertion",
    operation_class=form(
        required={"SAMLResponse": ("PHNhbWxwOl…", "The signed response, base64.")},
        optional={"RelayState": ("/", "Where to go after a sign-in that began at the provider.")},
    ),
    responses={303: _GOES}
    | problems((400, "No response was sent."), (401, "The assertion was refused; `detail` says why.")),
)
async def saml_acs(request: Call) -> Answer:
    fields = await read_form(request, "SAMLResponse", "RelayState")
    accounts = accounts_of(request)
    done = await sso.finish(
        accounts,
        fields.text("SAMLResponse"),
        fields.text("RelayState"),
        base_url=saml_url(request),
        visitor=visitor_of(request),
    )
    cookies = []
    if done.cookie is not None:
        ttl = accounts.settings.session_ttl
        cookies.append(sessions.set_cookie(done.cookie, ttl, secure=call_of(request).secure))
    return redirect(done.next, status=303, cookies=cookies)


HANDLERS = [add, remove, login, callback, saml_metadata, saml_acs]
