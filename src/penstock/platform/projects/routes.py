"""/organizations/{oid}/projects and /projects."""

from typing import Any

from litestar import Request, delete, get, post, put
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import parse_query, read_json
from penstock.http.openapi import FORCE, PAGING, answer, json_body, query
from penstock.platform import shown
from penstock.platform.access import access_of, guard
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.projects import queries, rules
from penstock.platform.projects.queries import project_from
from penstock.platform.projects.rules import NewProject, ProjectChange

Req = Request[Any, Any, Any]
_TAGS = ["projects"]
_ONE = {200: answer(queries.Project, "The project.", shown.PROJECT)}


@get(
    "/organizations/{oid:str}/projects",
    before_request=guard,
    tags=_TAGS,
    summary="The projects of an organization",
    operation_class=query(PAGING),
    responses=shown.page_of(queries.Project, shown.PROJECT, "projects") | shown.REFUSED,
)
async def list_projects(request: Req, oid: FromPath[str]) -> Answer:
    page, database = Page(request), parts_of(request).database
    total = await database.one(queries.COUNT, company_id=oid)
    rows = await database.all(queries.LIST, company_id=oid, **page.bounds)
    return page.answer([project_from(row) for row in rows], total[0] if total is not None else 0)


@get(
    "/projects",
    before_request=guard,
    tags=_TAGS,
    summary="The projects that I may see, wherever they are",
    description="Also those of companies in which one has no role: who was added to a project alone finds it here.",
    operation_class=query(PAGING),
    responses=shown.page_of(queries.Project, shown.PROJECT, "projects") | shown.SIGNED_OUT,
)
async def list_my_projects(request: Req) -> Answer:
    page, database, me = Page(request), parts_of(request).database, access_of(request).caller.id
    total = await database.one(queries.COUNT_MINE, user_id=me)
    rows = await database.all(queries.LIST_MINE, user_id=me, **page.bounds)
    return page.answer([project_from(row) for row in rows], total[0] if total is not None else 0)


@post(
    "/organizations/{oid:str}/projects",
    before_request=guard,
    tags=_TAGS,
    summary="Create a project",
    operation_class=json_body(NewProject, {"name": "Apollo"}),
    responses={201: answer(queries.Project, "The project; you are its owner.", shown.PROJECT)}
    | shown.INVALID
    | shown.REFUSED
    | shown.TAKEN,
)
async def create_project(request: Req, oid: FromPath[str]) -> Answer:
    body = await read_json(request, NewProject)
    project = await rules.create(parts_of(request), call_of(request), access_of(request), oid, body)
    answer = json(project, status=201)
    answer.headers.append((b"location", f"/api/v1/projects/{project.id}".encode()))
    return answer


@get("/projects/{id:str}", before_request=guard, tags=_TAGS, summary="Read a project", responses=_ONE | shown.REFUSED)
async def read_project(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.read(parts_of(request).database, id))


@put(
    "/projects/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Change a project",
    operation_class=json_body(ProjectChange, {"description": "To the moon"}),
    responses=_ONE | shown.INVALID | shown.REFUSED | shown.TAKEN,
)
async def update_project(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, ProjectChange)
    return json(await rules.update(parts_of(request), call_of(request), access_of(request), id, body))


@delete(
    "/projects/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete a project and all inside",
    status_code=200,
    operation_class=query(FORCE),
    responses=shown.GONE | shown.REFUSED | shown.BUSY,
)
async def delete_project(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    force = parse_query(request.scope["query_string"]).flag("force")
    await rules.delete(parts_of(request), call_of(request), access_of(request), id, force=force)
    return Answer(204, b"", "")


HANDLERS = [list_projects, list_my_projects, create_project, read_project, update_project, delete_project]
