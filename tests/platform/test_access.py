"""Every line of the table of least roles, tried by everybody on real resources through real requests."""

from collections.abc import AsyncIterator

import pytest

from penstock.ids import uuid7
from penstock.platform.access import ROUTES, Need, routes_of
from penstock.platform.api import HANDLERS
from penstock.platform.roles import Role
from tests.conftest import Serve
from tests.platform.records import add_grant, add_provider
from tests.platform.world import World, written

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


@pytest.fixture
async def world(serve: Serve) -> AsyncIterator[World]:
    async with serve(limit_create=1000, auth_rate_limit=1000, engine="none") as client:
        yield await World(client).settle()


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
