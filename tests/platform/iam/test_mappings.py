"""Role mappings: who may make them, and what they give for how long."""

import asyncio
from typing import Any

import asyncpg
import httpx
import pytest

from penstock.ids import uuid7
from penstock.platform.iam import grants, queries
from penstock.platform.iam.person import Person as Identity
from penstock.platform.projects import inside
from penstock.platform.projects import queries as projects
from penstock.platform.tokens import Caller
from penstock.storage import now
from tests.platform.people import Person, register
from tests.platform.records import add, add_provider, database_of, id_of

from .house import House, as_person, bend, come_in, set_up

pytestmark = pytest.mark.anyio
Peers = dict[str, Any]


class Place:
    """A provider, an organization and a project in the company, and somebody who comes in through the provider."""

    def __init__(self, house: House, peers: Peers, provider: Any, organization: Any, project: Any) -> None:
        self.house, self.peers, self.provider = house, peers, provider
        self.organization, self.project = organization, project

    async def arrives(self, **claims: Any) -> Person:
        said = {"sub": "ann-1", "email": "ann@acme.example", "email_verified": True, "groups": []} | claims
        await bend(self.peers, **said)
        browser = self.house.browser()
        return as_person(browser, await come_in(browser, self.provider))

    def path(self, kind: str) -> str:
        return {
            "company": f"/companies/{self.house.company['id']}",
            "organization": f"/organizations/{self.organization['id']}",
            "project": f"/projects/{self.project['id']}",
        }[kind]

    async def may(self, person: Person) -> tuple[int, int]:
        """What reading and renaming the project answer."""
        path = self.path("project")
        return (await person.get(path)).status_code, (await person.put(path, {"description": "x"})).status_code


@pytest.fixture
async def place(house: House, peers: Peers) -> Place:
    await house.grant("acme.example")
    provider = await house.oidc(peers["bent"])
    organization = await house.owner.made(f"/companies/{house.company['id']}/organizations", {"name": "Org"})
    project = await house.owner.made(f"/organizations/{organization['id']}/projects", {"name": "Shop"})
    return Place(house, peers, provider, organization, project)


async def test_a_mapping_has_the_members_of_the_contract_and_is_listed_and_deleted(place: Place) -> None:
    house, provider = place.house, place.provider
    mapping = await house.maps(provider, "engineers", "project", place.project, "editor")
    names = ["id", "provider_id", "external_identifier", "resource_type", "resource_id", "role", "created_at"]
    assert list(mapping) == names
    path = f"/iam/providers/{provider['id']}/mappings"
    assert (await house.owner.get(path)).json()["items"] == [mapping]
    same = {name: mapping[name] for name in names[2:6]}
    assert (await house.owner.post(path, same)).status_code == 409
    assert (await house.owner.delete(f"/iam/mappings/{mapping['id']}")).status_code == 204
    assert (await house.owner.delete(f"/iam/mappings/{mapping['id']}")).status_code == 404
    assert (await house.owner.get(path)).json()["total"] == 0


@pytest.mark.parametrize("identifier", ["ann-1", "ann@acme.example", "Ann@Acme.example", "engineers"])
async def test_subject_email_and_group_each_give_the_role(place: Place, identifier: str) -> None:
    await place.house.maps(place.provider, identifier, "project", place.project, "editor")
    ann = await place.arrives(groups=["engineers", 7, None])
    assert await place.may(ann) == (200, 200)


@pytest.mark.parametrize("kind", ["company", "organization", "project"])
async def test_a_role_reaches_down_from_where_it_is_given(place: Place, kind: str) -> None:
    resources = {"company": place.house.company, "organization": place.organization, "project": place.project}
    await place.house.maps(place.provider, "staff", kind, resources[kind], "viewer")
    ann = await place.arrives(groups="staff")
    assert await place.may(ann) == (200, 403)
    assert (await ann.get(place.path(kind))).status_code == 200
    if kind != "company":
        assert (await ann.get(place.path("company"))).status_code == 403


