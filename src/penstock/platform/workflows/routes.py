"""/workflows, /projects/{pid}/workflows, versions, and the lifecycle: deploy, stop, status."""

from typing import Any

from litestar import Request, delete, get, post, put
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import parse_query, read_json, read_nothing, read_optional_json
from penstock.http.openapi import FORCE, PAGING, answer, json_body, listed, problems, query
from penstock.platform.access import access_of, guard
from penstock.platform.paging import Page, included
from penstock.platform.parts import parts_of
from penstock.platform.texts import invalid
from penstock.platform.workflows import lifecycle, lists, queries, rules, shown
from penstock.platform.workflows.etags import etag
from penstock.platform.workflows.lifecycle import Status, StopRequest
from penstock.platform.workflows.queries import Record, Version, Workflow, record_from, version_from
from penstock.platform.workflows.rules import NewWorkflow, WorkflowChange

Req = Request[Any, Any, Any]
_TAGS = ["workflows"]
_LONGEST_Q = 200
_ONE = {200: answer(Workflow, "The workflow, with its ETag.", shown.WORKFLOW)}
_LIST = listed(Workflow, "A page of workflows, newest first.", shown.WORKFLOW)


def _answer(record: Record, status: int = 200) -> Answer:
    made = json(record.workflow, status=status)
    made.headers.append((b"etag", etag(record.revision).encode()))
    return made


def _if_match(request: Req) -> str:
    return call_of(request).header(b"if-match")


async def _list(request: Req, made: lists.Lists, **params: Any) -> Answer:
    page, database = Page(request, "status", "q", "include"), parts_of(request).database
    runs = "runs" in included(page.query, "runs")
    if (status := page.choice("status", shown.STATUSES)) is not None:
        params["status"] = status
    if q := page.query.text("q"):
        # SQLite refuses patterns of 50,000 characters, and nobody types more than a few.
        if len(q) > _LONGEST_Q:
            raise invalid("q", f"may have {_LONGEST_Q} characters at most")
        params["q"] = lists.pattern(q)
    # Someone may see ten thousand, and a search reads all of them.
    rows = await database.slow(made.statement(params, runs=runs), **params, **page.bounds)
    found = [record_from(row[1:]).workflow for row in rows if row["id"] is not None]
    return page.answer(found, rows[0]["total"])


@get(
    "/workflows",
    before_request=guard,
    tags=_TAGS,
    summary="All workflows that I can access",
    operation_class=query(PAGING | shown.FILTERS | shown.INCLUDE, choices={"status": shown.STATUSES}),
    responses=_LIST | problems((400, "A filter is not valid."), (401, "Not signed in.")),
)
async def list_workflows(request: Req) -> Answer:
    return await _list(request, lists.MINE, user_id=access_of(request).caller.id)


@get(
    "/projects/{pid:str}/workflows",
    before_request=guard,
    tags=_TAGS,
    summary="The workflows of a project",
    operation_class=query(PAGING | shown.FILTERS | shown.INCLUDE, choices={"status": shown.STATUSES}),
    responses=_LIST | shown.REFUSED,
)
async def list_project_workflows(request: Req, pid: FromPath[str]) -> Answer:
    return await _list(request, lists.OF_PROJECT, project_id=access_of(request).project_id)


@post(
    "/projects/{pid:str}/workflows",
    before_request=guard,
    tags=_TAGS,
    summary="Create a workflow",
    operation_class=json_body(NewWorkflow, {"name": "Greet", "config_yaml": shown.DEFINITION}),
    responses={201: answer(Workflow, "The workflow, a draft in version 1.", shown.WORKFLOW)}
    | shown.REFUSED
    | problems((400, "The body is not valid."), (409, "The slug is taken."), (413, "config_yaml is over 256 KiB.")),
)
async def create_workflow(request: Req, pid: FromPath[str]) -> Answer:
    body = await read_json(request, NewWorkflow)
    record = await rules.create(parts_of(request), call_of(request), access_of(request), body)
    made = _answer(record, 201)
    made.headers.append((b"location", f"/api/v1/workflows/{record.workflow.id}".encode()))
    return made


