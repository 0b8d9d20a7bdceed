"""GET …/access and …/access/me: who may do what at a place, and through which grants, here and above."""

from collections.abc import Sequence
from typing import Any, Literal

from litestar import Request, get
from litestar.params import FromPath
from msgspec import Struct
from sqlalchemy import bindparam, func, or_, select

from penstock.http.answers import Answer, json
from penstock.http.openapi import PAGING, answer, listed, problems, query
from penstock.platform import shown
from penstock.platform.access import Access, access_of, guard
from penstock.platform.members.queries import Person
from penstock.platform.paging import Page
from penstock.platform.parts import parts_of
from penstock.platform.roles import Role
from penstock.storage import Row, Statement
from penstock.storage.platform_tables import companies, grants, iam_mappings, iam_providers, projects, workflows
from penstock.storage.schema import accounts

Req = Request[Any, Any, Any]
Level = Literal["company", "organization", "project", "workflow"]
_TAGS = ["members"]
_PLACES = ("companies", "projects", "workflows")
_MOST_SPECIFIC_FIRST: tuple[Level, ...] = ("workflow", "project", "organization", "company")


class Through(Struct, frozen=True):
    """A grant: where, and what. `provider` is the identity provider whose mapping gave it."""

    level: Level
    id: str
    name: str
    role: str
    provider: str | None


class PersonAccess(Struct, frozen=True):
    """The most specific grants count; of those at one level, the highest."""

    user: Person
    role: str
    through: list[Through]


_here = or_(
    grants.c.workflow_id == bindparam("workflow_id"),
    grants.c.project_id == bindparam("project_id"),
    grants.c.company_id == bindparam("company_id"),
    grants.c.company_id == bindparam("parent_id"),
)
_people = (
    select(accounts.c.id, accounts.c.email, accounts.c.display_name)
    .where(accounts.c.id.in_(select(grants.c.user_id).where(_here)), accounts.c.active.is_(True))
    .order_by(accounts.c.email)
)


def _with_grants(people: Any) -> Statement:
    page = people.subquery("page")
    return Statement(
        select(
            page.c.id,
            page.c.email,
            page.c.display_name,
            grants.c.role,
            grants.c.workflow_id,
            grants.c.project_id,
            grants.c.company_id,
            companies.c.parent_id,
            func.coalesce(workflows.c.name, projects.c.name, companies.c.name),
            iam_providers.c.name,
        )
        .select_from(
            page.join(grants, grants.c.user_id == page.c.id)
            .outerjoin(workflows, workflows.c.id == grants.c.workflow_id)
            .outerjoin(projects, projects.c.id == grants.c.project_id)
            .outerjoin(companies, companies.c.id == grants.c.company_id)
            .outerjoin(iam_mappings, iam_mappings.c.id == grants.c.mapping_id)
            .outerjoin(iam_providers, iam_providers.c.id == iam_mappings.c.provider_id)
        )
        .where(_here)
        .order_by(page.c.email, grants.c.role.desc(), grants.c.id)
    )


_LIST = _with_grants(_people.limit(bindparam("limit")).offset(bindparam("offset")))
_ONE = _with_grants(_people.where(accounts.c.id == bindparam("user_id")))
_COUNT = Statement(
    select(func.count(grants.c.user_id.distinct()))
    .select_from(grants.join(accounts, accounts.c.id == grants.c.user_id))
    .where(_here, accounts.c.active.is_(True))
)
_EXAMPLE = shown.PERSON | {
    "role": "editor",
    "through": [{"level": "project", "id": shown.ID, "name": "Apollo", "role": "editor", "provider": None}],
}


def _places(access: Access) -> dict[str, str | None]:
    return {name: getattr(access, name) for name in ("workflow_id", "project_id", "company_id", "parent_id")}


def _found(rows: Sequence[Row]) -> list[PersonAccess]:
    people: dict[str, Person] = {}
    through: dict[str, list[Through]] = {}
    for id_, email, display_name, *grant in rows:
        people[str(id_)] = Person(str(id_), email, display_name)
        through.setdefault(str(id_), []).append(_through(*grant))
    for grants_ in through.values():
        grants_.sort(key=lambda grant: _MOST_SPECIFIC_FIRST.index(grant.level))  # stable: the highest stays first
    return [PersonAccess(person, through[id_][0].role, through[id_]) for id_, person in people.items()]


def _through(
    role: int,
    workflow_id: str | None,
    project_id: str | None,
    company_id: str | None,
    parent_id: str | None,
    name: str,
    provider: str | None,
) -> Through:
    level: Level = "workflow" if workflow_id else "project" if project_id else "organization"
    if company_id and not parent_id:
        level = "company"
    return Through(level, str(workflow_id or project_id or company_id), name, Role(role).label, provider)


@get(
    [f"/{places}/{{id:str}}/access" for places in _PLACES],
    before_request=guard,
    tags=_TAGS,
    summary="Who may do what here, and through what",
    description="By email. Everybody with a role here or above: their effective role, and each grant that they have, "
    "the most specific first; the first one is what counts.",
    operation_class=query(PAGING),
    responses=listed(PersonAccess, "A page of people, by email.", _EXAMPLE)
    | problems((400, "page_size: expected a number from 1 to 100"))
    | shown.REFUSED,
)
async def list_access(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    page, database, access = Page(request), parts_of(request).database, access_of(request)
    count = await database.slow(_COUNT, **_places(access))
    rows = await database.slow(_LIST, **_places(access), **page.bounds)
    return page.answer(_found(rows), count[0][0])


@get(
    [f"/{places}/{{id:str}}/access/me" for places in _PLACES],
    before_request=guard,
    tags=_TAGS,
    summary="What I may do here, and through what",
    responses={200: answer(PersonAccess, "Your role, and your grants.", _EXAMPLE)} | shown.REFUSED,
)
async def own_access(request: Req, id: FromPath[str]) -> Answer:  # noqa: A002
    access = access_of(request)
    rows = await parts_of(request).database.all(_ONE, **_places(access), user_id=access.caller.id)
    return json(_found(rows)[0])


HANDLERS = [list_access, own_access]
