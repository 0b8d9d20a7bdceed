"""Who may do what: one table of every route with its least role, one guard that reads it, one query that answers it.

A route that is not in the table stops the server at start, so nobody can forget one.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Literal

import msgspec
from litestar import Request
from litestar.handlers import HTTPRouteHandler
from sqlalchemy import Select, bindparam, func, null, select
from sqlalchemy.sql.elements import ColumnElement

from penstock.ids import is_uuid
from penstock.platform.parts import Parts
from penstock.platform.roles import Role
from penstock.platform.tokens import Caller
from penstock.problems import Denied, NotFound, NotSignedIn
from penstock.storage import Statement
from penstock.storage.database import Reader
from penstock.storage.platform_tables import (
    companies,
    executions,
    grants,
    iam_mappings,
    iam_providers,
    projects,
    workflows,
)

Resource = Literal["company", "project", "workflow", "execution", "iam_provider", "iam_mapping"]


class Need(msgspec.Struct, frozen=True):
    """What a route asks of its caller. Without a resource: nothing more than being signed in (or not even that)."""

    role: Role | None = None
    resource: Resource | None = None
    param: str = "id"
    anonymous: bool = False


ANYONE = Need(anonymous=True)
SIGNED_IN = Need()
_IDS = {"id", "cid", "oid", "pid", "uid", "linkId", "provider_id"}


def _at_least(role: Role, resource: Resource, param: str = "id") -> Need:
    return Need(role, resource, param)


VIEWER, EDITOR, ADMIN, OWNER = Role.VIEWER, Role.EDITOR, Role.ADMIN, Role.OWNER

ROUTES: dict[tuple[str, str], Need] = {
    # --- sign-in
    ("POST", "/auth/register"): ANYONE,
    ("POST", "/auth/login"): ANYONE,
    ("POST", "/auth/refresh"): ANYONE,
    ("POST", "/auth/session"): ANYONE,
    ("POST", "/auth/logout"): SIGNED_IN,
    ("GET", "/auth/me"): SIGNED_IN,
    ("PUT", "/auth/me"): SIGNED_IN,
    ("GET", "/auth/methods"): ANYONE,
    ("GET", "/auth/sessions"): SIGNED_IN,
    ("DELETE", "/auth/sessions"): SIGNED_IN,
    ("DELETE", "/auth/sessions/{sid}"): SIGNED_IN,
    ("GET", "/auth/identities"): SIGNED_IN,
    ("DELETE", "/auth/identities/{provider_id}"): SIGNED_IN,
    ("GET", "/auth/oauth2/{provider}"): ANYONE,
    ("GET", "/auth/oauth2/{provider}/callback"): ANYONE,
    ("GET", "/auth/iam/{provider_id}"): ANYONE,
    ("POST", "/auth/iam/{provider_id}"): ANYONE,
    ("GET", "/auth/iam/{provider_id}/callback"): ANYONE,
    # --- companies, organizations, members, audit
    ("GET", "/companies"): SIGNED_IN,
    ("POST", "/companies"): SIGNED_IN,
    ("GET", "/companies/{id}"): _at_least(VIEWER, "company"),
    ("PUT", "/companies/{id}"): _at_least(ADMIN, "company"),
    ("DELETE", "/companies/{id}"): _at_least(OWNER, "company"),
    ("GET", "/companies/{id}/members"): _at_least(VIEWER, "company"),
    ("POST", "/companies/{id}/members"): _at_least(ADMIN, "company"),
    ("PUT", "/companies/{id}/members/{uid}"): _at_least(ADMIN, "company"),
    # Anyone may remove themselves; the rule looks closer.
    ("DELETE", "/companies/{id}/members/{uid}"): _at_least(VIEWER, "company"),
    ("GET", "/companies/{id}/access"): _at_least(VIEWER, "company"),
    ("GET", "/companies/{id}/access/me"): _at_least(VIEWER, "company"),
    ("GET", "/companies/{id}/audit"): _at_least(ADMIN, "company"),
    ("GET", "/companies/{id}/audit/export"): _at_least(ADMIN, "company"),
    ("GET", "/companies/{cid}/organizations"): _at_least(VIEWER, "company", "cid"),
    ("POST", "/companies/{cid}/organizations"): _at_least(ADMIN, "company", "cid"),
    ("GET", "/organizations/{id}"): _at_least(VIEWER, "company"),
    ("PUT", "/organizations/{id}"): _at_least(ADMIN, "company"),
    ("DELETE", "/organizations/{id}"): _at_least(OWNER, "company"),
    # --- projects
    ("GET", "/organizations/{oid}/projects"): _at_least(VIEWER, "company", "oid"),
    ("POST", "/organizations/{oid}/projects"): _at_least(EDITOR, "company", "oid"),
    ("GET", "/projects"): SIGNED_IN,
    ("GET", "/projects/{id}"): _at_least(VIEWER, "project"),
    ("PUT", "/projects/{id}"): _at_least(EDITOR, "project"),
    ("DELETE", "/projects/{id}"): _at_least(OWNER, "project"),
    ("GET", "/projects/{id}/members"): _at_least(VIEWER, "project"),
    ("POST", "/projects/{id}/members"): _at_least(ADMIN, "project"),
    ("DELETE", "/projects/{id}/members/{uid}"): _at_least(VIEWER, "project"),
    ("GET", "/projects/{id}/access"): _at_least(VIEWER, "project"),
    ("GET", "/projects/{id}/access/me"): _at_least(VIEWER, "project"),
    ("GET", "/projects/{id}/secrets"): _at_least(EDITOR, "project"),
    ("GET", "/projects/{id}/secrets/{name}"): _at_least(EDITOR, "project"),
    ("PUT", "/projects/{id}/secrets/{name}"): _at_least(EDITOR, "project"),
    ("DELETE", "/projects/{id}/secrets/{name}"): _at_least(EDITOR, "project"),
    # --- workflows
    ("POST", "/definitions/check"): SIGNED_IN,
    ("GET", "/definitions/schema"): ANYONE,
    ("GET", "/definitions/templates"): SIGNED_IN,
    ("GET", "/workflows"): SIGNED_IN,
    ("GET", "/projects/{pid}/workflows"): _at_least(VIEWER, "project", "pid"),
    ("POST", "/projects/{pid}/workflows"): _at_least(EDITOR, "project", "pid"),
    ("GET", "/workflows/{id}"): _at_least(VIEWER, "workflow"),
    ("PUT", "/workflows/{id}"): _at_least(EDITOR, "workflow"),
    ("DELETE", "/workflows/{id}"): _at_least(OWNER, "workflow"),
    ("POST", "/workflows/{id}/deploy"): _at_least(ADMIN, "workflow"),
    ("POST", "/workflows/{id}/stop"): _at_least(ADMIN, "workflow"),
    ("GET", "/workflows/{id}/status"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/versions"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/versions/{v}"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/permissions"): _at_least(VIEWER, "workflow"),
    ("POST", "/workflows/{id}/permissions"): _at_least(ADMIN, "workflow"),
    ("DELETE", "/workflows/{id}/permissions/{uid}"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/access"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/access/me"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/links"): _at_least(VIEWER, "workflow"),
    ("POST", "/workflows/{id}/links"): _at_least(EDITOR, "workflow"),
    ("DELETE", "/workflows/{id}/links/{linkId}"): _at_least(EDITOR, "workflow"),
    ("POST", "/workflows/{id}/trigger"): _at_least(EDITOR, "workflow"),
    ("GET", "/workflows/{id}/executions"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/events"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/events/stream"): _at_least(VIEWER, "workflow"),
    ("GET", "/projects/{id}/events/stream"): _at_least(VIEWER, "project"),
    ("GET", "/events/stream"): SIGNED_IN,
    ("GET", "/workflows/{id}/logs"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/logs/stream"): _at_least(VIEWER, "workflow"),
    ("GET", "/workflows/{id}/dashboard"): _at_least(VIEWER, "workflow"),
    ("GET", "/dashboard"): SIGNED_IN,
    ("GET", "/search"): SIGNED_IN,
    # --- executions
    ("GET", "/executions"): SIGNED_IN,
    ("GET", "/executions/{id}"): _at_least(VIEWER, "execution"),
    ("GET", "/executions/{id}/steps"): _at_least(VIEWER, "execution"),
    ("GET", "/executions/{id}/steps/{number}"): _at_least(VIEWER, "execution"),
    ("GET", "/executions/{id}/children"): _at_least(VIEWER, "execution"),
    ("POST", "/executions/{id}/cancel"): _at_least(EDITOR, "execution"),
    ("POST", "/executions/{id}/pause"): _at_least(EDITOR, "execution"),
    ("POST", "/executions/{id}/resume"): _at_least(EDITOR, "execution"),
    ("POST", "/executions/{id}/rerun"): _at_least(EDITOR, "execution"),
    ("POST", "/projects/{id}/events"): _at_least(EDITOR, "project"),
    # --- identity providers
    ("GET", "/companies/{id}/iam/providers"): _at_least(VIEWER, "company"),
    ("POST", "/companies/{id}/iam/providers"): _at_least(ADMIN, "company"),
    ("GET", "/iam/providers/{id}"): _at_least(VIEWER, "iam_provider"),
    ("PUT", "/iam/providers/{id}"): _at_least(ADMIN, "iam_provider"),
    ("DELETE", "/iam/providers/{id}"): _at_least(ADMIN, "iam_provider"),
    ("POST", "/iam/providers/{id}/test"): _at_least(ADMIN, "iam_provider"),
    ("GET", "/iam/providers/{id}/mappings"): _at_least(VIEWER, "iam_provider"),
    ("POST", "/iam/providers/{id}/mappings"): _at_least(ADMIN, "iam_provider"),
    ("DELETE", "/iam/mappings/{id}"): _at_least(ADMIN, "iam_mapping"),
}


class Access(msgspec.Struct, frozen=True):
    """A caller at a resource: what they may do there, and where it stands in the hierarchy."""

    caller: Caller
    role: Role | None = None
    workflow_id: str | None = None
    project_id: str | None = None
    company_id: str | None = None
    parent_id: str | None = None

    @property
    def root_id(self) -> str | None:
        """The top-level company, in whose audit log it is noted."""
        return self.parent_id or self.company_id

    @property
    def organization_id(self) -> str | None:
        """The organization that the resource is (in), when it is not in the company itself."""
        return self.company_id if self.parent_id is not None else None


def _role_at(column: Any, target: Any) -> ColumnElement[Any]:
    """The higher of what was granted directly and by mappings, at one level."""
    return (
        select(func.max(grants.c.role))
        .where(grants.c.user_id == bindparam("user_id"), column == target)
        .scalar_subquery()
    )


def _company_part() -> tuple[Any, ...]:
    return (
        companies.c.id,
        companies.c.parent_id,
        _role_at(grants.c.company_id, companies.c.id),
        _role_at(grants.c.company_id, companies.c.parent_id),
    )


def _of_company() -> Select[Any]:
    return select(null(), null(), *_company_part(), null(), null()).where(companies.c.id == bindparam("id"))


def _of_project() -> Select[Any]:
    return (
        select(null(), projects.c.id, *_company_part(), _role_at(grants.c.project_id, projects.c.id), null())
        .join(companies, companies.c.id == projects.c.company_id)
        .where(projects.c.id == bindparam("id"))
    )


def _of_workflow() -> Select[Any]:
    return (
        select(
            workflows.c.id,
            projects.c.id,
            *_company_part(),
            _role_at(grants.c.project_id, projects.c.id),
            _role_at(grants.c.workflow_id, workflows.c.id),
        )
        .join(projects, projects.c.id == workflows.c.project_id)
        .join(companies, companies.c.id == projects.c.company_id)
    )


_STATEMENTS: dict[Resource, Statement] = {
    "company": Statement(_of_company()),
    "project": Statement(_of_project()),
    "workflow": Statement(_of_workflow().where(workflows.c.id == bindparam("id"))),
    "execution": Statement(
        _of_workflow()
        .join(executions, executions.c.workflow_id == workflows.c.id)
        .where(executions.c.id == bindparam("id"))
    ),
    "iam_provider": Statement(
        select(null(), null(), *_company_part(), null(), null())
        .join(iam_providers, iam_providers.c.company_id == companies.c.id)
        .where(iam_providers.c.id == bindparam("id"))
    ),
    "iam_mapping": Statement(
        select(null(), null(), *_company_part(), null(), null())
        .join(iam_providers, iam_providers.c.company_id == companies.c.id)
        .join(iam_mappings, iam_mappings.c.provider_id == iam_providers.c.id)
        .where(iam_mappings.c.id == bindparam("id"))
    ),
}


async def resolve(reader: Reader, caller: Caller, resource: Resource, id_: str, *, user_id: str = "") -> Access | None:
    """Where a resource stands and the effective role there, in one query; None when there is no such resource.

    The most specific grant wins: workflow, else project, else organization, else the company above it.
    """
    found = await _grants_at(reader, resource, id_, user_id or caller.id)
    return Access(caller, _most_specific(found[1]), *found[0]) if found is not None else None


async def role_of(reader: Reader, user_id: str, resource: Resource, id_: str) -> Role | None:
    """The effective role of somebody who is not here to ask."""
    found = await _grants_at(reader, resource, id_, user_id)
    return _most_specific(found[1]) if found is not None else None


async def inherited(reader: Reader, resource: Resource, id_: str, user_id: str) -> Role | None:
    """The role that someone would have at a resource without what was granted to them right there."""
    found = await _grants_at(reader, resource, id_, user_id)
    if found is None:
        return None
    _, in_project, in_company, in_parent = found[1]
    match resource:
        case "workflow":
            return _most_specific((in_project, in_company, in_parent))
        case "project":
            return _most_specific((in_company, in_parent))
        case _:
            return _most_specific((in_parent,))


async def _grants_at(
    reader: Reader, resource: Resource, id_: str, user_id: str
) -> tuple[tuple[str | None, ...], tuple[int | None, ...]] | None:
    """Where a resource stands, and what one was granted at each level, the most specific first."""
    if not is_uuid(id_):
        return None
    row = await reader.one(_STATEMENTS[resource], id=id_.lower(), user_id=user_id)
    if row is None:
        return None
    workflow_id, project_id, company_id, parent_id, in_company, in_parent, in_project, in_workflow = row
    return (workflow_id, project_id, company_id, parent_id), (in_workflow, in_project, in_company, in_parent)


def _most_specific(granted: Iterable[int | None]) -> Role | None:
    return next((Role(role) for role in granted if role is not None), None)


async def guard(request: Request[Any, Any, Any]) -> None:
    """Let a request through to its route, with what it may do there in `scope["access"]`; or refuse it.

    Before the route, and not one of Litestar's guards: for each of those it copies the handler, a quarter of the time
    that both took together.
    """
    scope: Any = request.scope
    need = ROUTES[scope["method"], scope["path_template"].removeprefix("/api/v1")]
    parts: Parts = request.app.state.platform
    _write_ids_small(scope["path_params"])
    authorization = scope["penstock"].header(b"authorization")
    if need.resource is None:
        caller = await _caller(parts, authorization, optional=need.anonymous)
        if caller is not None:
            scope["access"] = Access(caller)
        return
    id_ = scope["path_params"][need.param]
    access = await _access(parts, authorization, need.resource, id_)
    if access is None:
        raise NotFound(f"there is no such {_word(need, scope['path_template'])}")
    scope["access"] = access
    scope["target"] = need.resource, id_
    if access.role is None or need.role is None or access.role < need.role:
        raise Denied(_explain(access.role, need))


async def _access(parts: Parts, authorization: str, resource: Resource, id_: str) -> Access | None:
    moment, key = parts.moment, (authorization, resource, id_)
    access = moment.get(key)
    if access is not None:
        return access
    turn = moment.begin()
    caller = await _caller(parts, authorization, optional=False)
    assert caller is not None  # noqa: S101 - it is not optional
    access = await resolve(parts.database, caller, resource, id_)
    if access is not None:
        moment.keep(turn, key, access)
    return access


async def _caller(parts: Parts, authorization: str, *, optional: bool) -> Caller | None:
    """None only where nobody needs to be signed in. There, a token that has expired meanwhile is no token: else
    nobody whose client sends it along could sign in again."""
    try:
        caller = await parts.tokens.caller(parts.database, authorization)
    except NotSignedIn:
        if optional:
            return None
        raise
    if caller is None and not optional:
        raise NotSignedIn("send an access token as Authorization: Bearer …")
    return caller


def _write_ids_small(path_params: dict[str, Any]) -> None:
    """The one place where an id is normalised: PostgreSQL compares UUIDs, SQLite their text."""
    for name in _IDS & path_params.keys():
        path_params[name] = path_params[name].lower()


def _word(need: Need, path: str) -> str:
    """What the path calls the resource: an organization is a company with a parent."""
    if f"/organizations/{{{need.param}" in path:
        return "organization"
    return str(need.resource).replace("_", " ")


def _explain(role: Role | None, need: Need) -> str:
    wanted = need.role.label if need.role is not None else "?"
    had = f"yours is {role.label}" if role is not None else "you have none"
    return f"this needs the role {wanted} here; {had}"


def access_of(request: Any) -> Access:
    access: Access = request.scope["access"]
    return access


def routes_of(handlers: Iterable[HTTPRouteHandler]) -> Iterator[tuple[str, str, HTTPRouteHandler]]:
    """Method, path as the table writes it, and handler."""
    for handler in handlers:
        for path in handler.paths:
            for method in handler.http_methods:
                yield str(method), path.replace(":str}", "}"), handler


def check_table(handlers: Iterable[HTTPRouteHandler]) -> None:
    """No route without its line in the table, and none without the guard that reads it."""
    for method, path, handler in routes_of(handlers):
        if (method, path) not in ROUTES:
            raise RuntimeError(f"a route without a least role: {method} {path}")
        if handler.before_request is not guard or handler.cache:
            # What is in a cache would be answered before the guard has looked.
            raise RuntimeError(f"a route without the guard: {method} {path}")