async def test_nobody_else_gets_the_role(place: Place) -> None:
    await place.house.maps(place.provider, "engineers", "project", place.project, "editor")
    for groups in ([], ["Engineers"], ["engineers2"], [["engineers"]], {"engineers": True}):
        assert await place.may(await place.arrives(groups=groups)) == (403, 403), groups


async def test_an_unverified_email_gives_no_role(place: Place) -> None:
    """Else whoever may edit their profile at the provider could take the role of anybody."""
    await place.house.maps(place.provider, "boss@acme.example", "project", place.project, "owner")
    ann = await place.arrives()
    assert await place.may(ann) == (403, 403)
    ann = await place.arrives(email="boss@acme.example", email_verified=False)
    assert await place.may(ann) == (403, 403)


async def test_a_role_goes_with_the_group_at_the_next_sign_in(place: Place) -> None:
    await place.house.maps(place.provider, "engineers", "project", place.project, "editor")
    await place.house.maps(place.provider, "staff", "project", place.project, "viewer")
    ann = await place.arrives(groups=["engineers", "staff"])
    assert await place.may(ann) == (200, 200)
    again = await place.arrives(groups=["staff"])
    assert await place.may(ann) == await place.may(again) == (200, 403)
    again = await place.arrives(groups=[])
    assert await place.may(ann) == (403, 403)


async def test_a_role_goes_with_its_mapping_at_once(place: Place) -> None:
    mapping = await place.house.maps(place.provider, "engineers", "project", place.project, "editor")
    ann = await place.arrives(groups=["engineers"])
    await place.house.owner.delete(f"/iam/mappings/{mapping['id']}")
    assert await place.may(ann) == (403, 403)


@pytest.mark.parametrize("how", ["disabled", "deleted", "another issuer"])
async def test_roles_go_with_the_provider_at_once(place: Place, how: str, peers: Peers) -> None:
    await place.house.maps(place.provider, "engineers", "project", place.project, "editor")
    ann = await place.arrives(groups=["engineers"])
    path, owner = f"/iam/providers/{place.provider['id']}", place.house.owner
    if how == "deleted":
        await owner.delete(path)
    elif how == "disabled":
        await owner.put(path, {"enabled": False})
    else:
        await owner.put(path, {"config": {"issuer": peers["strict"], "client_id": "penstock"}})
    assert await place.may(ann) == (403, 403)
    if how == "disabled":
        await owner.put(path, {"enabled": True})
        assert await place.may(ann) == (403, 403)
        assert await place.may(await place.arrives(groups=["engineers"])) == (200, 200)


async def test_of_a_membership_and_a_mapping_at_one_level_the_higher_counts(place: Place) -> None:
    members, owner = f"/projects/{place.project['id']}/members", place.house.owner
    await place.house.maps(place.provider, "engineers", "project", place.project, "editor")
    ann = await place.arrives(groups=["engineers"])
    await owner.made(members, {"email": "ann@acme.example", "role": "viewer"})
    assert await place.may(ann) == (200, 200)
    assert await place.may(await place.arrives(groups=["engineers"])) == (200, 200)
    assert await place.may(await place.arrives(groups=[])) == (200, 403)


async def test_a_mapping_takes_nothing_from_whose_role_is_higher(place: Place) -> None:
    """A project's viewer by mapping would otherwise be less there than they are in the whole company."""
    ann = await place.arrives()
    company = f"/companies/{place.house.company['id']}/members"
    await place.house.owner.made(company, {"email": "ann@acme.example", "role": "admin"})
    await place.house.maps(place.provider, "staff", "project", place.project, "viewer")
    ann = await place.arrives(groups=["staff"])
    assert await place.may(ann) == (200, 200)


async def test_a_mapping_to_what_was_deleted_gives_nothing_and_breaks_nothing(place: Place) -> None:
    await place.house.maps(place.provider, "staff", "project", place.project, "viewer")
    await place.house.owner.delete(place.path("project"))
    ann = await place.arrives(groups=["staff"])
    assert (await ann.get(place.path("organization"))).status_code == 403


