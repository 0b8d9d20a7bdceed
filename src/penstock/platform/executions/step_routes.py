"""/executions/{id}/steps: all of them page by page or from where one stopped reading, with or without their data."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath
from sqlalchemy import Select, bindparam, null, select

from penstock.http.answers import Answer, json
from penstock.http.openapi import PAGING, Fields, answer, listed, problems, query
from penstock.platform.access import guard
from penstock.platform.executions import queries
from penstock.platform.executions.openapi import STEP
from penstock.platform.executions.queries import STEP_COLUMNS, step_from
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.texts import invalid
from penstock.problems import NotFound
from penstock.storage import Statement
from penstock.storage.platform_tables import steps

Req = Request[Any, Any, Any]
_TAGS = ["executions"]
_NONE = (404, "There is no such execution.")
_LAST = 2**31 - 1
_DATA = (steps.c.input_data, steps.c.output_data)
_FILTERS: Fields = {
    "after": ("0", "Only steps with a higher `sequence_num`: to go on where one stopped reading."),
    "data": ("false", "`false` leaves `input_data` and `output_data` null: a timeline of thousands needs none."),
}


def _listing(*columns: Any) -> Statement:
    found: Select[Any] = select(*columns).where(
        steps.c.execution_id == bindparam("execution_id"), steps.c.sequence_num > bindparam("after")
    )
    return Statement(found.order_by(steps.c.sequence_num).limit(bindparam("limit")).offset(bindparam("offset")))


_LIST = _listing(*STEP_COLUMNS)
_LIST_BARE = _listing(*(null().label(one.name) if one in set(_DATA) else one for one in STEP_COLUMNS))
_FIND = Statement(
    select(*STEP_COLUMNS).where(
        steps.c.execution_id == bindparam("execution_id"), steps.c.sequence_num == bindparam("number")
    )
)


@get(
    "/executions/{id:str}/steps",
    before_request=guard,
    tags=_TAGS,
    summary="The steps of an execution",
    description="In sequence: one for each run of a task, composites included; each retry is one, too. `total` is the "
    "number of all steps, whatever `after` is.",
    operation_class=query(PAGING | _FILTERS, choices={"data": ("true", "false")}),
    responses=listed(queries.Step, "In sequence.", STEP) | problems((400, "A filter is not valid."), _NONE),
)
async def list_steps(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database = Page(request, "after", "data"), parts_of(request).database
    after = page.query.get("after") or "0"
    if (number := _number(after)) is None:
        raise invalid("after", "expected the sequence_num of a step")
    statement = _LIST_BARE if page.choice("data", ("true", "false")) == "false" else _LIST
    count = await database.slow(queries.COUNT_STEPS, execution_id=id)
    rows = await database.all(statement, execution_id=id, after=number, **page.bounds)
    return page.answer([step_from(row) for row in rows], count[0][0])


@get(
    "/executions/{id:str}/steps/{number:str}",
    before_request=guard,
    tags=_TAGS,
    summary="One step of an execution, by its sequence_num",
    responses={200: answer(queries.Step, "The step.", STEP)} | problems((404, "There is no such step.")),
)
async def read_step(request: Req, id: FromPath[str], number: FromPath[str]) -> Answer:  # noqa: A002
    wanted = _number(number)
    row = None
    if wanted is not None:
        row = await parts_of(request).database.one(_FIND, execution_id=id, number=wanted)
    if row is None:
        raise NotFound("there is no such step")
    return json(step_from(row))


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= _LAST else None


HANDLERS = [list_steps, read_step]