@get(
    "/workflows/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Read a workflow",
    responses=_ONE | shown.REFUSED,
)
async def read_workflow(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return _answer(await rules.read(parts_of(request).database, rules.id_of(access_of(request))))


@put(
    "/workflows/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Change a workflow; a different definition makes a new version",
    description="With If-Match, only if nobody changed it since that ETag was read.",
    operation_class=json_body(WorkflowChange, {"config_yaml": shown.DEFINITION}, heeds=shown.IF_MATCH),
    responses=_ONE
    | shown.REFUSED
    | shown.STALE
    | problems((400, "The body is not valid."), (409, "The slug is taken."), (413, "config_yaml is over 256 KiB.")),
)
async def update_workflow(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_json(request, WorkflowChange)
    changed = await rules.update(parts_of(request), call_of(request), access_of(request), body, _if_match(request))
    return _answer(changed)


@delete(
    "/workflows/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Delete a workflow with all its executions",
    description="409 while it is active or an execution runs, unless ?force=true, which cancels them first.",
    operation_class=query(FORCE, heeds=shown.IF_MATCH),
    responses=shown.GONE | shown.REFUSED | shown.STALE | problems((409, "It is active, or an execution runs.")),
    status_code=200,
)
async def delete_workflow(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    force = parse_query(request.scope["query_string"]).flag("force")
    await rules.delete(parts_of(request), call_of(request), access_of(request), _if_match(request), force=force)
    return Answer(204, b"", "")


@post(
    "/workflows/{id:str}/deploy",
    before_request=guard,
    tags=_TAGS,
    summary="Deploy the newest version",
    operation_class=query({}, heeds=shown.IF_MATCH),
    responses=_ONE
    | shown.REFUSED
    | shown.STALE
    | problems((422, "The definition is not valid; `errors` says where."), (502, "The engine refused.")),
    status_code=200,
)
async def deploy_workflow(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await read_nothing(request)
    parts, call = parts_of(request), call_of(request)
    return _answer(await lifecycle.deploy(parts, call, access_of(request), _if_match(request)))


@post(
    "/workflows/{id:str}/stop",
    before_request=guard,
    tags=_TAGS,
    summary="Stop a workflow; what runs goes on, unless cancelled",
    operation_class=json_body(StopRequest, {"cancel_running": True}, required=False, heeds=shown.IF_MATCH),
    responses=_ONE
    | shown.REFUSED
    | shown.STALE
    | problems((409, "It was never deployed."), (502, "The engine refused.")),
    status_code=200,
)
async def stop_workflow(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_optional_json(request, StopRequest)
    parts, call = parts_of(request), call_of(request)
    return _answer(await lifecycle.stop(parts, call, access_of(request), _if_match(request), body))


@get(
    "/workflows/{id:str}/status",
    before_request=guard,
    tags=_TAGS,
    summary="Whether it is active, what runs, and when it runs next",
    responses={200: answer(Status, "The status; `running` counts executions that have not ended.", shown.STATUS)}
    | shown.REFUSED,
)
async def workflow_status(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await lifecycle.status(parts_of(request), access_of(request)))


@get(
    "/workflows/{id:str}/versions",
    before_request=guard,
    tags=_TAGS,
    summary="The versions of a workflow, newest first",
    operation_class=query(PAGING),
    responses=listed(Version, "A page of versions.", shown.VERSION) | shown.REFUSED,
)
async def list_versions(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database, id_ = Page(request), parts_of(request).database, rules.id_of(access_of(request))
    total = await database.one(queries.COUNT_VERSIONS, workflow_id=id_)
    rows = await database.all(queries.LIST_VERSIONS, workflow_id=id_, **page.bounds)
    return page.answer([version_from(row) for row in rows], total[0] if total is not None else 0)


@get(
    "/workflows/{id:str}/versions/{v:str}",
    before_request=guard,
    tags=_TAGS,
    summary="One version: its number, or latest",
    responses={200: answer(Version, "The version.", shown.VERSION)} | shown.REFUSED,
)
async def read_version(request: Req, id: FromPath[str], v: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.version(parts_of(request).database, rules.id_of(access_of(request)), v))


HANDLERS = [
    list_workflows,
    list_project_workflows,
    create_workflow,
    read_workflow,
    update_workflow,
    delete_workflow,
    deploy_workflow,
    stop_workflow,
    workflow_status,
    list_versions,
    read_version,
]
