"""Every line of the table of least roles, tried by everybody on real resources through real requests."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from penstock.ids import uuid7
from penstock.platform.access import ROUTES, Need, routes_of
from penstock.platform.api import HANDLERS
from penstock.platform.roles import Role
from penstock.storage import Database
from tests.conftest import Serve
from tests.platform.people import Person, register
from tests.platform.records import (
    add_company,
    add_execution,
    add_grant,
    add_project,
    add_provider,
    add_workflow,
    database_of,
    id_of,
)

pytestmark = pytest.mark.anyio

Route = tuple[str, str]
SERVED: list[Route] = sorted({(method, path) for method, path, _ in routes_of(HANDLERS)})
# Open to viewers, who may remove themselves. Here somebody else is removed, and that takes an admin.
ONLY_THEMSELVES = {
    ("DELETE", "/companies/{id}/members/{uid}"),
    ("DELETE", "/projects/{id}/members/{uid}"),
    ("DELETE", "/workflows/{id}/permissions/{uid}"),
}
LEVELS = {
    "company": ("company", "organization"),
    "iam_provider": ("company",),
    "iam_mapping": ("company",),
    "project": ("company", "organization", "project"),
    "workflow": ("company", "organization", "project", "workflow"),
    "execution": ("company", "organization", "project", "workflow"),
}


def test_every_route_that_is_served_stands_in_the_table_and_every_line_of_it_is_served() -> None:
    assert set(SERVED) - set(ROUTES) == set()
    assert set(ROUTES) - set(SERVED) == set(), "not served yet"


class World:
    """Somebody of every role, and trees of resources in which they have it."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.app: Any = client.app  # type: ignore[attr-defined]
        self.client = client
        self.database: Database = database_of(client)
        self.people: dict[str, Person] = {}
        self.ids: dict[str, str] = {}

    async def settle(self) -> "World":
        for name in ("outsider", "viewer", "editor", "admin", "owner", "victim", "founder"):
            self.people[name] = await register(self.client, name)
            self.ids[name] = await id_of(self.people[name])
        return self

    async def plant(self, resource: str | None, level: str) -> dict[str, str]:
        """A fresh tree, in which everybody has their role at this level; what to write for each path parameter."""
        founder = self.ids["founder"]
        async with self.database.transaction() as tx:
            company = await add_company(tx, founder)
            organization = await add_company(tx, founder, company)
            project = await add_project(tx, organization)
            workflow = await add_workflow(tx, project, founder)
            execution = await add_execution(tx, workflow)
            provider, mapping = await add_provider(tx, company)
            places = {
                "company": ("company_id", company),
                "organization": ("company_id", organization),
                "project": ("project_id", project),
                "workflow": ("workflow_id", workflow),
            }
            column, place = places[level]
            for role in Role:
                await add_grant(tx, self.ids[role.label], int(role), **{column: place})
        targets = {
            "company": organization if level == "organization" else company,
            "project": project,
            "workflow": workflow,
            "execution": execution,
            "iam_provider": provider,
            "iam_mapping": mapping,
        }
        target = targets.get(resource or "", "")
        if resource in {"company", "project", "workflow"}:
            await add_grant(self.database, self.ids["victim"], 1, **{f"{resource}_id": target})
        return dict.fromkeys(("id", "cid", "oid", "pid"), target) | {
            "uid": self.ids["victim"],
            "linkId": uuid7(),
            "v": "latest",
            "name": "TOKEN",
            "provider": "github",
            "provider_id": provider,
        }

    async def status(self, who: str, method: str, path: str) -> int:
        """The status alone: a stream is left as soon as it begins."""
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        if who in self.people:
            headers.append((b"authorization", f"Bearer {self.people[who].tokens['access_token']}".encode()))
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": headers,
            "client": ("203.0.113.7", 50000),
            "server": ("localhost", 80),
            "state": {},
        }
        status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        requests = iter([{"type": "http.request", "body": b"{}" if method in {"POST", "PUT"} else b""}])

        async def receive() -> dict[str, Any]:
            if (message := next(requests, None)) is not None:
                return message
            await asyncio.wait([status])
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start" and not status.done():
                status.set_result(message["status"])

        await asyncio.wait_for(self.app(scope, receive, send), 20)
        return status.result()


