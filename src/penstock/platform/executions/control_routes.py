"""/executions/{id}/pause, /resume and /rerun."""

from typing import Any

from litestar import Request, post
from litestar.params import FromPath

from penstock.http.answers import Answer, call_of, json
from penstock.http.bodies import read_nothing, read_optional_json
from penstock.http.openapi import answer, json_body, problems
from penstock.platform.access import access_of, guard
from penstock.platform.executions import control
from penstock.platform.executions.control import Rerun
from penstock.platform.executions.openapi import EXECUTION
from penstock.platform.executions.queries import Execution
from penstock.platform.parts import parts_of

Req = Request[Any, Any, Any]
_TAGS = ["executions"]
_NONE = (404, "There is no such execution.")
_ENDED = (409, "It has ended already, or this server has no engine.")


@post(
    "/executions/{id:str}/pause",
    before_request=guard,
    tags=_TAGS,
    summary="Pause an execution",
    description="No further step begins; `metadata.paused_at` says since when.",
    status_code=200,
    responses={200: answer(Execution, "The execution.", EXECUTION)} | problems(_NONE, _ENDED),
)
async def pause(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await read_nothing(request)
    return json(await control.pause(parts_of(request), call_of(request), access_of(request), id))


@post(
    "/executions/{id:str}/resume",
    before_request=guard,
    tags=_TAGS,
    summary="Let a paused execution go on",
    status_code=200,
    responses={200: answer(Execution, "The execution.", EXECUTION)} | problems(_NONE, _ENDED),
)
async def resume(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    await read_nothing(request)
    return json(await control.resume(parts_of(request), call_of(request), access_of(request), id))


@post(
    "/executions/{id:str}/rerun",
    before_request=guard,
    tags=_TAGS,
    summary="Run an ended execution again",
    description=(
        "A new execution of the same version with the same input. With `from`, the reference of a step, what was"
        " finished before that step is kept and not performed again. `metadata.rerun_of` names the old one."
    ),
    operation_class=json_body(Rerun, {"from": "/do/1/charge"}, required=False),
    responses={201: answer(Execution, "The new execution.", EXECUTION)}
    | problems(
        (400, "It ran no step with this reference."), _NONE, (409, "It has not ended, or the workflow is stopped.")
    ),
)
async def rerun(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    body = await read_optional_json(request, Rerun)
    new = await control.rerun(parts_of(request), call_of(request), access_of(request), id, body)
    response = json(new, status=201)
    response.headers.append((b"location", f"/api/v1/executions/{new.id}".encode()))
    return response


HANDLERS = [pause, resume, rerun]
