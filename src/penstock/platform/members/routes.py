"""Members of companies (and organizations: they are at /companies/{its id}/members) and of projects."""

from typing import Any

from litestar import Request, delete, get, post, put
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json
from penstock.http.openapi import PAGING, answer, json_body, problems, query
from penstock.platform import shown
from penstock.platform.access import access_of, guard
from penstock.platform.members import queries, rules
from penstock.platform.members.rules import Level, NewMember, RoleChange
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of

Req = Request[Any, Any, Any]
_TAGS = ["members"]
_LIST = shown.page_of(queries.Membership, shown.MEMBER | shown.PERSON, "members") | shown.REFUSED
_NEW = json_body(NewMember, {"email": "ann@example.com", "role": "editor"})
_ADDED = {201: answer(queries.Membership, "The membership.", shown.MEMBER)}
_CHANGED = {200: answer(queries.Membership, "The membership, with its new role.", shown.MEMBER)}
_WRONG = problems((400, "role: expected viewer, editor, admin or owner"))
_LAST_OWNER = problems((409, "they are the last owner; make someone else an owner first"))


async def _list(request: Req, level: Level, id_: str) -> Answer:
    statements = queries.COMPANY if level == "company" else queries.PROJECT
    page, database = Page(request), parts_of(request).database
    total = await database.one(statements["count"], id=id_)
    rows = await database.all(statements["list"], id=id_, **page.bounds)
    return page.answer([queries.member_from(row) for row in rows], total[0] if total is not None else 0)


async def _add(request: Req, level: Level, id_: str) -> Answer:
    body = await read_json(request, NewMember)
    member, new = await rules.add(parts_of(request), call_of(request), access_of(request), level, id_, body)
    answer = json(member, status=201 if new else 200)
    if new:
        kind = "companies" if level == "company" else "projects"
        answer.headers.append((b"location", f"/api/v1/{kind}/{id_}/members/{member.user_id}".encode()))
    return answer


async def _remove(request: Req, level: Level, id_: str, uid: str) -> Answer:
    await rules.remove(parts_of(request), call_of(request), access_of(request), level, id_, uid)
    return Answer(204, b"", "")


@get(
    "/companies/{id:str}/members",
    before_request=guard,
    tags=_TAGS,
    summary="Members of a company or organization",
    operation_class=query(PAGING),
    responses=_LIST,
)
async def list_company_members(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return await _list(request, "company", id)


@post(
    "/companies/{id:str}/members",
    before_request=guard,
    tags=_TAGS,
    summary="Add a member",
    operation_class=_NEW,
    responses=_ADDED | _WRONG | shown.REFUSED | problems((409, "they are a member already; change their role instead")),
)
async def add_company_member(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return await _add(request, "company", id)


@put(
    "/companies/{id:str}/members/{uid:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Change a member's role",
    operation_class=json_body(RoleChange, {"role": "admin"}),
    responses=_CHANGED | _WRONG | shown.REFUSED | _LAST_OWNER,
)
async def change_company_member(request: Req, id: FromPath[str], uid: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, RoleChange)
    return json(await rules.change(parts_of(request), call_of(request), access_of(request), id, uid, body))


@delete(
    "/companies/{id:str}/members/{uid:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Remove a member",
    description="Roles that they were given further in (organizations, projects, workflows) go with it. Anyone may "
    "remove themselves.",
    status_code=200,
    responses=shown.GONE | shown.REFUSED | _LAST_OWNER,
)
async def remove_company_member(request: Req, id: FromPath[str], uid: FromPath[str]) -> Answer:  # noqa: A002
    return await _remove(request, "company", id, uid)


@get(
    "/projects/{id:str}/members",
    before_request=guard,
    tags=_TAGS,
    summary="Members of a project",
    operation_class=query(PAGING),
    responses=_LIST,
)
async def list_project_members(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return await _list(request, "project", id)


@post(
    "/projects/{id:str}/members",
    before_request=guard,
    tags=_TAGS,
    summary="Add a member, or change their role",
    operation_class=_NEW,
    responses=_ADDED | _CHANGED | _WRONG | shown.REFUSED,
)
async def add_project_member(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return await _add(request, "project", id)


@delete(
    "/projects/{id:str}/members/{uid:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Remove a member",
    description="Roles that they were given further in (organizations, projects, workflows) go with it. Anyone may "
    "remove themselves.",
    status_code=200,
    responses=shown.GONE | shown.REFUSED,
)
async def remove_project_member(request: Req, id: FromPath[str], uid: FromPath[str]) -> Answer:  # noqa: A002
    return await _remove(request, "project", id, uid)


HANDLERS = [
    list_company_members,
    add_company_member,
    change_company_member,
    remove_company_member,
    list_project_members,
    add_project_member,
    remove_project_member,
]
