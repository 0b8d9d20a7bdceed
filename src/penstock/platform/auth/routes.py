"""POST /auth/register, login, refresh, logout and session; GET and PUT /auth/me."""

from typing import Any

from litestar import Request, get, post, put
from litestar.openapi.datastructures import ResponseSpec
from msgspec import UNSET, Struct, UnsetType
from sqlalchemy import bindparam, select, update

from penstock.accounts.guard import same_site
from penstock.accounts.sessions import COOKIE
from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json
from penstock.http.openapi import answer, json_body, problems
from penstock.http.times import rfc3339
from penstock.platform import audit
from penstock.platform.access import access_of, guard
from penstock.platform.auth import flows
from penstock.platform.parts import parts_of
from penstock.platform.texts import valid_text
from penstock.storage import Row, Statement, now
from penstock.storage.schema import accounts

Req = Request[Any, Any, Any]
_TAGS = ["sign-in"]


class Registration(Struct, forbid_unknown_fields=True):
    email: str
    password: str
    display_name: str = ""


class Credentials(Struct, forbid_unknown_fields=True):
    email: str
    password: str


class Refresh(Struct, forbid_unknown_fields=True):
    refresh_token: str


class Profile(Struct, forbid_unknown_fields=True):
    display_name: str | UnsetType = UNSET
    avatar_url: str | UnsetType = UNSET


class User(Struct):
    id: str
    userid: int
    email: str
    display_name: str
    avatar_url: str
    active: bool
    created_at: str
    updated_at: str
    last_login_at: str | None


_NOT_SIGNED_IN = (401, "Not signed in.")
_TOO_MANY = (429, "Too many from this address; `Retry-After` says when to come back.")
_LOGIN = {"email": "ada@example.com", "password": "correct horse battery"}
_ME = {
    200: answer(
        User,
        "The account.",
        {
            "id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
            "userid": 1,
            "email": "ada@example.com",
            "display_name": "Ada",
            "avatar_url": "",
            "active": True,
            "created_at": "2026-01-01T00:00:00.000000Z",
            "updated_at": "2026-01-01T00:00:00.000000Z",
            "last_login_at": "2026-01-01T00:00:00.000000Z",
        },
    )
}
_COLUMNS = (
    accounts.c.id,
    accounts.c.userid,
    accounts.c.email,
    accounts.c.display_name,
    accounts.c.avatar_url,
    accounts.c.active,
    accounts.c.created_at,
    accounts.c.updated_at,
    accounts.c.last_login_at,
)
_USER = Statement(select(*_COLUMNS).where(accounts.c.id == bindparam("id")))
_UPDATE = Statement(
    update(accounts)
    .where(accounts.c.id == bindparam("id_"))
    .values(display_name=bindparam("display_name"), avatar_url=bindparam("avatar_url"), updated_at=bindparam("now"))
    .returning(*_COLUMNS)
)


def _user(row: Row) -> User:
    id_, userid, email, display_name, avatar_url, active, created, updated, login = row
    return User(
        id_,
        userid,
        email,
        display_name,
        avatar_url,
        bool(active),
        rfc3339(created),
        rfc3339(updated),
        rfc3339(login) if login is not None else None,
    )


def _display_name(text: str) -> str:
    """Nobody needs one; white space alone is none."""
    return valid_text(text.strip(), "display_name", 255)


@post(
    "/auth/register",
    before_request=guard,
    tags=_TAGS,
    summary="Create an account and sign in",
    operation_class=json_body(Registration, _LOGIN | {"display_name": "Ada"}),
    responses=flows.TOKENS_CREATED
    | problems((400, "Not an email, or a password too short or too long."), (409, "duplicate user"), _TOO_MANY),
)
async def register(request: Req) -> Answer:
    body = await read_json(request, Registration)
    pair = await flows.register(
        parts_of(request),
        call_of(request),
        email=body.email,
        password=body.password,
        display_name=_display_name(body.display_name),
    )
    return json(pair, status=201)


