"""From counters to dashboards: every status and every level is there, zero included."""

from collections.abc import Sequence

import msgspec

from penstock.http.times import rfc3339
from penstock.platform.dashboards import queries
from penstock.platform.executions.queries import COUNTS, Execution, counts_from, execution_from
from penstock.platform.workflows.queries import Workflow
from penstock.platform.workflows.rules import read
from penstock.storage import Database, Row, now
from penstock.streams import LEVELS, STATUSES
from penstock.streams.journal import HOUR

_DAY = 24 * HOUR
_RECENT = 10
_SAMPLE = 10_000


class Summary(msgspec.Struct, frozen=True):
    workflow_id: str
    workflow_name: str
    status: str
    executions: dict[str, int]
    log_counts: dict[str, int]


class Dashboard(msgspec.Struct, frozen=True):
    total_workflows: int
    workflow_summaries: list[Summary]


class Hour(msgspec.Struct, frozen=True):
    hour: str
    counts: dict[str, int]


class Durations(msgspec.Struct, frozen=True):
    p50: float | None
    p95: float | None


class WorkflowDashboard(msgspec.Struct, frozen=True):
    workflow: Workflow
    execution_counts: dict[str, int]
    log_counts: dict[str, int]
    recent_executions: list[Execution]
    hours: list[Hour]
    duration_ms: Durations


def _each(names: Sequence[str], counts: dict[str, int]) -> dict[str, int]:
    return {name: counts.get(name, 0) for name in names}


def summaries_from(rows: Sequence[Row]) -> list[Summary]:
    found: dict[str, tuple[str, str, dict[str, int]]] = {}
    for id_, name, status, what, n in rows:
        _, _, counts = found.setdefault(id_, (name, status, {}))
        if what is not None:
            counts[what] = n
    return [
        Summary(id_, name, status, _each(STATUSES, counts), _each(LEVELS, counts))
        for id_, (name, status, counts) in found.items()
    ]


async def summaries(database: Database, user_id: str, bounds: dict[str, int]) -> Dashboard:
    """One page of what someone can see, newest first, and how many there are in all."""
    total = await database.slow(queries.COUNT, user_id=user_id)
    rows = await database.slow(queries.SUMMARIES, user_id=user_id, **bounds)
    return Dashboard(total[0][0], summaries_from(rows))


async def of_workflow(database: Database, workflow_id: str) -> WorkflowDashboard:
    at = now()
    workflow = (await read(database, workflow_id)).workflow
    counts = counts_from(await database.all(COUNTS, workflow_id=workflow_id))
    recent = await database.all(queries.RECENT, workflow_id=workflow_id, limit=_RECENT)
    first = at // HOUR * HOUR - 23 * HOUR
    hours = await database.all(queries.HOURS, workflow_id=workflow_id, since=first)
    durations = await database.slow(queries.DURATIONS, workflow_id=workflow_id, since=at - _DAY, limit=_SAMPLE)
    return WorkflowDashboard(
        workflow,
        _each(STATUSES, counts),
        _each(LEVELS, counts),
        [execution_from(row) for row in recent],
        _hours_from(hours, first),
        Durations(*(None if micros is None else micros / 1000 for micros in durations[0])),
    )


def _hours_from(rows: Sequence[Row], first: int) -> list[Hour]:
    """24 of them, the present one last; those in which nothing happened are there too."""
    counted: dict[int, dict[str, int]] = {first + i * HOUR: {} for i in range(24)}
    for hour, status, n in rows:
        counted.setdefault(hour, {})[status] = n
    return [Hour(rfc3339(hour), _each(STATUSES, counts)) for hour, counts in sorted(counted.items())]
