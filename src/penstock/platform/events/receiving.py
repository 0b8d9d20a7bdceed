"""POST /projects/{id}/events: events for the workflows of a project that listen."""

from dataclasses import dataclass
from typing import Any

from litestar import Request, post
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import FromPath
from sqlalchemy import bindparam, false, select

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_body
from penstock.http.openapi import answer, problems
from penstock.platform import audit
from penstock.platform.access import access_of, guard
from penstock.platform.events.cloudevents import read_events
from penstock.platform.events.keys import is_new
from penstock.platform.idempotency import key_of, parameter
from penstock.platform.parts import parts_of
from penstock.problems import Conflict, RateLimited
from penstock.storage import Statement
from penstock.storage.engine_tables import inbox

_EVENT = {
    "specversion": "1.0",
    "id": "17",
    "source": "https://shop.example",
    "type": "com.example.order.placed",
    "data": {"order": 17},
}
_MOST_NAMED = 20
_MOST_WAITING = 100_000
_COME_BACK = 60
_WAITING_BEYOND = Statement(
    select(inbox.c.id)
    .where(inbox.c.project_id == bindparam("project_id"), inbox.c.consumed == false())
    .order_by(inbox.c.id)
    .limit(1)
    .offset(bindparam("most"))
)


@dataclass
class _Receive(Operation):
    def __post_init__(self) -> None:
        one = Schema(
            type=OpenAPIType.OBJECT,
            required=["specversion", "id", "source", "type"],
            properties={
                "specversion": Schema(type=OpenAPIType.STRING, description="`1.0`.", examples=["1.0"]),
                "id": Schema(type=OpenAPIType.STRING, description="With `source`, the event's name.", examples=["17"]),
                "source": Schema(type=OpenAPIType.STRING, description="Who tells it.", examples=[_EVENT["source"]]),
                "type": Schema(type=OpenAPIType.STRING, description="What happened.", examples=[_EVENT["type"]]),
                "data": Schema(description="Any JSON.", examples=[_EVENT["data"]]),
            },
        )
        many = Schema(type=OpenAPIType.ARRAY, items=one)
        self.request_body = RequestBody(
            content={
                "application/cloudevents+json": OpenAPIMediaType(schema=one, example=_EVENT),
                "application/cloudevents-batch+json": OpenAPIMediaType(schema=many, example=[_EVENT]),
            },
            required=True,
        )
        self.parameters = [*(self.parameters or []), parameter()]


@post(
    "/projects/{id:str}/events",
    before_request=guard,
    tags=["events"],
    summary="Send events to the workflows of a project",
    description=(
        "CloudEvents 1.0: structured, in a batch, or binary (`ce-` headers). Each is consumed once by each `listen` and"
        " `schedule.on` that it matches, and kept for a while for those that listen later. With an `Idempotency-Key`,"
        " repeating the request within 24 hours stores nothing more."
    ),
    status_code=202,
    operation_class=_Receive,
    responses={202: answer(dict[str, int], "Stored; whoever listens is told.", {"accepted": 1})}
    | problems(
        (400, "Not a CloudEvent, or the key is not valid."),
        (404, "There is no such project."),
        (409, "This server runs no workflows, or the key was used with other events."),
        (413, "Too large."),
        (415, "Not the media type of a CloudEvent."),
        (429, "Too many events wait for somebody who listens."),
    ),
)
async def receive(request: Request[Any, Any, Any], id: FromPath[str]) -> Answer:  # noqa: A002
    parts, call, access = parts_of(request), call_of(request), access_of(request)
    key, headers = key_of(call), {name.lower(): value for name, value in request.headers.items()}
    events = read_events(headers, await read_body(request))
    if parts.engine is None:
        raise Conflict("this server has no engine (setting `engine`), so nobody would ever consume an event")
    if await parts.database.one(_WAITING_BEYOND, project_id=id, most=_MOST_WAITING) is not None:
        raise RateLimited(
            f"{_MOST_WAITING:,} events of this project wait for somebody who listens; deploy who consumes them, or wait"
            " until they expire",
            retry_after=_COME_BACK,
        )
    types = sorted({str(event["type"]) for event in events})[:_MOST_NAMED]
    accepted = json({"accepted": len(events)}, status=202)
    async with parts.database.transaction() as tx:
        if key is not None and not await is_new(tx, id, key, events):
            return accepted
        await audit.by(tx, call, access, "event.receive", id, {"count": len(events), "types": types})
        await parts.engine.receive(tx, id, events)
    await parts.engine.received()
    return accepted


HANDLERS = [receive]
