"""GET /search: workflows by a part of their texts and executions by the beginning of their id, for who jumps there."""

import re
from collections.abc import Sequence
from typing import Any

from litestar import Request, get
from msgspec import Struct
from sqlalchemy import bindparam, select

from penstock.http.answers import Answer, json
from penstock.http.openapi import Fields, answer, problems, query
from penstock.http.times import rfc3339
from penstock.ids import is_uuid
from penstock.platform.access import access_of, guard
from penstock.platform.paging import query_of
from penstock.platform.parts import parts_of
from penstock.platform.texts import invalid
from penstock.platform.workflows.lists import matching, of_mine, pattern, within_reach
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import companies, executions, projects, workflows

Req = Request[Any, Any, Any]
_MOST = 20
_LONGEST = 200
# The first eight digits of an id are a time: about a minute. A busy server may start many executions in one.
_MOST_LOOKED_AT = 5_000
_BEGINNING = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")


class FoundWorkflow(Struct, frozen=True):
    id: str
    name: str
    slug: str
    status: str
    project_id: str
    project_name: str


class FoundExecution(Struct, frozen=True):
    id: str
    status: str
    created_at: str
    workflow_id: str
    workflow_name: str


class Found(Struct, frozen=True):
    workflows: list[FoundWorkflow]
    executions: list[FoundExecution]


_seen = of_mine([matching("q")]).cte("found")
_WORKFLOWS = Statement(
    select(
        workflows.c.id,
        workflows.c.name,
        workflows.c.slug,
        workflows.c.status,
        workflows.c.project_id,
        projects.c.name.label("project_name"),
    )
    .select_from(_seen.join(workflows, workflows.c.id == _seen.c.id).join(projects))
    .order_by(workflows.c.created_at.desc(), workflows.c.id.desc())
    .limit(_MOST)
)
_near = (
    select(executions.c.id, executions.c.status, executions.c.created_at, executions.c.workflow_id)
    .where(executions.c.id.between(bindparam("first"), bindparam("last")))
    .order_by(executions.c.id.desc())
    .limit(_MOST_LOOKED_AT)
    .subquery("near")
)
_EXECUTIONS = Statement(
    select(_near, workflows.c.name)
    .join(workflows, workflows.c.id == _near.c.workflow_id)
    .join(projects, projects.c.id == workflows.c.project_id)
    .join(companies, companies.c.id == projects.c.company_id)
    .where(within_reach())
    .order_by(_near.c.id.desc())
    .limit(_MOST)
)
_ID = "0192d3a4-5b6c-7d8e-9f00-112233445566"
_EXAMPLE = {
    "workflows": [
        {"id": _ID, "name": "Greet", "slug": "greet", "status": "active", "project_id": _ID, "project_name": "Shop"}
    ],
    "executions": [],
}
_Q: Fields = {
    "q": ("greet", "A part of a workflow's name, slug or description; or the first eight digits of an execution's id.")
}


@get(
    "/search",
    before_request=guard,
    tags=["workflows"],
    summary="Find workflows and executions",
    description=f"Newest first, {_MOST} of each at most, among those that I can see.",
    operation_class=query(_Q, required=True),
    responses={200: answer(Found, "What was found.", _EXAMPLE)}
    | problems((400, "q is missing or too long."), (401, "Not signed in.")),
)
async def search(request: Req) -> Answer:
    q = query_of(request, "q").text("q").strip()
    if not 0 < len(q) <= _LONGEST:
        raise invalid("q", f"expected 1 to {_LONGEST} characters")
    database, user_id = parts_of(request).database, access_of(request).caller.id
    found = await database.slow(_WORKFLOWS, user_id=user_id, q=pattern(q))
    listed = [
        FoundWorkflow(str(id_), name, slug, status, str(project), of) for id_, name, slug, status, project, of in found
    ]
    rows: Sequence[Row] = ()
    if (bounds := _bounds(q.lower())) is not None:
        rows = await database.slow(_EXECUTIONS, user_id=user_id, first=bounds[0], last=bounds[1])
    ran = [FoundExecution(str(id_), status, rfc3339(at), str(of), name) for id_, status, at, of, name in rows]
    return json(Found(listed, ran))


def _bounds(beginning: str) -> tuple[str, str] | None:
    """The first and the last id that begin so."""
    if not _BEGINNING.fullmatch(beginning):
        return None
    first, last = (beginning + pad[len(beginning) :] for pad in (_padded("0"), _padded("f")))
    return (first, last) if is_uuid(first) and is_uuid(last) else None


def _padded(digit: str) -> str:
    return "-".join(digit * length for length in (8, 4, 4, 4, 12))


HANDLERS = [search]
