"""The endpoints of document 1 for passwords and sessions: they translate between HTTP and the flows, nothing else."""

import re
from typing import Any

import structlog
from litestar import Request, get, post

from penstock.accounts import changes, emails, reset, saml_registry, sessions, signin, signup, social, sso, users
from penstock.accounts.guard import same_site
from penstock.accounts.oauth import safe_next
from penstock.accounts.service import Accounts
from penstock.accounts.sessions import Session, Visitor
from penstock.accounts.users import UserInfo
from penstock.http.answers import Answer, call_of, json, redirect
from penstock.http.bodies import Form, parse_query, read_form
from penstock.http.openapi import answer, form, problems
from penstock.problems import NotSignedIn, Overloaded
from penstock.storage import StorageError

log = structlog.get_logger()

Call = Request[Any, Any, Any]
_HOST = re.compile(r"([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_EXAMPLE = {"userid": 1, "email": "ada@example.com", "settings": "", "methods": ["provider_b"], "newAccount": False}
INFO = {200: answer(UserInfo, "User-info, or what the deployment's hook makes of it.", _EXAMPLE)}
EMPTY = {200: answer(dict[str, str], "Done.", {})}
NOT_SIGNED_IN = (401, "Not signed in.")
FOREIGN = (403, "The request comes from a foreign origin.")
TAGS = ["accounts"]
_CREDENTIALS = {
    "email": ("ada@example.com", "The account's email, in any case."),
    "password": ("correct horse battery", "The password."),
}


def accounts_of(request: Call) -> Accounts:
    accounts: Accounts = request.app.state.accounts
    return accounts


def base_url(request: Call) -> str:
    """Where people reach us: as configured, else as this request did."""
    return accounts_of(request).settings.public_url.rstrip("/") or call_of(request).base_url


def own_url(request: Call) -> str | None:
    """Where people reach us, for what must never be sent elsewhere: links in mails, and our name in SAML.

    A stranger may put any host into a request. It counts when the settings or a trusted proxy say it, or when it is
    this machine's own; else None, and `public_url` has to be set.
    """
    origin, settings = call_of(request).origin, accounts_of(request).settings
    # Nothing but a name and a port: `evil.example@localhost` would be read as localhost here, and elsewhere not.
    found = _HOST.fullmatch(origin.host)
    local = found is not None and found[1].lower() in {"localhost", "127.0.0.1", "[::1]", settings.host.lower()}
    return base_url(request) if settings.public_url or origin.host_is_vouched_for or local else None


def saml_url(request: Call) -> str:
    url = own_url(request)
    if url is None:
        # Else an assertion made for any other service at the same provider could be shown here, under its host.
        raise Overloaded("single sign-on needs the setting public_url on this server")
    return url


def visitor_of(request: Call) -> Visitor:
    call = call_of(request)
    return Visitor(
        call.origin.client, call.header(b"user-agent"), call.cookie(sessions.COOKIE), call.secure, call.request_id
    )


async def session_of(request: Call) -> Session:
    session = await sessions.find(accounts_of(request).database, call_of(request).cookie(sessions.COOKIE))
    if session is None:
        raise NotSignedIn("not signed in")
    return session


def signed_in(request: Call, info: Any, token: str | None) -> Answer:
    if token is None:
        return json(info)
    ttl = accounts_of(request).settings.session_ttl
    return json(info, cookies=[sessions.set_cookie(token, ttl, secure=call_of(request).secure)])


@post(
    "/user/create",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Create an account",
    operation_class=form(
        required=_CREDENTIALS, optional={"signin": ("1", '`1` (JSON: 1, "1" or true) signs in right away.')}
    ),
    responses=INFO
    | problems(
        (400, "Not an email, or a password too short or too long."),
        (409, "duplicate user"),
        (429, "Too many accounts from this address."),
    ),
)
async def create(request: Call) -> Answer:
    fields = await read_form(request, "email", "password", flags=("signin",))
    info, token = await signup.create(
        accounts_of(request),
        email=fields.text("email"),
        password=fields.text("password"),
        sign_in=fields.text("signin") == "1",
        visitor=visitor_of(request),
    )
    return signed_in(request, info, token)


_AUTH_EXTRAS = {
    "sso": ("1", "`1` goes to the identity provider that serves the email."),
    "next": ("/", "Path on this site to come back to after single sign-on."),
    "method": ("provider_b", "With `token`, in place of a password: a configured provider."),
    "token": ("", "An id_token for OIDC kinds, an access token for others."),
}
_AUTH_PROBLEMS = problems(
    (400, "An unknown method, or a token that the provider rejects."),
    (401, "Wrong email or wrong password; nobody learns which."),
    (407, "`sso required`: this email signs in with `sso=1`."),
    (429, "Too many failed sign-ins; `Retry-After` says when to come back."),
)


@post(
    "/user/auth",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Sign in",
    operation_class=form(required=_CREDENTIALS, optional=_AUTH_EXTRAS),
    responses=INFO | _AUTH_PROBLEMS,
)
async def auth(request: Call) -> Answer:
    query = parse_query(request.scope["query_string"])
    return await _auth(
        request, Form(query | await read_form(request, "email", "password", "next", "method", "token", flags=("sso",)))
    )


@get(
    "/user/auth",
    guards=[same_site],
    tags=TAGS,
    summary="Sign in, parameters in the query",
    operation_class=form(required=_CREDENTIALS, optional=_AUTH_EXTRAS, in_query=True),
    responses=INFO | _AUTH_PROBLEMS,
)
async def auth_by_query(request: Call) -> Answer:
    return await _auth(request, parse_query(request.scope["query_string"]))


async def _auth(request: Call, fields: Form) -> Answer:
    accounts, visitor = accounts_of(request), visitor_of(request)
    if fields.text("method"):
        identity = await social.identify(accounts, fields.text("method"), fields.text("token"))
        return signed_in(request, *await social.sign_in(accounts, identity, visitor))
    if fields.flag("sso"):
        email = emails.required(fields.text("email"))
        provider = await saml_registry.provider_for(accounts.database, accounts.hooks, email)
        if provider is not None:
            return redirect(
                await sso.begin(
                    accounts, provider, base_url=saml_url(request), next_=safe_next(fields.text("next") or None)
                )
            )
    info, token = await signin.with_password(
        accounts, email=fields.text("email"), password=fields.text("password"), visitor=visitor
    )
    return signed_in(request, info, token)


@get("/user/get", tags=TAGS, summary="Who is signed in", responses=INFO | problems(NOT_SIGNED_IN))
async def get_user(request: Call) -> Answer:
    accounts = accounts_of(request)
    session = await session_of(request)
    info: Any = session.user
    ttl = accounts.settings.session_ttl
    renew = sessions.wants_renewal(session, ttl) and await _renewed(accounts, session, ttl)
    if accounts.hooks.user_info is not None:
        async with accounts.database.transaction() as tx:
            info = await users.info(tx, accounts.hooks, session.user.userid)
    return signed_in(request, info, call_of(request).cookie(sessions.COOKIE) if renew else None)


async def _renewed(accounts: Accounts, session: Session, ttl: int) -> bool:
    """Whether the session was given a longer life. On a full disk it is not, and is good for today all the same."""
    try:
        async with accounts.database.transaction() as tx:
            await sessions.renew(tx, session, ttl)
    except StorageError as error:
        log.warning("a session could not be renewed; it is tried again at its next use", error=str(error))
        return False
    return True


@get("/user/signout", guards=[same_site], tags=TAGS, summary="Sign out", responses=EMPTY)
async def signout(request: Call) -> Answer:
    accounts, call = accounts_of(request), call_of(request)
    if token := call.cookie(sessions.COOKIE):
        async with accounts.database.transaction() as tx:
            session = await sessions.find(tx, token)
            if session is not None:
                await accounts.journal.note(tx, "auth.logout", session.user.userid, visitor_of(request))
            await sessions.end(tx, token)
    return json({}, cookies=[sessions.clear_cookie(secure=call.secure)])


@post(
    "/user/forgotpassword",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Ask for a reset mail",
    operation_class=form(required={"email": ("ada@example.com", "Where the mail goes, if there is an account.")}),
    responses=EMPTY | problems((400, "Not an email."), (429, "Too many reset mails asked for.")),
)
async def forgot_password(request: Call) -> Answer:
    fields = await read_form(request, "email")
    await reset.ask(
        accounts_of(request),
        email=fields.text("email"),
        base_url=own_url(request),
        address=call_of(request).origin.client,
    )
    return json({})


@post(
    "/user/resetpassword",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Set a new password with the token from the mail",
    operation_class=form(
        required={"token": ("s3cr3t", "From the mail."), "password": ("correct horse battery", "The new password.")}
    ),
    responses=INFO | problems((400, "A password too short or too long."), (401, "The token is unknown or expired.")),
)
async def reset_password(request: Call) -> Answer:
    fields = await read_form(request, "token", "password")
    info, token = await reset.spend(
        accounts_of(request),
        token=fields.text("token"),
        password=fields.text("password"),
        visitor=visitor_of(request),
    )
    return signed_in(request, info, token)


@post(
    "/user/update",
    status_code=200,
    guards=[same_site],
    tags=TAGS,
    summary="Change email or password",
    operation_class=form(
        required={},
        optional={
            "email": ("ada@example.org", "The new email."),
            "password": ("correct horse battery", "The new password; every other session ends."),
            "current_password": ("old horse", "Checked when sent; required when the setting says so."),
        },
    ),
    responses=INFO
    | problems((400, "Neither email nor password."), NOT_SIGNED_IN, (409, "Another account has that email.")),
)
async def update(request: Call) -> Answer:
    session = await session_of(request)
    fields = await read_form(request, "email", "password", "current_password")
    info, token = await changes.update(
        accounts_of(request),
        session,
        email=fields.get("email") or None,
        password=fields.get("password") or None,
        current_password=fields.get("current_password") or None,
        visitor=visitor_of(request),
    )
    return signed_in(request, info, token)


HANDLERS = [create, auth, auth_by_query, get_user, signout, forgot_password, reset_password, update]
