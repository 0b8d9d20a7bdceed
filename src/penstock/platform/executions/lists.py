"""Executions of many workflows in one list, newest first: of a project, or of all that one can see.

Who sees much finds a page among the newest executions of all. Who does not finds it by asking each workflow, and has
few of them. Neither costs more because there are years of others.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import CTE, ScalarSelect, Select, bindparam, func, null, select, true
from sqlalchemy.sql.elements import ColumnElement

from penstock.platform.events.queries import Unindexed
from penstock.platform.executions.queries import (
    COLUMNS,
    STARTER_COLUMNS,
    Execution,
    conditions,
    execution_from,
)
from penstock.platform.workflows.lists import newest_of, of_mine
from penstock.storage import Database, Row, Statement
from penstock.storage.platform_tables import executions, projects, workflow_counts, workflows
from penstock.storage.schema import accounts
from penstock.streams import STATUSES

FILTERS = ("project_id", "status", "trigger_type", "since", "until")
MOST_COUNTED = 5_000
_FEW = 5_000
_NEWEST = 10_000
_SAID_BY_COUNTERS = frozenset({"project_id", "status"})
_COVERED = frozenset({"trigger_type", "since", "until"})  # by the index of all executions


class OfWorkflow(msgspec.Struct, frozen=True):
    """Where an execution stands."""

    id: str
    name: str
    project_id: str
    project_name: str


class ListedExecution(Execution, frozen=True, kw_only=True):
    workflow: OfWorkflow


async def page(
    database: Database, user_id: str, values: dict[str, Any], bounds: dict[str, int]
) -> tuple[list[ListedExecution], int]:
    """A page of those that someone can see, and how many there are, as far as they are counted.

    `values`: the filters that were given.
    """
    filters, params = frozenset(values), values | {"user_id": user_id} | bounds
    known = await _known(database, user_id, values)
    most = bounds["limit"] + bounds["offset"]
    total = known if filters <= _SAID_BY_COUNTERS else None
    if total is None:
        most = max(MOST_COUNTED, most)
    rows: Sequence[Row] = ()
    if known > _FEW if known is not None else values.get("status") in {None, "completed"}:
        rows = await database.slow(_listing(filters, among_newest=True), **params, most=most, newest=_NEWEST)
    if not rows or (rows[0]["total"] < most and rows[0]["older"] is not None):
        rows = await database.slow(_listing(filters, among_newest=False), **params, most=most)
    return [_listed(row) for row in rows if row["id"] is not None], int(rows[0]["total"]) if total is None else total


async def _known(database: Database, user_id: str, values: dict[str, Any]) -> int | None:
    """How many executions of this status there are in the project; over all that one sees, there are too many counters
    to be summed up."""
    if "project_id" not in values:
        return None
    rows = await database.slow(_COUNTING, user_id=user_id, project_id=values["project_id"])
    return sum(int(n) for status, n in rows if status in STATUSES and values.get("status") in {None, status})


@cache
def _listing(filters: frozenset[str], *, among_newest: bool) -> Statement:
    """The page, each row after how many there are (`most` at most) and when there are older ones; one row of nothing
    else when it is empty."""
    found = (_among_newest if among_newest else _of_each)(filters).cte("found").prefix_with("MATERIALIZED")
    older = _older(filters) if among_newest else null()
    total = select(func.count().label("total"), older.label("older")).select_from(found).subquery("counted")
    page = newest_of(found)
    rows = (
        total.outerjoin(page, true())
        .outerjoin(executions, executions.c.id == page.c.id)
        .outerjoin(workflows, workflows.c.id == executions.c.workflow_id)
        .outerjoin(projects, projects.c.id == workflows.c.project_id)
        .outerjoin(accounts, accounts.c.id == executions.c.triggered_by)
    )
    standing = workflows.c.name, projects.c.id.label("project_id"), projects.c.name.label("project_name")
    shown = select(total.c.total, total.c.older, *COLUMNS, *STARTER_COLUMNS, *standing).select_from(rows)
    return Statement(shown.order_by(executions.c.created_at.desc(), executions.c.id.desc()))


def _of_each(filters: frozenset[str]) -> Select[Any]:
    seen = _seen("project_id" in filters)
    return (
        select(executions.c.id, executions.c.created_at)
        .select_from(seen.join(executions, executions.c.workflow_id == seen.c.id))
        .where(*conditions(filters - {"project_id"}))
        .order_by(executions.c.created_at.desc(), executions.c.id.desc())
        .limit(bindparam("most"))
    )


def _among_newest(filters: frozenset[str]) -> Select[Any]:
    seen = _seen("project_id" in filters)
    # Written so that neither database takes it for a join, and begins with the workflows; and after what costs less.
    visible: ColumnElement[bool] = Unindexed(executions.c.workflow_id).in_(select(seen.c.id)).is_(True)
    return (
        select(executions.c.id, executions.c.created_at)
        .where(
            *conditions(filters - {"project_id"}),
            executions.c.created_at > func.coalesce(_older(filters), -1),
            visible,
        )
        .order_by(executions.c.created_at.desc(), executions.c.id.desc())
        .limit(bindparam("most"))
    )


def _older(filters: frozenset[str]) -> ScalarSelect[int]:
    """When the first was created that is not among the newest of all; null when all are."""
    other = executions.alias("older")
    newest_first = select(other.c.created_at).where(*conditions(filters & _COVERED, other))
    newest_first = newest_first.order_by(other.c.created_at.desc(), other.c.id.desc())
    return newest_first.limit(1).offset(bindparam("newest")).scalar_subquery()


def _seen(in_project: bool) -> CTE:
    here = [workflows.c.project_id == bindparam("project_id")] if in_project else []
    seen: CTE = of_mine(here).cte("mine")
    return seen


_of_project = _seen(in_project=True)
_COUNTING = Statement(
    select(workflow_counts.c.what, workflow_counts.c.n).select_from(
        _of_project.join(workflow_counts, workflow_counts.c.workflow_id == _of_project.c.id)
    )
)
_PLACE = Statement(
    select(workflows.c.id, workflows.c.name, projects.c.id.label("project_id"), projects.c.name.label("project_name"))
    .join(projects, projects.c.id == workflows.c.project_id)
    .where(workflows.c.id == bindparam("id"))
)


async def placed(database: Database, workflow_id: str, found: list[Execution]) -> list[ListedExecution]:
    """Those of one workflow as in the list of many."""
    row = await database.one(_PLACE, id=workflow_id)
    return [] if row is None else [_standing(execution, OfWorkflow(*map(str, row))) for execution in found]


def _listed(row: Row) -> ListedExecution:
    _, _, *own, name, project_id, project_name = row
    execution = execution_from(own)
    return _standing(execution, OfWorkflow(execution.workflow_id, name, str(project_id), project_name))


def _standing(execution: Execution, workflow: OfWorkflow) -> ListedExecution:
    members = {name: getattr(execution, name) for name in execution.__struct_fields__}
    return ListedExecution(**members, workflow=workflow)