async def test_nothing_outside_the_provider_s_company_can_be_mapped(place: Place) -> None:
    other = await set_up(place.house.client, "nora", "Other")
    project = await other.owner.made(f"/organizations/{other.company['id']}/projects", {"name": "Theirs"})
    path = f"/iam/providers/{place.provider['id']}/mappings"
    # The owner of the first company has a role in the second, too.
    members = f"/companies/{other.company['id']}/members"
    await other.owner.made(members, {"email": place.house.owner.email, "role": "owner"})
    for kind, id_ in (
        ("company", other.company["id"]),
        ("project", project["id"]),
        ("project", "00000000-0000-7000-8000-000000000000"),
        ("project", "nonsense"),
        ("project", place.organization["id"]),
        ("company", place.organization["id"]),
        ("organization", place.house.company["id"]),
        ("workflow", place.project["id"]),
        ("planet", place.project["id"]),
    ):
        body = {"external_identifier": "x", "resource_type": kind, "resource_id": id_, "role": "viewer"}
        assert (await place.house.owner.post(path, body)).status_code == 400, body


async def test_nobody_maps_a_role_above_their_own(place: Place) -> None:
    house = place.house
    admin = await register(house.client, "adam")
    await house.owner.made(f"/companies/{house.company['id']}/members", {"email": admin.email, "role": "admin"})
    path = f"/iam/providers/{place.provider['id']}/mappings"
    body = {"external_identifier": "x", "resource_type": "project", "resource_id": place.project["id"]}
    assert (await admin.post(path, body | {"role": "owner"})).status_code == 403
    assert (await admin.post(path, body | {"role": "admin"})).status_code == 201
    # Where they are less than elsewhere, what they are there counts.
    await house.owner.made(f"/projects/{place.project['id']}/members", {"email": admin.email, "role": "viewer"})
    answer = await admin.post(path, body | {"role": "editor", "external_identifier": "y"})
    assert answer.status_code == 403
    viewer = await register(house.client, "vera")
    await house.owner.made(f"/companies/{house.company['id']}/members", {"email": viewer.email, "role": "editor"})
    assert (await viewer.post(path, body | {"role": "viewer", "external_identifier": "z"})).status_code == 403


async def test_nobody_deletes_a_mapping_that_gives_more_than_they_have(place: Place) -> None:
    house = place.house
    admin = await register(house.client, "adam")
    await house.owner.made(f"/companies/{house.company['id']}/members", {"email": admin.email, "role": "admin"})
    owners = await house.maps(place.provider, "chiefs", "company", house.company, "owner")
    admins = await house.maps(place.provider, "staff", "company", house.company, "admin")
    assert (await admin.delete(f"/iam/mappings/{owners['id']}")).status_code == 403
    assert (await admin.delete(f"/iam/mappings/{admins['id']}")).status_code == 204


async def test_an_admin_becomes_no_owner_through_a_provider_of_their_own(place: Place, peers: Peers) -> None:
    """Whoever vouches for the chiefs decides who is one; and who ends the provider takes their role from them."""
    house = place.house
    admin = await register(house.client, "adam")
    await house.owner.made(f"/companies/{house.company['id']}/members", {"email": admin.email, "role": "admin"})
    owners = await house.maps(place.provider, "chiefs", "company", house.company, "owner")
    path, config = f"/iam/providers/{place.provider['id']}", place.provider["config"]
    for change in (
        {"config": {"issuer": peers["strict"], "client_id": "penstock"}},
        {"config": config | {"groups_claim": "nickname"}},
        {"enabled": False},
    ):
        assert (await admin.put(path, change)).status_code == 403, change
    assert (await admin.delete(path)).status_code == 403
    assert (await admin.put(path, {"name": "Chiefs", "config": config | {"client_secret": "new"}})).status_code == 200
    await house.owner.delete(f"/iam/mappings/{owners['id']}")
    assert (await admin.put(path, {"enabled": False})).status_code == 200
    assert (await admin.delete(path)).status_code == 204


