"""/workflows/{id}/events and its stream; the streams of a project and of all that one can see."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath

from penstock.http.answers import Answer
from penstock.http.openapi import PAGING, PERIOD, Fields, listed, problems, query
from penstock.platform.access import access_of, guard
from penstock.platform.events import queries
from penstock.platform.events.filters import EVENT_FILTERS, filters_from
from penstock.platform.events.openapi import AFTER, EVENT, EXECUTION_ID, RESUME, streamed
from penstock.platform.events.streaming import open_stream, open_stream_of_all, open_stream_of_project
from penstock.platform.executions.queries import COUNTS, counts_from
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.streams import EventStream
from penstock.streams.reading import Event, event_from

Req = Request[Any, Any, Any]
_TAGS = ["events"]
_FILTERS: Fields = {"type": ("workflow.completed", "Of this type only.")} | EXECUTION_ID | PERIOD
_STREAMED: Fields = _FILTERS | {"type": ("workflow.*", "Of this type only; with `*` at its end, of all that begin so.")}


@get(
    "/workflows/{id:str}/events",
    before_request=guard,
    tags=_TAGS,
    summary="The events of a workflow",
    operation_class=query(_FILTERS | PAGING),
    responses=listed(Event, "Newest first.", EVENT),
)
async def list_events(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request, *EVENT_FILTERS), parts_of(request).database
    filters = filters_from(page.query, EVENT_FILTERS)
    params = filters.params() | {"workflow_id": access_of(request).workflow_id}
    items, count = queries.listing(filters.names)
    if filters.values:
        total = (await database.slow(count, **params))[0][0]
        rows = await database.slow(items, **params, **page.bounds)
    else:
        total = counts_from(await database.all(COUNTS, **params)).get("events", 0)
        rows = await database.all(items, **params, **page.bounds)
    return page.answer([event_from(row) for row in rows], total)


@get(
    "/workflows/{id:str}/events/stream",
    before_request=guard,
    tags=_TAGS,
    summary="The events of a workflow as they happen",
    description=(
        "Server-Sent Events: `id` is the event's id, `event` its type, `data` its JSON on one line. Only new ones,"
        " unless `Last-Event-ID` or `after` says where to resume: then nothing is lost and nothing comes twice. A"
        " comment comes every 15 seconds. `event: end` says why the server closes the stream."
    ),
    operation_class=query(_STREAMED | AFTER, heeds=RESUME),
    responses=streamed("Until one side closes it."),
)
async def stream_events(request: Req, id: FromPath[str]) -> EventStream:  # noqa: A002
    return open_stream(request, "event", EVENT_FILTERS)


_OF_SEVERAL = "As the stream of a workflow; ids grow over all workflows, so that one id is enough to resume."


@get(
    "/projects/{id:str}/events/stream",
    before_request=guard,
    tags=_TAGS,
    summary="The events of all workflows of a project as they happen",
    description=_OF_SEVERAL,
    operation_class=query(_STREAMED | AFTER, heeds=RESUME),
    responses=streamed("Until one side closes it."),
)
async def stream_project_events(request: Req, id: FromPath[str]) -> EventStream:  # noqa: A002
    return open_stream_of_project(request, EVENT_FILTERS)


@get(
    "/events/stream",
    before_request=guard,
    tags=_TAGS,
    summary="The events of all workflows that I can access, as they happen",
    description=_OF_SEVERAL,
    operation_class=query(_STREAMED | AFTER, heeds=RESUME),
    responses=streamed("Until one side closes it.") | problems((401, "Not signed in.")),
)
async def stream_all_events(request: Req) -> EventStream:
    return open_stream_of_all(request, EVENT_FILTERS)


HANDLERS = [list_events, stream_events, stream_project_events, stream_all_events]
