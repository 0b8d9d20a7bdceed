"""/projects/{id}/secrets: names and times come out, values only go in."""

from typing import Any

from litestar import Request, delete, get, put
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json
from penstock.http.openapi import PAGING, answer, json_body, listed, problems, query
from penstock.platform.access import Access, access_of, guard
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.secrets import queries, rules
from penstock.platform.secrets.queries import Secret, secret_from
from penstock.platform.secrets.rules import SecretValue

Req = Request[Any, Any, Any]
_TAGS = ["secrets"]
_EXAMPLE = {
    "name": "SMTP_PASSWORD",
    "created_at": "2026-01-01T00:00:00.000000Z",
    "updated_at": "2026-01-01T00:00:00.000000Z",
    "updated_by": "0192d3a4-0000-7d8e-9f00-aabbccddeeff",
}
_REFUSED = problems((401, "Not signed in."), (403, "The role is too low."), (404, "No such project or secret."))


def _project(access: Access) -> str:
    assert access.project_id is not None  # noqa: S101 - the guard resolved it
    return access.project_id


@get(
    "/projects/{id:str}/secrets",
    before_request=guard,
    tags=_TAGS,
    summary="The names of a project's secrets",
    operation_class=query(PAGING),
    responses=listed(Secret, "A page of names, newest first.", _EXAMPLE) | _REFUSED,
)
async def list_secrets(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database, project_id = Page(request), parts_of(request).database, _project(access_of(request))
    total = await database.one(queries.COUNT, project_id=project_id)
    rows = await database.all(queries.LIST, project_id=project_id, **page.bounds)
    return page.answer([secret_from(row) for row in rows], total[0] if total is not None else 0)


@get(
    "/projects/{id:str}/secrets/{name:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Whether there is such a secret, and since when; never its value",
    responses={200: answer(Secret, "What is told of it.", _EXAMPLE)} | _REFUSED,
)
async def read_secret(request: Req, id: FromPath[str], name: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.read(parts_of(request), _project(access_of(request)), name))


@put(
    "/projects/{id:str}/secrets/{name:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Set a secret",
    operation_class=json_body(SecretValue, {"value": "correct horse battery"}),
    responses={200: answer(Secret, "Replaced.", _EXAMPLE), 201: answer(Secret, "Created.", _EXAMPLE)}
    | _REFUSED
    | problems((400, "The name or the body is not valid.")),
)
async def put_secret(request: Req, id: FromPath[str], name: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, SecretValue)
    access = access_of(request)
    project_id = _project(access)
    secret, is_new = await rules.put(parts_of(request), call_of(request), access, project_id, name, body.value)
    made = json(secret, status=201 if is_new else 200)
    if is_new:
        made.headers.append((b"location", f"/api/v1/projects/{project_id}/secrets/{secret.name}".encode()))
    return made


@delete(
    "/projects/{id:str}/secrets/{name:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete a secret",
    responses={204: ResponseSpec(None, description="Deleted; no body.")} | _REFUSED,
    status_code=200,
)
async def delete_secret(request: Req, id: FromPath[str], name: FromPath[str]) -> Answer:  # noqa: A002
    access = access_of(request)
    await rules.delete(parts_of(request), call_of(request), access, _project(access), name)
    return Answer(204, b"", "")


HANDLERS = [list_secrets, read_secret, put_secret, delete_secret]