@post(
    "/auth/login",
    status_code=200,
    before_request=guard,
    tags=_TAGS,
    summary="Sign in",
    operation_class=json_body(Credentials, _LOGIN),
    responses=flows.TOKENS
    | problems(
        (401, "Wrong email or wrong password; nobody learns which."),
        (407, "`sso required`: this email signs in at its company's provider."),
        _TOO_MANY,
    ),
)
async def login(request: Req) -> Answer:
    body = await read_json(request, Credentials)
    return json(await flows.login(parts_of(request), call_of(request), email=body.email, password=body.password))


@post(
    "/auth/refresh",
    status_code=200,
    before_request=guard,
    tags=_TAGS,
    summary="Exchange a refresh token for new tokens",
    operation_class=json_body(Refresh, {"refresh_token": "eyJhbGciOi…"}),
    responses=flows.TOKENS | problems((401, "Unknown, expired, or used before: then the session has ended.")),
)
async def refresh(request: Req) -> Answer:
    body = await read_json(request, Refresh)
    return json(await flows.refresh(parts_of(request), call_of(request), body.refresh_token))


@post(
    "/auth/session",
    status_code=200,
    guards=[same_site],
    before_request=guard,
    tags=_TAGS,
    summary="Exchange the session cookie for tokens",
    responses=flows.TOKENS | problems(_NOT_SIGNED_IN, (403, "The request comes from a foreign origin.")),
)
async def session(request: Req) -> Answer:
    return json(await flows.tokens_for(parts_of(request), call_of(request).cookie(COOKIE)))


@post(
    "/auth/logout",
    status_code=200,
    before_request=guard,
    tags=_TAGS,
    summary="End the session",
    responses={204: ResponseSpec(None, description="It has ended, for access tokens too.")} | problems(_NOT_SIGNED_IN),
)
async def logout(request: Req) -> Answer:
    parts, access = parts_of(request), access_of(request)
    async with parts.database.transaction() as tx:
        await audit.record(
            tx,
            call_of(request),
            "auth.logout",
            user_id=access.caller.id,
            resource_type="session",
            resource_id=access.caller.sid,
        )
        await parts.tokens.end(tx, access.caller)
    return Answer(204, b"", "")


@get("/auth/me", before_request=guard, tags=_TAGS, summary="Who I am", responses=_ME | problems(_NOT_SIGNED_IN))
async def me(request: Req) -> Answer:
    row = await parts_of(request).database.one(_USER, id=access_of(request).caller.id)
    assert row is not None  # noqa: S101
    return json(_user(row))


@put(
    "/auth/me",
    before_request=guard,
    tags=_TAGS,
    summary="Change my profile",
    operation_class=json_body(Profile, {"display_name": "Ada Lovelace"}),
    responses=_ME | problems((400, "An unknown member, or a text too long."), _NOT_SIGNED_IN),
)
async def update_me(request: Req) -> Answer:
    body = await read_json(request, Profile)
    caller = access_of(request).caller
    async with parts_of(request).database.transaction() as tx:
        row = await tx.one(_USER, id=caller.id)
        assert row is not None  # noqa: S101
        before = _user(row)
        name = before.display_name if body.display_name is UNSET else _display_name(body.display_name)
        avatar = before.avatar_url if body.avatar_url is UNSET else valid_text(body.avatar_url, "avatar_url", 2048)
        if (name, avatar) == (before.display_name, before.avatar_url):
            return json(before)
        row = await tx.one(_UPDATE, id_=caller.id, display_name=name, avatar_url=avatar, now=now())
        assert row is not None  # noqa: S101
        after = _user(row)
        details = audit.changes(
            {"display_name": before.display_name, "avatar_url": before.avatar_url},
            {"display_name": after.display_name, "avatar_url": after.avatar_url},
        )
        await audit.record(
            tx, call_of(request), "user.update", user_id=caller.id, resource_id=caller.id, details=details
        )
    return json(after)


HANDLERS = [register, login, refresh, session, logout, me, update_me]
