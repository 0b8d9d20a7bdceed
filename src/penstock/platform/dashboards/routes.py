"""/dashboard and /workflows/{id}/dashboard."""

from typing import Any

from litestar import Request, get
from litestar.params import FromPath

from penstock.http.answers import Answer, json
from penstock.http.openapi import PAGING, answer, query
from penstock.platform.access import access_of, guard
from penstock.platform.dashboards import rules
from penstock.platform.executions.openapi import EXECUTION
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.workflows.shown import WORKFLOW

Req = Request[Any, Any, Any]
_TAGS = ["dashboards"]
_ID = "0192d3a4-5b6c-7d8e-9f00-aabbccddeeff"
_STATUSES = {"pending": 0, "running": 1, "completed": 40, "failed": 2, "cancelled": 0}
_LEVELS = {"debug": 100, "info": 80, "warn": 3, "error": 2, "fatal": 0}


@get(
    "/dashboard",
    before_request=guard,
    tags=_TAGS,
    summary="All workflows that I can see, in numbers",
    description="Newest first, a page at a time; `total_workflows` is how many there are in all.",
    operation_class=query(PAGING),
    responses={
        200: answer(
            rules.Dashboard,
            "The numbers.",
            {
                "total_workflows": 1,
                "workflow_summaries": [
                    {
                        "workflow_id": _ID,
                        "workflow_name": "Orders",
                        "status": "active",
                        "executions": _STATUSES,
                        "log_counts": _LEVELS,
                    }
                ],
            },
        )
    },
)
async def dashboard(request: Req) -> Answer:
    page = Page(request)
    return json(await rules.summaries(parts_of(request).database, access_of(request).caller.id, page.bounds))


@get(
    "/workflows/{id:str}/dashboard",
    before_request=guard,
    tags=_TAGS,
    summary="One workflow in numbers",
    description=(
        "`hours` are the last 24, by when executions were created; `duration_ms` is of the executions of the last 24"
        " hours that have ended (the newest 10,000 of them)."
    ),
    responses={
        200: answer(
            rules.WorkflowDashboard,
            "The numbers.",
            {
                "workflow": WORKFLOW,
                "execution_counts": _STATUSES,
                "log_counts": _LEVELS,
                "recent_executions": [EXECUTION],
                "hours": [{"hour": "2026-01-31T12:00:00.000000Z", "counts": _STATUSES}],
                "duration_ms": {"p50": 120.5, "p95": 1500.0},
            },
        )
    },
)
async def workflow_dashboard(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    return json(await rules.of_workflow(parts_of(request).database, str(access_of(request).workflow_id)))


HANDLERS = [dashboard, workflow_dashboard]
