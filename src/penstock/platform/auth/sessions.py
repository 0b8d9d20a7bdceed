"""GET and DELETE /auth/sessions, DELETE /auth/sessions/{sid}: where one is signed in, and the end of it."""

from typing import Any

from litestar import Request, delete, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from msgspec import Struct
from sqlalchemy import bindparam, func, select
from sqlalchemy import delete as delete_from

from penstock.http.answers import Answer, call_of
from penstock.http.openapi import PAGING, listed, problems, query
from penstock.http.times import rfc3339
from penstock.ids import is_uuid
from penstock.platform import audit
from penstock.platform.access import access_of, guard
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.problems import NotFound
from penstock.storage import Statement, now
from penstock.storage.schema import sessions

Req = Request[Any, Any, Any]
_TAGS = ["sign-in"]
_mine = sessions.c.userid == bindparam("userid"), sessions.c.expires_at > bindparam("now")
_LIST = Statement(
    select(
        sessions.c.id,
        sessions.c.token_hash,
        sessions.c.ip_address,
        sessions.c.user_agent,
        sessions.c.created_at,
        sessions.c.expires_at,
    )
    .where(*_mine)
    .order_by(sessions.c.created_at.desc(), sessions.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
_COUNT = Statement(select(func.count()).select_from(sessions).where(*_mine))
_END = Statement(
    delete_from(sessions).where(sessions.c.id == bindparam("id"), sessions.c.userid == bindparam("userid"))
)
_END_OTHERS = Statement(
    delete_from(sessions)
    .where(sessions.c.userid == bindparam("userid"), sessions.c.token_hash != bindparam("kept"))
    .returning(sessions.c.id)
)


class Session(Struct, frozen=True):
    """One sign-in. `current` is the one that this request belongs to."""

    id: str
    current: bool
    ip_address: str
    user_agent: str
    created_at: str
    expires_at: str


_EXAMPLE = {
    "id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
    "current": True,
    "ip_address": "203.0.113.7",
    "user_agent": "Mozilla/5.0",
    "created_at": "2026-01-01T00:00:00.000000Z",
    "expires_at": "2026-01-31T00:00:00.000000Z",
}


@get(
    "/auth/sessions",
    before_request=guard,
    tags=_TAGS,
    summary="Where I am signed in",
    operation_class=query(PAGING),
    responses=listed(Session, "Newest first.", _EXAMPLE)
    | problems((400, "page_size: expected a number from 1 to 100"), (401, "Not signed in.")),
)
async def list_sessions(request: Req) -> Answer:
    page, database, caller = Page(request), parts_of(request).database, access_of(request).caller
    whose = {"userid": caller.userid, "now": now()}
    count = await database.one(_COUNT, **whose)
    rows = await database.all(_LIST, **whose, **page.bounds)
    found = [
        Session(str(id_), bytes(hash_) == caller.session_hash, address, agent, rfc3339(created), rfc3339(expires))
        for id_, hash_, address, agent, created, expires in rows
    ]
    return page.answer(found, count[0] if count is not None else 0)


@delete(
    "/auth/sessions/{sid:str}",
    before_request=guard,
    tags=_TAGS,
    summary="End one of my sessions",
    description="At once, for its access tokens too. The current one may be ended as well.",
    status_code=200,
    responses={204: ResponseSpec(None, description="It has ended.")}
    | problems((401, "Not signed in."), (404, "You have no such session.")),
)
async def end_session(request: Req, sid: FromPath[str]) -> Answer:
    caller = access_of(request).caller
    id_ = sid.lower()
    async with parts_of(request).database.transaction() as tx:
        if not is_uuid(id_) or not await tx.run(_END, id=id_, userid=caller.userid):
            raise NotFound("you have no such session; it may have ended already")
        await audit.record(
            tx, call_of(request), "auth.session_end", user_id=caller.id, resource_type="session", resource_id=id_
        )
    return Answer(204, b"", "")


@delete(
    "/auth/sessions",
    before_request=guard,
    tags=_TAGS,
    summary="End all of my other sessions",
    description="At once, for their access tokens too. Only the session that this request belongs to stays.",
    status_code=200,
    responses={204: ResponseSpec(None, description="They have ended.")} | problems((401, "Not signed in.")),
)
async def end_other_sessions(request: Req) -> Answer:
    caller = access_of(request).caller
    async with parts_of(request).database.transaction() as tx:
        ended = await tx.all(_END_OTHERS, userid=caller.userid, kept=caller.session_hash)
        if ended:
            await audit.record(
                tx,
                call_of(request),
                "auth.session_end",
                user_id=caller.id,
                resource_type="session",
                details={"ended": len(ended)},
            )
    return Answer(204, b"", "")


HANDLERS = [list_sessions, end_session, end_other_sessions]
