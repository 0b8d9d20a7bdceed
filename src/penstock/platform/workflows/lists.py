"""Lists of workflows: those of a project, and all that one can see, filtered by status and by a part of their texts.

A page is cut from an index of (project, time, id) before anything else is read, so that what a list costs depends on
what its reader can see, not on how many workflows there are.
"""

import unicodedata
from typing import Any

from sqlalchemy import CTE, Select, Subquery, Text, bindparam, exists, func, or_, select, true, union, union_all
from sqlalchemy.sql.elements import ColumnElement

from penstock.platform.workflows.queries import COLUMNS, NEWEST
from penstock.platform.workflows.runs import COLUMNS as RUNS
from penstock.storage import Statement
from penstock.storage.platform_tables import companies, grants, projects, workflow_versions, workflows

_BETWEEN = "\x01"


def folded(*texts: str) -> str:
    """Texts as they are searched: neither case nor width counts. By Python: SQLite only knows the case of ASCII."""
    return _BETWEEN.join(unicodedata.normalize("NFKC", text).casefold().replace(_BETWEEN, " ") for text in texts)


def pattern(q: str) -> str:
    """`50%_off` finds itself and nothing else."""
    escaped = folded(q).replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


class Lists:
    """The statements of one list, for each combination of its filters, without and with how each is doing."""

    def __init__(self, visible: Any) -> None:
        self._made = {
            (status, q, runs): _made(visible, _filters(status=status, q=q), runs=runs)
            for status in (False, True)
            for q in (False, True)
            for runs in (False, True)
        }

    def statement(self, filters: dict[str, Any], *, runs: bool = False) -> Statement:
        """The page, each row after how many there are in all; one row of nothing else when the page is empty."""
        return self._made["status" in filters, "q" in filters, runs]


def _filters(*, status: bool, q: bool) -> list[Any]:
    found = []
    if status:
        found.append(workflows.c.status == bindparam("status"))
    if q:
        found.append(matching("q"))
    return found


def matching(name: str) -> ColumnElement[bool]:
    """Has a part like the parameter's, which is a `pattern`."""
    return workflows.c.search.like(bindparam(name, type_=Text), escape="\\")


def _made(visible: Any, filters: list[Any], *, runs: bool) -> Statement:
    """What one sees is found once, for the page and for the number."""
    found = visible(filters).cte("found").prefix_with("MATERIALIZED")
    total = select(func.count().label("total")).select_from(found).subquery("counted")
    page = newest_of(found)
    rows = (
        total.outerjoin(page, true())
        .outerjoin(workflows, workflows.c.id == page.c.id)
        .outerjoin(workflow_versions, NEWEST.onclause)
    )
    listed = select(total.c.total, *COLUMNS, *(RUNS if runs else ())).select_from(rows)
    return Statement(listed.order_by(workflows.c.created_at.desc(), workflows.c.id.desc()))


def newest_of(found: CTE) -> Subquery:
    """The ids of one page, newest first."""
    return (
        select(found.c.id)
        .order_by(found.c.created_at.desc(), found.c.id.desc())
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
        .subquery("page")
    )


def _of_project(filters: list[Any]) -> Select[Any]:
    return select(workflows.c.id, workflows.c.created_at).where(
        workflows.c.project_id == bindparam("project_id"), *filters
    )


_mine = grants.c.user_id == bindparam("user_id")
_organization = companies.alias("organization")
# Every project that one sees: by a grant on it, on the organization that holds it, or on the company above.
PROJECTS_SEEN = union(
    select(grants.c.project_id).where(_mine, grants.c.project_id.is_not(None)),
    select(projects.c.id).join(grants, grants.c.company_id == projects.c.company_id).where(_mine),
    select(projects.c.id)
    .join(_organization, _organization.c.id == projects.c.company_id)
    .join(grants, grants.c.company_id == _organization.c.parent_id)
    .where(_mine),
)


def of_mine(filters: list[Any]) -> Any:
    """Those of the projects that one sees, and those of other projects with a grant of their own. The two never meet,
    so what came twice need not be looked for (one run on a busy machine, SQLite, 10,000 seen: a page 77 -> 47 ms)."""
    seen = PROJECTS_SEEN.cte("seen")
    return union_all(
        select(workflows.c.id, workflows.c.created_at)
        .select_from(workflows.join(seen, workflows.c.project_id == seen.c.project_id))
        .where(*filters),
        select(workflows.c.id, workflows.c.created_at)
        .select_from(workflows.join(grants, grants.c.workflow_id == workflows.c.id))
        .where(_mine, workflows.c.project_id.not_in(select(seen.c.project_id)), *filters)
        .distinct(),
    )


def within_reach() -> ColumnElement[bool]:
    """Where a workflow, its project and the company that holds it are joined: one has a role at it."""
    return exists().where(
        _mine,
        or_(
            grants.c.workflow_id == workflows.c.id,
            grants.c.project_id == projects.c.id,
            grants.c.company_id == companies.c.id,
            grants.c.company_id == companies.c.parent_id,
        ),
    )


OF_PROJECT = Lists(_of_project)
MINE = Lists(of_mine)