async def test_an_admin_does_not_come_in_as_an_owner_by_changing_how_people_are_told_apart(place: Place) -> None:
    house = place.house
    members, path = f"/companies/{house.company['id']}/members", f"/iam/providers/{place.provider['id']}"
    admin = await register(house.client, "adam")
    await house.owner.made(members, {"email": admin.email, "role": "admin"})
    await place.arrives()
    await house.owner.made(members, {"email": "ann@acme.example", "role": "owner"})
    change = {"config": place.provider["config"] | {"trust_email": True}}
    assert (await admin.put(path, change)).status_code == 403
    assert (await house.owner.put(path, change)).status_code == 200


@pytest.mark.parametrize(
    "change",
    [{"role": "king"}, {"external_identifier": "  "}, {"external_identifier": "a\0"}, {"id": "1"}, {"role": 4}],
)
async def test_a_wrong_mapping_is_refused(place: Place, change: dict[str, Any]) -> None:
    body = {
        "external_identifier": "x",
        "resource_type": "project",
        "resource_id": place.project["id"],
        "role": "viewer",
    } | change
    answer = await place.house.owner.post(f"/iam/providers/{place.provider['id']}/mappings", body)
    assert answer.status_code == 400


async def test_a_provider_of_an_organization_maps_only_inside_it(place: Place) -> None:
    house = place.house
    owner, inside = house.owner, place.organization["id"]
    body = {"provider_type": "custom", "name": "x"}
    provider = await owner.made(f"/companies/{inside}/iam/providers", body)
    await house.maps(provider, "x", "organization", place.organization, "admin")
    await house.maps(provider, "x", "project", place.project, "admin")
    outside = {"external_identifier": "x", "resource_type": "company", "resource_id": house.company["id"]}
    path = f"/iam/providers/{provider['id']}/mappings"
    assert (await owner.post(path, outside | {"role": "viewer"})).status_code == 400


async def test_a_project_that_is_deleted_during_a_sign_in_gives_nothing_and_breaks_nothing(
    client: httpx.AsyncClient, database_url: str
) -> None:
    """The sign-in takes back what it gave before and gives it anew, the deletion takes it all: in whatever order."""
    owner, database = await register(client, "owner"), database_of(client)
    company = await owner.made("/companies", {"name": "Acme"})
    project = (await owner.made(f"/organizations/{company['id']}/projects", {"name": "Shop"}))["id"]
    provider_id, _ = await add_provider(database, company["id"])
    mapped = {"resource_type": "project", "resource_id": project, "role": 4, "created_at": now()}
    await add(database, "iam_mappings", id=uuid7(), provider_id=provider_id, external_identifier="ann-1", **mapped)
    caller = Caller(sid="", id=await id_of(owner), userid=1, email=owner.email, session_hash=b"")

    async def sign_in() -> list[str]:
        async with database.transaction() as tx:
            row = await tx.one(queries.HOLD, id=provider_id)
            assert row is not None
            return await grants.apply(tx, queries.stored_from(row), Identity(authority="", subject="ann-1"), caller)

    assert len(await sign_in()) == 1
    async with database.transaction() as tx:
        await tx.one(projects.FIND_TO_CHANGE, id=project)
        await inside.bring_to_an_end(tx, "project", project, force=False)
        signing_in = asyncio.create_task(sign_in())
        if database.dialect == "postgresql":
            await _somebody_waits(database_url)
        await tx.run(projects.DELETE, id=project)
    assert await signing_in == []


async def _somebody_waits(url: str) -> None:
    connection = await asyncpg.connect(url)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    async with asyncio.timeout(60):
        while not await connection.fetchval(waiting):
            await asyncio.sleep(0.01)
    await connection.close()
