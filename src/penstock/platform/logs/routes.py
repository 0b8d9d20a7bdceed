"""/workflows/{id}/logs and its stream."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath

from penstock.http.answers import Answer
from penstock.http.openapi import PAGING, PERIOD, Fields, listed, query
from penstock.platform.access import access_of, guard
from penstock.platform.events.filters import LOG_FILTERS, filters_from
from penstock.platform.events.openapi import AFTER, EXECUTION_ID, LOG_ENTRY, RESUME, streamed
from penstock.platform.events.streaming import open_stream
from penstock.platform.executions.queries import COUNTS, counts_from
from penstock.platform.logs import queries
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.streams import LEVELS, EventStream, Level
from penstock.streams.reading import LogEntry, log_from

Req = Request[Any, Any, Any]
_TAGS = ["logs"]
_FILTERS: Fields = (
    {
        "level": ("warn", "This level and above: debug, info, warn, error, fatal."),
        "module": ("engine", "Of this module only."),
        "q": ("timeout", "Part of the message, in upper or lower case."),
    }
    | EXECUTION_ID
    | PERIOD
)


@get(
    "/workflows/{id:str}/logs",
    before_request=guard,
    tags=_TAGS,
    summary="The logs of a workflow",
    operation_class=query(_FILTERS | PAGING, choices={"level": LEVELS}),
    responses=listed(LogEntry, "Newest first.", LOG_ENTRY),
)
async def list_logs(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request, *LOG_FILTERS), parts_of(request).database
    filters = filters_from(page.query, LOG_FILTERS)
    workflow_id, level = access_of(request).workflow_id, filters.values.get("level", Level.DEBUG)
    names, alarming = filters.names, level >= Level.WARN
    params = filters.params() | page.bounds | {"workflow_id": workflow_id}
    if names & {"q", "module"}:
        found = await database.slow(queries.counted_listing(names, alarming=alarming), **params)
        return page.answer([log_from(row[1:]) for row in found if row["id"] is not None], found[0]["total"])
    if names <= {"level"}:
        counts = counts_from(await database.all(COUNTS, workflow_id=workflow_id))
        total = sum(counts.get(name, 0) for name in LEVELS[level:])
    else:
        total = (await database.slow(queries.count_of(names, alarming=alarming), **params))[0][0]
    rows = await (database.slow if names else database.all)(queries.listing(names, alarming=alarming), **params)
    return page.answer([log_from(row) for row in rows], total)


@get(
    "/workflows/{id:str}/logs/stream",
    before_request=guard,
    tags=_TAGS,
    summary="The logs of a workflow as they are written",
    description=(
        "Server-Sent Events: `id` is the entry's id, `event` is `log`, `data` its JSON on one line. Only new ones,"
        " unless `Last-Event-ID` or `after` says where to resume: then nothing is lost and nothing comes twice. A"
        " comment comes every 15 seconds. `event: end` says why the server closes the stream."
    ),
    operation_class=query(_FILTERS | AFTER, choices={"level": LEVELS}, heeds=RESUME),
    responses=streamed("Until one side closes it."),
)
async def stream_logs(request: Req, id: FromPath[str]) -> EventStream:  # noqa: A002
    return open_stream(request, "log", LOG_FILTERS)


HANDLERS = [list_logs, stream_logs]
