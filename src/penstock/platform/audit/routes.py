"""GET /companies/{id}/audit, and all of it as JSON Lines at /companies/{id}/audit/export."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
from litestar import Request, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from penstock.http.answers import Answer
from penstock.http.openapi import PAGING, PERIOD, Fields, listed, problems, query
from penstock.ids import is_uuid
from penstock.platform.access import Access, access_of, guard
from penstock.platform.audit import counting, queries
from penstock.platform.audit.queries import FILTERS, Entry, entry_from
from penstock.platform.paging import Page, period, query_of
from penstock.platform.parts import parts_of
from penstock.storage import Database, now

Req = Request[Any, Any, Any]
_TAGS = ["audit"]
_BATCH = 1000
_SOME_ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"
_ENTRY = {
    "id": _SOME_ID,
    "user_id": _SOME_ID,
    "action": "member.add",
    "resource_type": "member",
    "resource_id": _SOME_ID,
    "details": {"role": "editor", "company": _SOME_ID},
    "ip_address": "203.0.113.7",
    "user_agent": "curl/8.7.1",
    "created_at": "2026-01-01T00:00:00.000000Z",
}
_FILTERS: Fields = {
    "action": ("member.add", "Exactly this action."),
    "resource_type": ("member", "Exactly this kind of resource."),
    "resource_id": (_SOME_ID, "Exactly this resource."),
    "user_id": (_SOME_ID, "What this user did."),
}
_PROBLEMS = problems(
    (400, "since: expected a time such as 2026-01-31T12:00:00Z (RFC 3339)"),
    (401, "send an access token as Authorization: Bearer …"),
    (403, "this needs the role admin here; yours is viewer"),
    (404, "there is no such company"),
)


def _log_of(access: Access) -> dict[str, str]:
    """A company's log holds its organizations' entries; an organization's holds its own."""
    assert access.root_id is not None  # noqa: S101
    if access.organization_id is not None:
        return {"company_id": access.root_id, "organization_id": access.organization_id}
    return {"company_id": access.root_id}


def _filters(query: Mapping[str, str]) -> dict[str, str] | None:
    """Those that were given; None when no entry can have them: nobody has an id that is none."""
    given = {name: query[name] for name in FILTERS if name in query}
    for name in ("resource_id", "user_id"):
        if is_uuid(given.get(name, "")):
            given[name] = given[name].lower()
        elif name == "user_id" and name in given:
            return None
    return given


@get(
    "/companies/{id:str}/audit",
    before_request=guard,
    tags=_TAGS,
    summary="The audit log of a company with its organizations, or of one organization; newest first",
    operation_class=query(_FILTERS | PERIOD | PAGING),
    responses=listed(Entry, "A page of entries.", _ENTRY) | _PROBLEMS,
)
async def read_audit(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page = Page(request, *FILTERS, "since", "until")
    given = _filters(page.query)
    if given is None:
        return page.answer([], 0)
    where = _log_of(access_of(request)) | given
    bounds, database = period(page.query), parts_of(request).database
    total = await counting.total(database, where, **bounds)
    statement = queries.page_of(frozenset(where) - {"company_id"})
    rows = await database.slow(statement, **where, **bounds, **page.bounds)
    return page.answer([entry_from(row) for row in rows], total)


@get(
    "/companies/{id:str}/audit/export",
    before_request=guard,
    tags=_TAGS,
    summary="The audit log as JSON Lines, oldest first, so that a next export can go on from the last line",
    operation_class=query(_FILTERS | PERIOD),
    responses={
        200: ResponseSpec(
            Entry, description="One entry on each line.", media_type="application/x-ndjson", generate_examples=False
        )
    }
    | _PROBLEMS,
)
async def export_audit(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    asked = query_of(request, *FILTERS, "since", "until")
    given = _filters(asked)
    bounds: dict[str, Any] = _log_of(access_of(request)) | (given or {}) | period(asked)
    # What is written while we send is for the next export; else a busy log would never end.
    bounds["until"] = min(bounds["until"], now()) if given is not None else bounds["since"]
    return _Export(parts_of(request).database, bounds)


class _Export(Answer):
    """Sent batch by batch, each as fast as the client takes it; nothing is held meanwhile but one batch."""

    def __init__(self, database: Database, bounds: dict[str, Any]) -> None:
        super().__init__(200, b"", "application/x-ndjson", {"cache-control": "no-store"})
        self.headers = [(name, value) for name, value in self.headers if name != b"content-length"]
        self._database = database
        self._bounds = bounds
        self._statement = queries.batch_of(frozenset(bounds) - {"company_id", "since", "until"})

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        gone = asyncio.create_task(_until_gone(receive))
        try:
            await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
            after: tuple[int, str] = (-1, "00000000-0000-0000-0000-000000000000")
            while not gone.done():
                rows = await self._database.slow(
                    self._statement, **self._bounds, after_at=after[0], after_id=after[1], limit=_BATCH
                )
                lines = b"".join(msgspec.json.encode(entry_from(row)) + b"\n" for row in rows)
                more = len(rows) == _BATCH
                await send({"type": "http.response.body", "body": lines, "more_body": more})
                if not more:
                    return
                after = rows[-1][8], rows[-1][0]
        finally:
            gone.cancel()


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


HANDLERS = [read_audit, export_audit]
