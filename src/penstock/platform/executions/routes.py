"""/workflows/{id}/trigger, /workflows/{id}/executions and /executions."""

from typing import Any

from litestar import Request, get, post
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_json
from penstock.http.openapi import PAGING, PERIOD, answer, listed, problems, query
from penstock.platform.access import access_of, guard
from penstock.platform.executions import queries, rules
from penstock.platform.executions.openapi import EXECUTION, TRIGGER
from penstock.platform.executions.queries import execution_from
from penstock.platform.executions.rules import Trigger
from penstock.platform.paging import Page, period
from penstock.platform.parts import parts_of
from penstock.streams import STATUSES

Req = Request[Any, Any, Any]
_TAGS = ["executions"]
_NONE = (404, "There is no such execution.")


@post(
    "/workflows/{id:str}/trigger",
    guards=[guard],
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
    key = call.headers.get(b"idempotency-key")
    key_text = rules.valid_key(None if key is None else key.decode("latin-1"))
    body = await read_json(request, Trigger) if await request.body() else Trigger()
    done = await rules.trigger(parts_of(request), call, access_of(request), body, key_text)
    response = json(done.execution, status=201 if done.created else 200)
    response.headers.append((b"location", f"/api/v1/executions/{done.execution.id}".encode()))
    return response


@get(
    "/workflows/{id:str}/executions",
    guards=[guard],
    tags=_TAGS,
    summary="The executions of a workflow",
    operation_class=query(
        {"status": ("failed", "One of pending, running, completed, failed, cancelled.")} | PERIOD | PAGING,
        choices={"status": STATUSES},
    ),
    responses=listed(queries.Execution, "Newest first.", EXECUTION),
)
async def list_executions(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request, *queries.FILTERS), parts_of(request).database
    values: dict[str, Any] = period(page.query) | {"status": page.choice("status", STATUSES)}
    given = frozenset(page.query.keys() & set(queries.FILTERS))
    params = {name: values[name] for name in given} | {"workflow_id": access_of(request).workflow_id}
    items, count = queries.listing(given)
    if given <= {"status"}:
        counts = queries.counts_from(await database.all(queries.COUNTS, workflow_id=params["workflow_id"]))
        total = sum(counts.get(status, 0) for status in STATUSES if params.get("status") in {None, status})
    else:
        total = (await database.slow(count, **params))[0][0]
    rows = await database.all(items, **params, **page.bounds)
    return page.answer([execution_from(row) for row in rows], total)


@get(
    "/executions/{id:str}",
    guards=[guard],
    tags=_TAGS,
    summary="Read an execution",
    responses={200: answer(queries.Execution, "The execution.", EXECUTION)} | problems(_NONE),
)
async def read_execution(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.read(parts_of(request).database, id.lower()))


@post(
    "/executions/{id:str}/cancel",
    guards=[guard],
    tags=_TAGS,
    summary="Cancel an execution",
    status_code=200,
    responses={200: answer(queries.Execution, "The execution.", EXECUTION)}
    | problems(_NONE, (409, "It has ended already.")),
)
async def cancel(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.cancel(parts_of(request), call_of(request), access_of(request), id.lower()))


HANDLERS = [trigger, list_executions, read_execution, cancel]
