"""Document 3: metadata of projects by name. (The projects of document 2 are other records, in `platform`.)"""

from typing import Any
from urllib.parse import parse_qsl

from litestar import Request, get, post
from litestar.openapi.datastructures import ResponseSpec
from msgspec import UNSET, Struct, UnsetType
from sqlalchemy import Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import insert

from penstock.http.answers import Answer, json
from penstock.http.bodies import read_json, storable
from penstock.http.openapi import answer, form, problems, query
from penstock.http.times import rfc3339
from penstock.problems import FieldError, Invalid
from penstock.storage import Database, Statement, now
from penstock.storage.schema import project_metadata

Call = Request[Any, Any, Any]
_LONGEST_NAME = 255
_TAGS = ["project metadata"]


class Project(Struct, forbid_unknown_fields=True):
    """The body of POST. A description left out leaves the stored one."""

    name: str | UnsetType = UNSET
    description: str | UnsetType = UNSET


class StoredProject(Struct):
    name: str
    description: str
    created_at: str
    updated_at: str


_FIND = Statement(select(project_metadata).where(project_metadata.c.name == bindparam("name")))
_description = bindparam("description", type_=Text)
_insert = insert(project_metadata).values(
    name=bindparam("name"),
    description=func.coalesce(_description, ""),
    created_at=bindparam("now"),
    updated_at=bindparam("now"),
)
# One statement, so that two posts of one name at once never make two records, nor does either fail.
_PUT = Statement(
    _insert.on_conflict_do_update(
        index_elements=["name"],
        set_={
            "description": func.coalesce(_description, project_metadata.c.description),
            "updated_at": _insert.excluded.updated_at,
        },
    )
)


def _database(request: Call) -> Database:
    database: Database = request.app.state.database
    return database


@get(
    "/project",
    tags=_TAGS,
    summary="Read a project's metadata",
    operation_class=query({"projectName": ("apollo", "The name of the project.")}, required=True),
    responses={
        200: answer(
            StoredProject,
            "The project.",
            {
                "name": "apollo",
                "description": "To the moon",
                "created_at": "2026-01-01T00:00:00.000000Z",
                "updated_at": "2026-01-01T00:00:00.000000Z",
            },
        ),
        404: ResponseSpec(None, description="No such project; no body."),
    }
    | problems((400, "The parameter is missing, blank or repeated.")),
)
async def read(request: Call) -> Answer:
    await request.app.state.authorize_project(request)
    name = _name_parameter(request.scope["query_string"])
    row = await _database(request).one(_FIND, name=name) if storable(name) else None
    if row is None:
        return Answer(404, b"", "")
    return json(StoredProject(row[0], row[1], rfc3339(row[2]), rfc3339(row[3])))


def _name_parameter(query_string: bytes) -> str:
    try:
        pairs = parse_qsl(query_string.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=50)
    except (UnicodeDecodeError, ValueError) as error:
        problem = "expected percent-encoded UTF-8, 50 parameters at most"
        raise Invalid(f"the query is not valid: {problem}", errors=[FieldError("", problem)]) from error
    names = [value for name, value in pairs if name == "projectName"]
    if len(names) != 1 or not names[0].strip():
        problem = "given more than once" if len(names) > 1 else "a name is required"
        raise Invalid(f"projectName: {problem}", errors=[FieldError("/projectName", problem)])
    return names[0]


@post(
    "/project",
    tags=_TAGS,
    summary="Create a project, or update its metadata",
    operation_class=form(
        required={"name": ("apollo", "Unique across all projects; up to 255 characters.")},
        optional={"description": ("To the moon", "Left out: the stored one stays.")},
        kinds=("application/json",),
    ),
    responses={201: ResponseSpec(str, description="The name.", media_type="text/plain")}
    | problems((400, "The body is not valid.")),
)
async def write(request: Call) -> Answer:
    await request.app.state.authorize_project(request)
    project = await read_json(request, Project)
    name = _valid_name(project.name)
    description = None if project.description is UNSET else project.description
    if description is not None and not storable(description):
        raise _invalid("description", "contains a character that cannot be stored")
    async with _database(request).transaction() as tx:
        await tx.run(_PUT, name=name, description=description, now=now())
    return Answer(201, name.encode(), "text/plain; charset=utf-8")


def _valid_name(name: str | UnsetType) -> str:
    if name is UNSET or not name.strip():
        raise _invalid("name", "a name is required")
    if len(name) > _LONGEST_NAME:
        raise _invalid("name", f"a name may have {_LONGEST_NAME} characters at most")
    if not storable(name):
        raise _invalid("name", "contains a character that cannot be stored")
    return name


def _invalid(member: str, message: str) -> Invalid:
    return Invalid(f"{member}: {message}", errors=[FieldError(f"/{member}", message)])


HANDLERS = [read, write]
