"""What dashboards ask. Counters answer most of it, so that it costs the same for ten rows and for ten million."""

from sqlalchemy import bindparam, case, func, select
from sqlalchemy.sql.elements import ColumnElement

from penstock.platform.executions.queries import COLUMNS
from penstock.platform.workflows.lists import of_mine as visible
from penstock.storage import Statement
from penstock.storage.platform_tables import executions, workflow_counts, workflow_hours, workflows

_visible = visible([]).subquery()
COUNT = Statement(select(func.count()).select_from(_visible))
_page = (
    select(_visible.c.id)
    .order_by(_visible.c.created_at.desc(), _visible.c.id.desc())
    .limit(bindparam("limit"))
    .offset(bindparam("offset"))
    .subquery()
)
# A row for each counter of each workflow of the page; one without counters is there once.
SUMMARIES = Statement(
    select(workflows.c.id, workflows.c.name, workflows.c.status, workflow_counts.c.what, workflow_counts.c.n)
    .select_from(
        _page.join(workflows, workflows.c.id == _page.c.id).outerjoin(
            workflow_counts, workflow_counts.c.workflow_id == workflows.c.id
        )
    )
    .order_by(workflows.c.created_at.desc(), workflows.c.id.desc())
)

HOURS = Statement(
    select(workflow_hours.c.hour, workflow_hours.c.status, workflow_hours.c.n).where(
        workflow_hours.c.workflow_id == bindparam("workflow_id"), workflow_hours.c.hour >= bindparam("since")
    )
)
RECENT = Statement(
    select(*COLUMNS)
    .where(executions.c.workflow_id == bindparam("workflow_id"))
    .order_by(executions.c.created_at.desc(), executions.c.id.desc())
    .limit(bindparam("limit"))
)

# The newest of the period, as many as say enough, read from the index alone.
_sample = (
    select((executions.c.completed_at - executions.c.started_at).label("micros"))
    .where(
        executions.c.workflow_id == bindparam("workflow_id"),
        executions.c.created_at >= bindparam("since"),
        executions.c.started_at.is_not(None),
        executions.c.completed_at.is_not(None),
    )
    .order_by(executions.c.created_at.desc(), executions.c.id.desc())
    .limit(bindparam("limit"))
    .subquery()
)
_ranked = select(
    _sample.c.micros,
    func.row_number().over(order_by=_sample.c.micros).label("rank"),
    func.count().over().label("n"),
).subquery()


def _percentile(percent: int) -> ColumnElement[int]:
    """By nearest rank: a duration that one of them really took."""
    return func.min(case((_ranked.c.rank * 100 >= _ranked.c.n * percent, _ranked.c.micros)))


DURATIONS = Statement(select(_percentile(50), _percentile(95)).select_from(_ranked))
