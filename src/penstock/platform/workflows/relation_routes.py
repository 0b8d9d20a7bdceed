"""/workflows/{id}/permissions and /workflows/{id}/links."""

from typing import Any

from litestar import Request, delete, get, post
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json
from penstock.http.openapi import PAGING, answer, json_body, listed, problems, query
from penstock.platform.access import access_of, guard
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.workflows import link_queries, links, permission_queries, permissions, shown
from penstock.platform.workflows.link_queries import Link, link_from
from penstock.platform.workflows.links import NewLink
from penstock.platform.workflows.permission_queries import Permission, permission_from
from penstock.platform.workflows.permissions import NewPermission
from penstock.platform.workflows.rules import id_of

Req = Request[Any, Any, Any]
_INVALID = problems((400, "The body is not valid."))


@get(
    "/workflows/{id:str}/permissions",
    before_request=guard,
    tags=["permissions"],
    summary="Who has a role of their own at this workflow",
    operation_class=query(PAGING),
    responses=listed(
        Permission,
        "A page of permissions, newest first, each with its user.",
        shown.PERMISSION | {"user": shown.PERSON},
    )
    | shown.REFUSED,
)
async def list_permissions(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database, id_ = Page(request), parts_of(request).database, id_of(access_of(request))
    total = await database.one(permission_queries.COUNT, workflow_id=id_)
    rows = await database.all(permission_queries.LIST, workflow_id=id_, **page.bounds)
    return page.answer([permission_from(row) for row in rows], total[0] if total is not None else 0)


@post(
    "/workflows/{id:str}/permissions",
    before_request=guard,
    tags=["permissions"],
    summary="Give someone a role at this workflow, or change it",
    description="It counts before any role in the project or above it, whether higher or lower. "
    "Whose it is, is said by `user_id` or by `email`.",
    operation_class=json_body(NewPermission, {"user_id": shown.PERSON["id"], "role": "editor"}),
    responses={
        200: answer(Permission, "Changed: they had one already.", shown.PERMISSION),
        201: answer(Permission, "Given.", shown.PERMISSION),
    }
    | shown.REFUSED
    | _INVALID,
)
async def put_permission(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, NewPermission)
    permission, is_new = await permissions.put(parts_of(request), call_of(request), access_of(request), body)
    made = json(permission, status=201 if is_new else 200)
    if is_new:
        place = f"/api/v1/workflows/{permission.workflow_id}/permissions/{permission.user_id}"
        made.headers.append((b"location", place.encode()))
    return made


@delete(
    "/workflows/{id:str}/permissions/{uid:str}",
    before_request=guard,
    tags=["permissions"],
    summary="Remove someone's role at this workflow",
    responses=shown.GONE | shown.REFUSED,
    status_code=200,
)
async def remove_permission(request: Req, id: FromPath[str], uid: FromPath[str]) -> Answer:  # noqa: A002
    await permissions.remove(parts_of(request), call_of(request), access_of(request), uid)
    return Answer(204, b"", "")


@get(
    "/workflows/{id:str}/links",
    before_request=guard,
    tags=["links"],
    summary="What this workflow starts when it ends",
    operation_class=query(PAGING),
    responses=listed(Link, "A page of links, newest first.", shown.LINK) | shown.REFUSED,
)
async def list_links(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database, id_ = Page(request), parts_of(request).database, id_of(access_of(request))
    total = await database.one(link_queries.COUNT, source=id_)
    rows = await database.all(link_queries.LIST, source=id_, **page.bounds)
    return page.answer([link_from(row) for row in rows], total[0] if total is not None else 0)


@post(
    "/workflows/{id:str}/links",
    before_request=guard,
    tags=["links"],
    summary="Start another workflow when this one ends",
    description="completed, failed and finished start the target (editor there too); dependency only documents.",
    operation_class=json_body(
        NewLink, {name: shown.LINK[name] for name in ("target_workflow_id", "link_type", "config")}
    ),
    responses={201: answer(Link, "The link.", shown.LINK)}
    | shown.REFUSED
    | problems((400, "The body is not valid, or config.input is not jq."), (409, "There is such a link already.")),
)
async def create_link(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, NewLink)
    link = await links.create(parts_of(request), call_of(request), access_of(request), body)
    made = json(link, status=201)
    made.headers.append((b"location", f"/api/v1/workflows/{link.source_workflow_id}/links/{link.id}".encode()))
    return made


@delete(
    "/workflows/{id:str}/links/{linkId:str}",
    before_request=guard,
    tags=["links"],
    summary="Delete a link",
    responses=shown.GONE | shown.REFUSED,
    status_code=200,
)
async def delete_link(request: Req, id: FromPath[str], linkId: FromPath[str]) -> Answer:  # noqa: A002, N803
    await links.delete(parts_of(request), call_of(request), access_of(request), linkId)
    return Answer(204, b"", "")


HANDLERS = [list_permissions, put_permission, remove_permission, list_links, create_link, delete_link]
