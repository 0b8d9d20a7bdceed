"""Members and the ways to become more than one is. Each attack is a promise that it does not work."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from penstock.ids import uuid7
from penstock.platform.members import rules
from penstock.storage import Database
from tests.conftest import Serve
from tests.platform.people import Person, register
from tests.platform.records import add_grant, add_workflow, database_of, deactivate, id_of

pytestmark = pytest.mark.anyio

MEMBERSHIP = ["id", "user_id", "company_id", "project_id", "role", "created_at", "updated_at"]


class Acme:
    """A company with an organization and a project in it, and somebody of each role in the company."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client
        self.database: Database = database_of(client)
        self.people: dict[str, Person] = {}
        self.ids: dict[str, str] = {}

    async def person(self, name: str) -> Person:
        if name not in self.people:
            self.people[name] = await register(self.client, name)
            self.ids[name] = await id_of(self.people[name])
        return self.people[name]

    async def build(self) -> "Acme":
        owner = await self.person("owner")
        self.company: str = (await owner.made("/companies", {"name": "Acme"}))["id"]
        self.north: str = (await owner.made(f"/companies/{self.company}/organizations", {"name": "North"}))["id"]
        self.project: str = (await owner.made(f"/organizations/{self.north}/projects", {"name": "Apollo"}))["id"]
        for role in ("viewer", "editor", "admin"):
            await self.person(role)
            await self.grant(role, role)
        return self

    async def grant(self, name: str, role: str, **place: str) -> None:
        await self.person(name)
        level = {"viewer": 1, "editor": 2, "admin": 3, "owner": 4}[role]
        await add_grant(self.database, self.ids[name], level, **(place or {"company_id": self.company}))

    async def __call__(self, who: str, method: str, path: str, body: Any = None) -> int:
        """The status that somebody gets."""
        person = await self.person(who)
        answer = await person.request(method, path, **({"json": body} if body is not None else {}))
        return answer.status_code

    def member(self, name: str, place: str = "") -> str:
        return f"/companies/{place or self.company}/members/{self.ids[name]}"

    async def role(self, name: str, place: str = "") -> str:
        answer = await self.people["owner"].get(f"/companies/{place or self.company}/members?page_size=100")
        return next((str(item["role"]) for item in answer.json()["items"] if item["user_id"] == self.ids[name]), "none")


@pytest.fixture
async def acme(serve: Serve) -> AsyncIterator[Acme]:
    async with serve(limit_create=1000, auth_rate_limit=1000) as client:
        yield await Acme(client).build()


async def test_a_membership_has_the_members_of_the_contract_and_lists_show_the_person(acme: Acme) -> None:
    owner, new = acme.people["owner"], await acme.person("new")
    answer = await owner.post(f"/companies/{acme.company}/members", {"email": "NEW@example.com", "role": "editor"})
    assert answer.status_code == 201
    member = answer.json()
    assert list(member) == MEMBERSHIP
    assert (member["user_id"], member["company_id"]) == (acme.ids["new"], acme.company)
    assert (member["project_id"], member["role"]) == (None, "editor")
    assert answer.headers["location"] == f"/api/v1/companies/{acme.company}/members/{acme.ids['new']}"
    listed = (await new.get(f"/companies/{acme.company}/members")).json()
    assert listed["items"][0] == member | {
        "user": {"id": acme.ids["new"], "email": "new@example.com", "display_name": "New"}
    }
    assert listed["total"] == 5
    path = f"/projects/{acme.project}/members"
    made = (await owner.post(path, {"user_id": acme.ids["new"], "role": "viewer"})).json()
    assert list(made) == MEMBERSHIP
    assert (made["company_id"], made["project_id"]) == (acme.north, acme.project)
    assert (await owner.get(path)).json()["items"][0]["user"]["email"] == "new@example.com"


