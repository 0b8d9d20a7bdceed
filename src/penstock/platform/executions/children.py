"""/executions/{id}/children: the executions that one started with `run: workflow` and waits (or waited) for."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from msgspec import Struct
from sqlalchemy import Select, bindparam, func, select

from penstock.http.answers import Answer
from penstock.http.openapi import PAGING, listed, problems, query
from penstock.http.times import rfc3339
from penstock.platform.access import access_of, guard
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.workflows.lists import within_reach
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import companies, executions, projects, workflows

Req = Request[Any, Any, Any]


class Child(Struct, frozen=True):
    id: str
    workflow_id: str
    workflow_name: str
    status: str
    created_at: str
    completed_at: str | None


def _of(*columns: Any) -> Select[Any]:
    return (
        select(*columns)
        .select_from(executions)
        .join(workflows, workflows.c.id == executions.c.workflow_id)
        .join(projects, projects.c.id == workflows.c.project_id)
        .join(companies, companies.c.id == projects.c.company_id)
        .where(executions.c.parent_id == bindparam("id"), within_reach())
    )


_COUNT = Statement(_of(func.count()))
_LIST = Statement(
    _of(
        executions.c.id,
        executions.c.workflow_id,
        workflows.c.name,
        executions.c.status,
        executions.c.created_at,
        executions.c.completed_at,
    )
    .order_by(executions.c.created_at, executions.c.id)
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
)
_EXAMPLE = {
    "id": "0192d3a4-5b6c-7d8e-9f00-112233445566",
    "workflow_id": "0192d3a4-5b6c-7d8e-9f00-aabbccddeeff",
    "workflow_name": "Charge card",
    "status": "completed",
    "created_at": "2026-01-31T12:00:00.000000Z",
    "completed_at": "2026-01-31T12:00:01.500000Z",
}


@get(
    "/executions/{id:str}/children",
    before_request=guard,
    tags=["executions"],
    summary="The executions that an execution started and waits for",
    description="In the order of their start, those that I can see: what `run: workflow` started, with `await`.",
    operation_class=query(PAGING),
    responses=listed(Child, "In the order of their start.", _EXAMPLE) | problems((404, "There is no such execution.")),
)
async def list_children(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request), parts_of(request).database
    whose = {"id": id, "user_id": access_of(request).caller.id}
    count = await database.slow(_COUNT, **whose)
    rows = await database.slow(_LIST, **whose, **page.bounds)
    return page.answer([_child(row) for row in rows], count[0][0])


def _child(row: Row) -> Child:
    id_, workflow_id, name, status, created, completed = row
    return Child(
        str(id_), str(workflow_id), name, status, rfc3339(created), None if completed is None else rfc3339(completed)
    )


HANDLERS = [list_children]