@pytest.fixture
async def world(serve: Serve) -> AsyncIterator[World]:
    async with serve(limit_create=1000, auth_rate_limit=1000, engine="none") as client:
        yield await World(client).settle()


def written(path: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    assert "{" not in path, path
    return f"/api/v1{path}"


def allowed(route: Route, need: Need, who: str) -> bool:
    if need.anonymous:
        return True
    if who == "anonymous":
        return False
    if need.role is None:
        return True
    least = Role.ADMIN if route in ONLY_THEMSELVES else need.role
    return who != "outsider" and Role[who.upper()] >= least


async def test_everybody_gets_exactly_as_far_as_their_role(world: World) -> None:
    mistakes: list[str] = []
    for route in SERVED:
        need = ROUTES[route]
        method, path = route
        if route in {("POST", "/auth/session"), ("POST", "/auth/logout")}:
            continue  # the cookie decides; the token is gone afterwards: both have tests of their own
        for level in LEVELS[need.resource] if need.resource is not None else ("company",):
            tree = await world.plant(need.resource, level)
            # From below: whatever is denied leaves the tree as it is.
            for who in ("anonymous", "outsider", "viewer", "editor", "admin", "owner"):
                status = await world.status(who, method, written(path, tree))
                expected = allowed(route, need, who)
                if (status not in {401, 403}) != expected or status >= 500 or status == 405:
                    mistakes.append(f"{method} {path} as {who} of the {level}: {status}, expected {expected}")
                if who == "anonymous" and not expected and status != 401:
                    mistakes.append(f"{method} {path} not signed in: {status}")
                if expected and method == "DELETE":
                    tree = await world.plant(need.resource, level)
    assert mistakes == []


async def test_what_does_not_exist_is_404_for_everybody_who_is_signed_in(world: World) -> None:
    tree = await world.plant("company", "company")
    for method, path in SERVED:
        need = ROUTES[method, path]
        if need.resource is not None:
            for id_ in (uuid7(), "nothing"):
                values = tree | dict.fromkeys(("id", "cid", "oid", "pid"), id_)
                assert await world.status("owner", method, written(path, values)) == 404, (method, path)
                assert await world.status("anonymous", method, written(path, values)) == 401, (method, path)


async def test_a_token_that_is_not_valid_any_more_hinders_nobody_from_signing_in(world: World) -> None:
    headers = {"Authorization": "Bearer expired"}
    person = world.people["viewer"]
    body = {"email": person.email, "password": "correct horse battery"}
    answer = await world.client.post("/api/v1/auth/login", json=body, headers=headers)
    assert answer.status_code == 200
    refresh = {"refresh_token": answer.json()["refresh_token"]}
    assert (await world.client.post("/api/v1/auth/refresh", json=refresh, headers=headers)).status_code == 200
    assert (await world.client.get("/api/v1/companies", headers=headers)).status_code == 401


async def test_a_mapping_and_a_membership_at_one_level_count_as_the_higher(world: World) -> None:
    tree = await world.plant("company", "company")
    _, mapping = await add_provider(world.database, tree["id"])
    path = written("/companies/{id}", tree)
    assert await world.status("viewer", "PUT", path) == 403
    await add_grant(world.database, world.ids["viewer"], 3, company_id=tree["id"], mapping_id=mapping)
    assert await world.status("viewer", "PUT", path) == 200
    await add_grant(world.database, world.ids["admin"], 1, company_id=tree["id"], mapping_id=mapping)
    assert await world.status("admin", "PUT", path) == 200
