"""/workflows/{id}/trigger, and executions: of a workflow, of all workflows, and one."""

from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_nothing, read_optional_json
from penstock.http.openapi import PAGING, PERIOD, Choices, Fields, answer, listed, problems, query
from penstock.ids import is_uuid
from penstock.platform.access import access_of, guard, resolve
from penstock.platform.executions import lists, queries, rules
from penstock.platform.executions.openapi import EXECUTION, LISTED, TRIGGER
from penstock.platform.executions.rules import Trigger
from penstock.platform.idempotency import key_of
from penstock.platform.paging import Page, included, period, query_of
from penstock.platform.parts import parts_of
from penstock.platform.texts import invalid
from penstock.streams import STATUSES

Req = Request[Any, Any, Any]
_TAGS = ["executions"]
_NONE = (404, "There is no such execution.")
_CHOICES: Choices = {"status": STATUSES, "trigger_type": queries.TRIGGERS}
_FILTERS: Fields = {
    "status": ("failed", "One of pending, running, completed, failed, cancelled."),
    "trigger_type": ("manual", "One of manual, schedule, event, link, subflow."),
} | PERIOD
_PLACE: Fields = {
    "project_id": ("0192d3a4-5b6c-7d8e-9f00-112233445566", "Of this project only."),
    "workflow_id": ("0192d3a4-5b6c-7d8e-9f00-aabbccddeeff", "Of this workflow only."),
}
_INCLUDE: Fields = {"include": ("triggered_by", "`triggered_by`: with the user who started it, or null.")}


@post(
    "/workflows/{id:str}/trigger",
    before_request=guard,
    tags=_TAGS,
    summary="Start an execution",
    description=(
        "Runs the deployed version of an active workflow, the newest of a draft. With an `Idempotency-Key`, repeating"
        " the request within 24 hours answers 200 and the execution that it started."
    ),
    operation_class=TRIGGER,
    responses={
        200: answer(queries.Execution, "The execution that this key started before.", EXECUTION),
        201: answer(queries.Execution, "The execution, durable.", EXECUTION),
    }
    | problems(
        (400, "The body or the key is not valid."),
        (409, "The workflow is stopped, or the key was used with other data."),
        (413, "trigger_data is over 256 KiB."),
        (422, "The draft's newest version is not valid."),
    ),
)
async def trigger(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    call = call_of(request)
    key = key_of(call)
    body = await read_optional_json(request, Trigger)
    done = await rules.trigger(parts_of(request), call, access_of(request), body, key)
    response = json(done.execution, status=201 if done.created else 200)
    response.headers.append((b"location", f"/api/v1/executions/{done.execution.id}".encode()))
    return response


@get(
    "/workflows/{id:str}/executions",
    before_request=guard,
    tags=_TAGS,
    summary="The executions of a workflow",
    operation_class=query(_FILTERS | _INCLUDE | PAGING, choices=_CHOICES),
    responses=listed(queries.Execution, "Newest first.", EXECUTION),
)
async def list_executions(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request, *queries.FILTERS, "include"), parts_of(request).database
    starter = "triggered_by" in included(page.query, "triggered_by")
    workflow_id = str(access_of(request).workflow_id)
    items, total = await rules.listed(
        database, workflow_id, _given(page, queries.FILTERS), page.bounds, starter=starter
    )
    return page.answer(items, total)


@get(
    "/executions",
    before_request=guard,
    tags=_TAGS,
    summary="The executions of all workflows that I can access",
    description="Each with its workflow and with the user who started it; `triggered_by` is null when none did.",
    operation_class=query(_PLACE | _FILTERS | PAGING, choices=_CHOICES),
    responses=listed(lists.ListedExecution, "Newest first.", LISTED)
    | problems((400, "A filter is not valid."), (401, "Not signed in.")),
)
async def list_all_executions(request: Req) -> Answer:
    page, database = Page(request, *lists.FILTERS, "workflow_id"), parts_of(request).database
    caller = access_of(request).caller
    values = _given(page, lists.FILTERS)
    if (workflow_id := _id_of(page, "workflow_id")) is not None:
        access = await resolve(database, caller, "workflow", workflow_id)
        in_place = access is not None and values.pop("project_id", access.project_id) == access.project_id
        if access is None or access.role is None or not in_place:
            return page.answer([], 0)
        items, total = await rules.listed(database, workflow_id, values, page.bounds, starter=True)
        return page.answer(await lists.placed(database, workflow_id, items), total)
    return page.answer(*await lists.page(database, caller.id, values, page.bounds))


def _given(page: Page, known: tuple[str, ...]) -> dict[str, Any]:
    """The filters of a list that were given, as the database compares them."""
    values: dict[str, Any] = period(page.query) | {
        "status": page.choice("status", STATUSES),
        "trigger_type": page.choice("trigger_type", queries.TRIGGERS),
        "project_id": _id_of(page, "project_id"),
    }
    return {name: values[name] for name in known if name in page.query}


def _id_of(page: Page, name: str) -> str | None:
    text = page.query.get(name)
    if text is not None and not is_uuid(text):
        raise invalid(name, "expected a UUID")
    return None if text is None else text.lower()


@get(
    "/executions/{id:str}",
    before_request=guard,
    tags=_TAGS,
    summary="Read an execution",
    operation_class=query(_INCLUDE),
    responses={200: answer(queries.Execution, "The execution.", EXECUTION)} | problems(_NONE),
)
async def read_execution(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    starter = "triggered_by" in included(query_of(request, "include"), "triggered_by")
    return json(await rules.read(parts_of(request).database, id.lower(), starter=starter))


@post(
    "/executions/{id:str}/cancel",
    before_request=guard,
    tags=_TAGS,
    summary="Cancel an execution",
    status_code=200,
    responses={200: answer(queries.Execution, "The execution.", EXECUTION)}
    | problems(_NONE, (409, "It has ended already.")),
)
async def cancel(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await read_nothing(request)
    return json(await rules.cancel(parts_of(request), call_of(request), access_of(request), id.lower()))


HANDLERS = [trigger, list_executions, list_all_executions, read_execution, cancel]
