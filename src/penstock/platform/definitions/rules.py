"""What a definition is, for who is still writing it: findings, flow, input, and when it would run."""

import asyncio
from typing import Any, Literal
from weakref import WeakValueDictionary

from msgspec import Struct

from penstock.dsl.check import Finding, errors
from penstock.dsl.check.finding import Severity
from penstock.dsl.outline import Flow, Planned
from penstock.engine.embedded.calendar import next_time
from penstock.engine.faults import Fault
from penstock.http.times import rfc3339
from penstock.platform.parts import Parts
from penstock.platform.workflows.rules import valid_definition
from penstock.storage import now

MOST_RUNS = 5
_turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()


class Found(Struct, frozen=True):
    """One thing to know. Lines and columns count from 1."""

    path: str
    message: str
    code: str
    severity: Severity
    line: int
    column: int


class Schedule(Struct, frozen=True):
    """`next_runs` as if it was deployed now; none when it runs on events, or after the end of the last run."""

    kind: Literal["every", "cron", "after", "on"]
    cron: str | None
    seconds: float | None
    timezone: str
    next_runs: list[str]


class Examined(Struct, frozen=True):
    valid: bool
    errors: list[Found]
    graph: Flow | None
    document: dict[str, Any] | None
    input_schema: dict[str, Any] | bool | None
    schedule: Schedule | None


async def examine(parts: Parts, user_id: str, config_yaml: str) -> Examined:
    """One at a time for each person: an editor asks at every pause in typing."""
    text = valid_definition(config_yaml)
    async with _turns.setdefault(user_id, asyncio.Lock()):
        findings, outline = await parts.checker.examined(text)
    found = [_found(finding) for finding in findings]
    if outline is None:
        return Examined(not errors(findings), found, None, None, None, None)
    planned = outline.schedule
    return Examined(
        True,
        found,
        outline.graph,
        outline.document,
        outline.input_schema,
        None if planned is None else schedule_of(planned, now()),
    )


def _found(finding: Finding) -> Found:
    return Found(finding.path, finding.message, finding.code, finding.severity, finding.line, finding.column)


def schedule_of(planned: Planned, at: int) -> Schedule:
    seconds = None if planned.microseconds is None else planned.microseconds / 1_000_000
    runs = [rfc3339(run) for run in next_runs(planned, at)]
    return Schedule(planned.kind, planned.cron, seconds, planned.timezone, runs)


def next_runs(planned: Planned, after: int) -> list[int]:
    """When it runs by itself, after this moment; in microseconds."""
    if planned.kind == "every" and planned.microseconds is not None:
        return [after + (number + 1) * planned.microseconds for number in range(MOST_RUNS)]
    runs: list[int] = []
    while planned.cron is not None and len(runs) < MOST_RUNS:
        try:
            runs.append(next_time(planned.cron, planned.timezone, runs[-1] if runs else after))
        except Fault:
            break  # never again
    return runs