async def test_adding_someone_again_is_409_in_a_company_and_changes_the_role_in_a_project(acme: Acme) -> None:
    owner = acme.people["owner"]
    body = {"user_id": acme.ids["viewer"], "role": "editor"}
    assert (await owner.post(f"/companies/{acme.company}/members", body)).status_code == 409
    assert await acme.role("viewer") == "viewer"
    path = f"/projects/{acme.project}/members"
    first = await owner.post(path, body)
    again = await owner.post(path, body | {"role": "viewer"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert (again.json()["role"], again.json()["id"]) == ("viewer", first.json()["id"])
    assert (await owner.get(path)).json()["total"] == 2


async def test_adding_someone_many_times_at_once_makes_one_member(acme: Acme) -> None:
    owner = acme.people["owner"]
    await acme.person("new")
    body = {"user_id": acme.ids["new"], "role": "editor"}
    for path, others in ((f"/companies/{acme.company}/members", 409), (f"/projects/{acme.project}/members", 200)):
        answers = await asyncio.gather(*(owner.post(path, body) for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == sorted([201, *[others] * 4])


async def test_bodies_that_are_not_valid_and_users_that_do_not_exist(acme: Acme) -> None:
    await acme.person("gone")
    await deactivate(acme.database, acme.ids["gone"])
    path = f"/companies/{acme.company}/members"
    for body, status in (
        ({}, 400),
        ({"role": "viewer"}, 400),
        ({"user_id": acme.ids["editor"]}, 400),
        ({"user_id": acme.ids["editor"], "email": "editor@example.com", "role": "viewer"}, 400),
        ({"user_id": None, "role": "viewer"}, 400),
        ({"user_id": 1, "role": "viewer"}, 400),
        ({"user_id": acme.ids["editor"], "role": "king"}, 400),
        ({"user_id": acme.ids["editor"], "role": "Viewer"}, 400),
        ({"user_id": acme.ids["editor"], "role": "v\u0131ewer"}, 400),  # whose capital is an I
        ({"user_id": acme.ids["editor"], "role": ""}, 400),
        ({"user_id": acme.ids["editor"], "role": "viewer", "company_id": acme.north}, 400),
        ({"user_id": uuid7(), "role": "viewer"}, 404),
        ({"user_id": "x", "role": "viewer"}, 404),
        ({"user_id": "\0", "role": "viewer"}, 404),
        ({"email": "nobody@example.com", "role": "viewer"}, 404),
        ({"email": "\0@example.com", "role": "viewer"}, 404),
        ({"email": "gone@example.com", "role": "viewer"}, 404),
    ):
        assert await acme("owner", "POST", path, body) == status, body
        assert await acme("owner", "POST", f"/projects/{acme.project}/members", body) == status, body
    member = acme.member("viewer")
    assert await acme("owner", "PUT", member, {}) == 200
    for wrong in ("king", None, 4):
        assert await acme("owner", "PUT", member, {"role": wrong}) == 400, wrong
    assert await acme("owner", "PUT", member, {"role": "viewer", "user_id": uuid7()}) == 400
    assert await acme("owner", "PUT", f"{path}/{uuid7()}", {"role": "viewer"}) == 404
    assert await acme("owner", "DELETE", f"{path}/nobody") == 404


async def test_the_most_specific_grant_wins_also_when_it_is_lower(acme: Acme) -> None:
    north, project = f"/organizations/{acme.north}", f"/projects/{acme.project}"
    assert await acme("admin", "PUT", north, {"name": "N"}) == 200
    await acme.grant("admin", "viewer", company_id=acme.north)
    assert await acme("admin", "PUT", north, {"name": "M"}) == 403
    assert await acme("admin", "PUT", project, {"name": "P"}) == 403
    assert await acme("admin", "PUT", f"/companies/{acme.company}", {"name": "C"}) == 200
    await acme.grant("admin", "editor", project_id=acme.project)
    assert await acme("admin", "PUT", project, {"name": "P"}) == 200
    assert await acme("admin", "DELETE", project) == 403
    await acme.grant("viewer", "owner", project_id=acme.project)
    assert await acme("viewer", "DELETE", project) == 204


async def test_nobody_grants_above_their_own_role(acme: Acme) -> None:
    await acme.person("friend")
    for path in (
        f"/companies/{acme.company}/members",
        f"/companies/{acme.north}/members",
        f"/projects/{acme.project}/members",
    ):
        body = {"user_id": acme.ids["friend"], "role": "owner"}
        assert await acme("admin", "POST", path, body) == 403, path
        assert await acme("admin", "POST", path, body | {"user_id": acme.ids["admin"]}) in {403, 409}, path
        assert await acme("editor", "POST", path, body | {"role": "viewer"}) == 403, path
    assert await acme("admin", "PUT", acme.member("admin"), {"role": "owner"}) == 403
    assert await acme("admin", "PUT", acme.member("editor"), {"role": "owner"}) == 403
    assert await acme("admin", "PUT", acme.member("editor"), {"role": "admin"}) == 200
    assert await acme("viewer", "PUT", acme.member("viewer"), {"role": "editor"}) == 403


async def test_nobody_touches_someone_above_not_even_with_a_more_specific_lower_grant(acme: Acme) -> None:
    assert await acme("admin", "PUT", acme.member("owner"), {"role": "viewer"}) == 403
    assert await acme("admin", "DELETE", acme.member("owner")) == 403
    lower = {"user_id": acme.ids["owner"], "role": "viewer"}
    second = (await acme.people["owner"].made(f"/companies/{acme.company}/organizations", {"name": "South"}))["id"]
    await acme.people["owner"].delete(acme.member("owner", second))
    await acme.grant("local", "admin", company_id=second)
    assert await acme("local", "DELETE", acme.member("owner", second)) == 403
    apollo = f"/projects/{acme.project}/members"
    await acme.grant("lead", "admin", project_id=acme.project)
    assert await acme("lead", "POST", apollo, lower) == 403
    assert await acme("lead", "DELETE", f"{apollo}/{acme.ids['owner']}") == 403
    # The company's owner is above, though nothing was ever granted to them in this place itself.
    await acme.grant("boss", "owner")
    boss = {"user_id": acme.ids["boss"], "role": "viewer"}
    assert await acme("lead", "POST", apollo, boss) == 403
    assert await acme("local", "POST", f"/companies/{second}/members", boss) == 403
    assert await acme("admin", "POST", f"/companies/{acme.north}/members", boss) == 403


async def test_an_admin_of_an_organization_is_nothing_in_the_company_or_beside(acme: Acme) -> None:
    await acme.person("friend")
    south = (await acme.people["owner"].made(f"/companies/{acme.company}/organizations", {"name": "South"}))["id"]
    await acme.grant("local", "owner", company_id=acme.north)
    body = {"user_id": acme.ids["friend"], "role": "viewer"}
    for path in (f"/companies/{acme.company}/members", f"/companies/{south}/members"):
        assert await acme("local", "POST", path, body) == 403
        assert await acme("local", "GET", path) == 403
    for path in (
        f"/companies/{acme.company}",
        f"/companies/{south}",
        f"/organizations/{south}",
        f"/organizations/{south}/projects",
    ):
        assert await acme("local", "GET", path) == 403, path
    assert await acme("local", "POST", f"/companies/{acme.north}/members", body | {"role": "owner"}) == 201
    assert await acme("friend", "GET", f"/companies/{acme.company}") == 403


async def test_an_outsider_with_a_real_id_is_refused_and_learns_nothing_more(acme: Acme) -> None:
    outsider = await acme.person("outsider")
    for path in (
        f"/companies/{acme.company}",
        f"/companies/{acme.company}/members",
        f"/companies/{acme.company}/audit",
        f"/companies/{acme.company}/organizations",
        f"/organizations/{acme.north}",
        f"/organizations/{acme.north}/projects",
        f"/projects/{acme.project}",
        f"/projects/{acme.project}/members",
    ):
        answer = await outsider.get(path)
        assert answer.status_code == 403, path
        assert "Acme" not in answer.text
        assert (await outsider.get(path.replace(path.split("/")[2], uuid7()))).status_code == 404
    assert (await outsider.get("/companies")).json()["total"] == 0


async def test_anyone_may_remove_themselves_but_only_an_admin_others(acme: Acme) -> None:
    assert await acme("viewer", "DELETE", acme.member("editor")) == 403
    nobody = f"/companies/{acme.company}/members/{uuid7()}"
    assert await acme("viewer", "DELETE", nobody) == 403, "and learns nothing of who is there"
    assert await acme("admin", "DELETE", nobody) == 404
    assert await acme("editor", "DELETE", acme.member("viewer")) == 403
    assert await acme("viewer", "DELETE", acme.member("viewer")) == 204
    assert await acme("viewer", "GET", f"/companies/{acme.company}") == 403
    assert await acme("admin", "DELETE", acme.member("editor")) == 204
    await acme.grant("guest", "viewer", project_id=acme.project)
    path = f"/projects/{acme.project}/members/{acme.ids['guest']}"
    await acme.grant("other", "viewer", project_id=acme.project)
    assert await acme("other", "DELETE", path) == 403
    assert await acme("guest", "DELETE", path) == 204
    assert await acme("guest", "GET", f"/projects/{acme.project}") == 403


async def test_leaving_a_lower_grant_lifts_nobody_above_what_they_may(acme: Acme) -> None:
    """Someone whom the company made editor was held down to viewer in one project: leaving it is no way up."""
    apollo = f"/projects/{acme.project}/members"
    await acme.grant("editor", "viewer", project_id=acme.project)
    assert await acme("editor", "DELETE", f"{apollo}/{acme.ids['editor']}") == 403
    assert await acme("editor", "PUT", f"/projects/{acme.project}", {"name": "x"}) == 403
    assert await acme("owner", "DELETE", f"{apollo}/{acme.ids['editor']}") == 204
    # An admin of the project alone does not make someone owner of it again.
    await acme.grant("boss", "owner")
    await acme.grant("boss", "viewer", project_id=acme.project)
    await acme.grant("lead", "admin", project_id=acme.project)
    assert await acme("lead", "DELETE", f"{apollo}/{acme.ids['boss']}") == 403
    # Who owns the company shuts nobody out, least of all themselves.
    assert await acme("boss", "DELETE", f"{apollo}/{acme.ids['boss']}") == 204
    assert await acme("boss", "PUT", f"/projects/{acme.project}", {"name": "x"}) == 200


async def test_the_last_owner_stays(acme: Acme) -> None:
    for place in (acme.company, acme.north):
        me = acme.member("owner", place)
        assert await acme("owner", "DELETE", me) == 409
        assert await acme("owner", "PUT", me, {"role": "admin"}) == 409
        assert await acme("owner", "PUT", me, {"role": "owner"}) == 200
    await acme.grant("second", "owner")
    await deactivate(acme.database, acme.ids["second"])
    assert await acme("owner", "DELETE", acme.member("owner")) == 409, "an owner who cannot sign in keeps nothing going"
    await acme.grant("third", "owner")
    assert await acme("owner", "PUT", acme.member("owner"), {"role": "viewer"}) == 200
    assert await acme("third", "DELETE", acme.member("third")) == 409
    company = (await acme.people["third"].get(f"/companies/{acme.company}")).json()
    assert company["owner_id"] == acme.ids["owner"], "who owns it on paper does not change"


async def test_of_two_owners_who_leave_at_once_one_stays(acme: Acme) -> None:
    for number in range(4):
        company = (await acme.people["owner"].made("/companies", {"name": f"Race {number}"}))["id"]
        await acme.grant("second", "owner", company_id=company)
        leave = (("owner", "DELETE", None), ("second", "DELETE", None))
        step_down = (("owner", "PUT", {"role": "viewer"}), ("second", "DELETE", None))
        answers = await asyncio.gather(
            *(acme(who, how, acme.member(who, company), body) for who, how, body in (leave, step_down)[number % 2])
        )
        assert sorted(answers) in ([204, 409], [200, 409])


async def test_two_owners_who_throw_each_other_out_at_once_leave_one(acme: Acme) -> None:
    company = (await acme.people["owner"].made("/companies", {"name": "Duel"}))["id"]
    await acme.grant("second", "owner", company_id=company)
    answers = await asyncio.gather(
        acme("owner", "DELETE", acme.member("second", company)), acme("second", "DELETE", acme.member("owner", company))
    )
    assert sorted(answers) == [204, 403], "whoever was thrown out first throws out nobody"


async def test_who_was_demoted_a_moment_ago_grants_nothing_more(acme: Acme, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard let them in as an admin; the transaction looks again."""
    await acme.person("friend")

    async def once_demoted(*given: Any, add: Any = rules.add) -> Any:
        assert await acme("owner", "PUT", acme.member("admin"), {"role": "viewer"}) == 200
        return await add(*given)

    monkeypatch.setattr(rules, "add", once_demoted)
    body = {"user_id": acme.ids["friend"], "role": "viewer"}
    assert await acme("admin", "POST", f"/companies/{acme.company}/members", body) == 403


async def test_a_removed_member_loses_access_with_the_next_request(acme: Acme) -> None:
    assert await acme("editor", "GET", f"/projects/{acme.project}") == 200
    assert await acme("owner", "DELETE", acme.member("editor")) == 204
    for path in (f"/projects/{acme.project}", f"/companies/{acme.company}", f"/organizations/{acme.north}"):
        assert await acme("editor", "GET", path) == 403
    assert (await acme.people["editor"].get("/companies")).json()["total"] == 0


async def test_a_deactivated_user_is_401_with_the_next_request(acme: Acme) -> None:
    assert await acme("editor", "GET", "/companies") == 200
    await deactivate(acme.database, acme.ids["editor"])
    for path in ("/companies", f"/companies/{acme.company}", "/auth/me"):
        assert await acme("editor", "GET", path) == 401


async def test_a_grant_on_one_workflow_opens_nothing_above_it(acme: Acme) -> None:
    workflow_id = await add_workflow(acme.database, acme.project, acme.ids["owner"])
    await acme.grant("guest", "owner", workflow_id=workflow_id)
    for path in (f"/projects/{acme.project}", f"/companies/{acme.north}", f"/companies/{acme.company}/members"):
        assert await acme("guest", "GET", path) == 403
    body = {"user_id": acme.ids["guest"], "role": "viewer"}
    assert await acme("guest", "POST", f"/projects/{acme.project}/members", body) == 403
    assert await acme("guest", "POST", f"/companies/{acme.company}/members", body) == 403


async def test_a_workflow_permission_is_no_way_round_the_rules(acme: Acme) -> None:
    """Above one's own role, or a lower one for someone above: 403 at this level too."""
    workflow_id = await add_workflow(acme.database, acme.project, acme.ids["owner"])
    path = f"/workflows/{workflow_id}/permissions"
    await acme.grant("lead", "admin", workflow_id=workflow_id)
    await acme.person("friend")
    assert await acme("lead", "POST", path, {"user_id": acme.ids["friend"], "role": "owner"}) == 403
    assert await acme("lead", "POST", path, {"user_id": acme.ids["lead"], "role": "owner"}) == 403
    assert await acme("lead", "POST", path, {"user_id": acme.ids["owner"], "role": "viewer"}) == 403
    assert await acme("editor", "POST", path, {"user_id": acme.ids["friend"], "role": "viewer"}) == 403
    assert await acme("lead", "POST", path, {"user_id": acme.ids["friend"], "role": "admin"}) == 201
    await acme.grant("boss", "owner", workflow_id=workflow_id)
    assert await acme("lead", "DELETE", f"{path}/{acme.ids['boss']}") == 403
    # Held down from editor to viewer here: leaving is no way up.
    await acme.grant("editor", "viewer", workflow_id=workflow_id)
    assert await acme("editor", "DELETE", f"{path}/{acme.ids['editor']}") == 403
    assert await acme("friend", "DELETE", f"{path}/{acme.ids['friend']}") == 204


class TestWhoIsRemoved:
    """Nobody keeps a role further in, where no list of the company would show it."""

    async def test_keeps_nothing_inside_and_every_loss_is_noted(self, acme: Acme) -> None:
        workflow = await add_workflow(acme.database, acme.project, acme.ids["owner"])
        for name in ("guest", "friend"):
            await acme.grant(name, "viewer")
            await acme.grant(name, "editor", company_id=acme.north)
            await acme.grant(name, "admin", project_id=acme.project)
            await acme.grant(name, "viewer", workflow_id=workflow)
        assert await acme("admin", "DELETE", acme.member("guest")) == 204
        places = (f"/companies/{acme.company}", f"/organizations/{acme.north}", f"/projects/{acme.project}")
        for path in (*places, f"/workflows/{workflow}"):
            assert await acme("guest", "GET", path) == 403, path
            assert await acme("friend", "GET", path) == 200, path
        path = f"/companies/{acme.company}/audit?resource_id={acme.ids['guest']}"
        log = (await acme.people["owner"].get(path)).json()["items"]
        assert [(entry["action"], entry["details"]) for entry in reversed(log)] == [
            ("member.remove", {"role": "viewer", "company": acme.company}),
            ("member.remove", {"role": "editor", "company": acme.north}),
            ("member.remove", {"role": "admin", "project": acme.project}),
            ("permission.remove", {"role": "viewer", "workflow": workflow}),
        ]
        below = (await acme.people["owner"].get(f"/companies/{acme.north}/audit")).json()["items"]
        assert len([entry for entry in below if entry["resource_id"] == acme.ids["guest"]]) == 3

    async def test_of_a_project_keeps_no_workflow_of_it_but_what_is_beside_it(self, acme: Acme) -> None:
        inside = await add_workflow(acme.database, acme.project, acme.ids["owner"])
        beside = (await acme.people["owner"].made(f"/organizations/{acme.north}/projects", {"name": "Gemini"}))["id"]
        await acme.grant("guest", "viewer", project_id=acme.project)
        await acme.grant("guest", "editor", workflow_id=inside)
        await acme.grant("guest", "viewer", project_id=beside)
        assert await acme("admin", "DELETE", f"/projects/{acme.project}/members/{acme.ids['guest']}") == 204
        assert await acme("guest", "GET", f"/workflows/{inside}") == 403
        assert await acme("guest", "GET", f"/projects/{beside}") == 200

    async def test_is_not_removed_by_someone_below_what_they_are_inside(self, acme: Acme) -> None:
        await acme.grant("guest", "editor")
        await acme.grant("guest", "owner", project_id=acme.project)
        assert await acme("admin", "DELETE", acme.member("guest")) == 403
        assert await acme("guest", "PUT", f"/companies/{acme.company}", {}) == 403
        assert await acme.role("guest") == "editor", "nothing of it happened"
        assert await acme("guest", "DELETE", acme.member("guest")) == 204, "anyone may leave"
        assert await acme("guest", "GET", f"/projects/{acme.project}") == 403

    async def test_leaves_every_organization_an_owner(self, acme: Acme) -> None:
        south = (await acme.people["owner"].made(f"/companies/{acme.company}/organizations", {"name": "South"}))["id"]
        await acme.grant("guest", "viewer")
        await acme.grant("guest", "owner", company_id=south)
        assert await acme("owner", "DELETE", acme.member("owner", south)) == 204
        assert await acme("owner", "DELETE", acme.member("guest")) == 409
        assert await acme.role("guest") == "viewer"
        await acme.grant("editor", "owner", company_id=south)
        assert await acme("owner", "DELETE", acme.member("guest")) == 204
