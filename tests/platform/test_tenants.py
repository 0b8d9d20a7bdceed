"""Companies, organizations and projects: what may be written, what clashes, what is listed, what goes with what."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import msgspec
import pytest

from penstock.ids import uuid7
from penstock.storage import Database, now
from tests.conftest import Serve
from tests.platform.people import Person, register
from tests.platform.records import add_execution, add_grant, add_workflow, count, database_of, id_of

pytestmark = pytest.mark.anyio

COMPANY = ["id", "parent_id", "name", "slug", "owner_id", "metadata", "created_at", "updated_at"]
PROJECT = ["id", "company_id", "name", "slug", "description", "metadata", "created_at", "updated_at"]


@pytest.fixture
async def client(serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with serve(limit_create=1000, auth_rate_limit=1000) as opened:
        yield opened


@pytest.fixture
async def ann(client: httpx.AsyncClient) -> Person:
    return await register(client, "ann")


@pytest.fixture
def database(client: httpx.AsyncClient) -> Database:
    return database_of(client)


async def test_a_company_has_the_members_of_the_contract_and_says_where_it_is(ann: Person) -> None:
    answer = await ann.post("/companies", {"name": "  Größe & Wert ", "metadata": {"a": [1]}})
    company = answer.json()
    assert list(company) == COMPANY
    assert company["name"] == "Größe & Wert"
    assert company["slug"] == "grosse-wert"
    assert company["parent_id"] is None
    assert company["owner_id"] == await id_of(ann)
    assert company["metadata"] == {"a": [1]}
    assert answer.headers["location"] == f"/api/v1/companies/{company['id']}"
    assert (await ann.get(f"/companies/{company['id']}")).json() == company


async def test_an_organization_is_a_company_with_a_parent_and_is_found_at_both_addresses(ann: Person) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    answer = await ann.post(f"/companies/{company['id']}/organizations", {"name": "North"})
    organization = answer.json()
    assert list(organization) == COMPANY
    assert organization["parent_id"] == company["id"]
    assert answer.headers["location"] == f"/api/v1/organizations/{organization['id']}"
    for path in (f"/organizations/{organization['id']}", f"/companies/{organization['id']}"):
        assert (await ann.get(path)).json() == organization
    assert (await ann.get(f"/organizations/{company['id']}")).status_code == 404
    assert (await ann.get(f"/companies/{company['id']}/organizations")).json()["items"] == [organization]
    nested = await ann.post(f"/companies/{organization['id']}/organizations", {"name": "Deeper"})
    assert nested.status_code == 409


async def test_a_project_belongs_to_an_organization_or_to_a_company(ann: Person) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    organization = await ann.made(f"/companies/{company['id']}/organizations", {"name": "North"})
    for holder in (company, organization):
        answer = await ann.post(f"/organizations/{holder['id']}/projects", {"name": "Apollo", "description": "moon"})
        project = answer.json()
        assert list(project) == PROJECT
        assert project["company_id"] == holder["id"]
        assert answer.headers["location"] == f"/api/v1/projects/{project['id']}"
        listed = (await ann.get(f"/organizations/{holder['id']}/projects")).json()
        assert listed == {"items": [project], "total": 1, "page": 1, "page_size": 50}


async def test_who_was_added_to_a_project_alone_finds_it(client: httpx.AsyncClient, ann: Person) -> None:
    bob = await register(client, "bob")
    company = await ann.made("/companies", {"name": "Acme"})
    north = await ann.made(f"/companies/{company['id']}/organizations", {"name": "North"})
    held = [
        await ann.made(f"/organizations/{holder['id']}/projects", {"name": "Apollo"}) for holder in (company, north)
    ]
    assert (await ann.get("/projects")).json()["items"] == held[::-1]
    assert (await bob.get("/projects")).json()["total"] == 0
    await ann.made(f"/projects/{held[1]['id']}/members", {"email": bob.email, "role": "viewer"})
    assert (await bob.get("/projects")).json() == {"items": [held[1]], "total": 1, "page": 1, "page_size": 50}
    assert (await bob.get(f"/organizations/{north['id']}/projects")).status_code == 403
    await ann.made(f"/companies/{company['id']}/members", {"email": bob.email, "role": "viewer"})
    assert (await bob.get("/projects?page_size=1")).json()["total"] == 2


NOT_VALID: list[dict[str, Any]] = [
    {},
    {"name": "   "},
    {"name": None},
    {"name": 7},
    {"name": "x" * 256},
    {"name": "a\0b"},
    {"name": "ok", "slug": "Not A Slug"},
    {"name": "ok", "slug": ""},
    {"name": "ok", "slug": "x" * 101},
    {"name": "ok", "metadata": []},
    {"name": "ok", "metadata": {"a": "\0"}},
    {"name": "ok", "metadata": {"a": "x" * 20_000}},
    {"name": "ok", "id": uuid7()},
    {"name": "ok", "owner_id": uuid7()},
    {"name": "ok", "created_at": "2026-01-01T00:00:00Z"},
]


async def test_a_body_that_is_not_valid_is_400_wherever_something_is_named(ann: Person) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    project = await ann.made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
    kinds = "/companies", f"/companies/{company['id']}/organizations", f"/organizations/{company['id']}/projects"
    for body in NOT_VALID:
        for path in kinds:
            assert (await ann.post(path, body)).status_code == 400, (path, body)
        for path in (f"/companies/{company['id']}", f"/projects/{project['id']}"):
            assert (await ann.put(path, body)).status_code == (400 if body else 200), (path, body)


async def test_broken_text_is_400(ann: Person) -> None:
    for content in (
        b'{"name": "\\ud800"}',
        b'{"name": "\xff"}',
        b"{",
        b"[]",
        b"null",
        b'{"name":"a","metadata":{"n":1e999}}',
    ):
        answer = await ann.request("POST", "/companies", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 400, content
    answer = await ann.request("POST", "/companies", content=b"name=x", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


async def test_put_changes_only_what_is_sent(ann: Person) -> None:
    company = await ann.made("/companies", {"name": "Acme", "metadata": {"tier": 1}})
    assert (await ann.put(f"/companies/{company['id']}", {})).json() == company
    changed = (await ann.put(f"/companies/{company['id']}", {"name": "Ajax"})).json()
    assert changed["updated_at"] > company["updated_at"]
    assert changed == company | {"name": "Ajax", "updated_at": changed["updated_at"]}
    project = await ann.made(f"/organizations/{company['id']}/projects", {"name": "Apollo", "description": "moon"})
    assert (await ann.put(f"/projects/{project['id']}", {})).json() == project
    one_is_not_true = await ann.put(f"/companies/{company['id']}", {"metadata": {"tier": True}})
    assert one_is_not_true.json()["metadata"]["tier"] is True
    changed = (await ann.put(f"/projects/{project['id']}", {"metadata": {"b": None}, "slug": "ap"})).json()
    assert changed == project | {"metadata": {"b": None}, "slug": "ap", "updated_at": changed["updated_at"]}


async def test_two_changes_at_once_of_different_members_both_stay(ann: Person) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    path = f"/companies/{company['id']}"
    await asyncio.gather(ann.put(path, {"name": "Ajax"}), ann.put(path, {"metadata": {"a": 1}}))
    stored = (await ann.get(path)).json()
    assert (stored["name"], stored["metadata"]) == ("Ajax", {"a": 1})


async def test_a_slug_clashes_only_within_its_parent_or_among_its_owners_companies(
    client: httpx.AsyncClient, ann: Person
) -> None:
    bob = await register(client, "bob")
    company = await ann.made("/companies", {"name": "Acme"})
    assert (await ann.post("/companies", {"name": "ACME!"})).status_code == 409
    await bob.made("/companies", {"name": "Acme"})
    other = await ann.made("/companies", {"name": "Other"})
    assert (await ann.put(f"/companies/{other['id']}", {"slug": "acme"})).status_code == 409
    for name, path in (("organizations", "/companies/{}/organizations"), ("projects", "/organizations/{}/projects")):
        await ann.made(path.format(company["id"]), {"name": "Same"})
        clash = await ann.post(path.format(company["id"]), {"name": "Another", "slug": "same"})
        assert clash.status_code == 409, name
        await ann.made(path.format(other["id"]), {"name": "Same"})


async def test_names_without_a_latin_letter_get_slugs_that_do_not_clash(ann: Person) -> None:
    first, second = [await ann.made("/companies", {"name": name}) for name in ("東京", "大阪")]
    assert first["slug"] != second["slug"]


async def test_of_many_who_take_one_slug_at_once_one_wins(ann: Person) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    for path in ("/companies", f"/companies/{company['id']}/organizations", f"/organizations/{company['id']}/projects"):
        answers = await asyncio.gather(*(ann.post(path, {"name": "Race"}) for _ in range(6)))
        assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409, 409, 409], path


async def test_companies_are_listed_newest_first_in_pages(ann: Person) -> None:
    made = [await ann.made("/companies", {"name": f"Company {number}"}) for number in range(5)]
    listed = (await ann.get("/companies?page=2&page_size=2")).json()
    assert listed == {"items": [made[2], made[1]], "total": 5, "page": 2, "page_size": 2}
    assert (await ann.get("/companies?page=9")).json()["items"] == []
    for query in ("page=0", "page=x", "page_size=101", "page_size=0", "page=99999999999", "nothing=1", "page=1&page=2"):
        assert (await ann.get(f"/companies?{query}")).status_code == 400, query


async def test_a_role_anywhere_inside_lists_the_top_level_company(
    client: httpx.AsyncClient, ann: Person, database: Database
) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    organization = await ann.made(f"/companies/{company['id']}/organizations", {"name": "North"})
    project = await ann.made(f"/organizations/{organization['id']}/projects", {"name": "Apollo"})
    workflow_id = await add_workflow(database, project["id"], await id_of(ann))
    for name, column, id_ in (
        ("bob", "company_id", company["id"]),
        ("cem", "company_id", organization["id"]),
        ("dee", "project_id", project["id"]),
        ("eve", "workflow_id", workflow_id),
    ):
        person = await register(client, name)
        assert (await person.get("/companies")).json()["total"] == 0
        await add_grant(database, await id_of(person), 1, **{column: id_})
        listed = (await person.get("/companies")).json()
        assert ([item["id"] for item in listed["items"]], listed["total"]) == ([company["id"]], 1), column
        # Listed is not opened: a role below does not rise.
        assert (await person.get(f"/companies/{company['id']}")).status_code == (200 if name == "bob" else 403)


async def test_ids_may_be_written_in_capitals_and_what_is_no_id_is_404(client: httpx.AsyncClient, ann: Person) -> None:
    bob = await register(client, "bob")
    company = await ann.made("/companies", {"name": "Acme"})
    project = await ann.made(f"/organizations/{company['id'].upper()}/projects", {"name": "Apollo"})
    assert project["company_id"] == company["id"]
    for path in (
        f"/companies/{company['id'].upper()}",
        f"/companies/{company['id'].upper()}/members",
        f"/companies/{company['id'].upper()}/audit",
        f"/organizations/{company['id'].upper()}/projects",
        f"/projects/{project['id'].upper()}",
        f"/projects/{project['id'].upper()}/members",
    ):
        assert (await ann.get(path)).status_code == 200, path
    assert (await ann.get(f"/companies/{company['id'].upper()}/members")).json()["total"] == 1
    body = {"user_id": (await id_of(bob)).upper(), "role": "viewer"}
    await ann.made(f"/companies/{company['id'].upper()}/members", body)
    path = f"/companies/{company['id'].upper()}/members/{(await id_of(bob)).upper()}"
    assert (await ann.put(path, {"role": "editor"})).json()["role"] == "editor"
    assert (await ann.delete(path)).status_code == 204
    assert (await ann.put(f"/projects/{project['id'].upper()}", {"name": "A"})).json()["name"] == "A"
    assert (await ann.delete(f"/projects/{project['id'].upper()}")).status_code == 204
    for id_ in (uuid7(), "1", "nil", "0" * 36, company["id"].replace("-", ""), f"{company['id']}x", "%00", "é"):
        assert (await ann.get(f"/companies/{id_}")).status_code == 404, id_
        assert (await ann.get(f"/projects/{id_}")).status_code == 404, id_


@pytest.mark.parametrize("place", ["companies", "organizations", "projects"])
async def test_deletion_is_409_while_something_goes_on_inside_and_takes_all_of_it_when_forced(
    ann: Person, database: Database, place: str
) -> None:
    me = await id_of(ann)
    for workflow_status, execution_status in (("active", None), ("stopped", "pending"), ("stopped", "running")):
        company = await ann.made("/companies", {"name": "Acme"})
        organization = await ann.made(f"/companies/{company['id']}/organizations", {"name": "North"})
        project = await ann.made(f"/organizations/{organization['id']}/projects", {"name": "Apollo"})
        workflow_id = await add_workflow(database, project["id"], me, status=workflow_status)
        if execution_status is not None:
            await add_execution(database, workflow_id, status=execution_status)
        holders = {"companies": company, "organizations": organization, "projects": project}
        path = f"/{place}/{holders[place]['id']}"
        refused = await ann.delete(path)
        assert refused.status_code == 409
        assert "force" in refused.json()["detail"]
        assert (await ann.delete(f"{path}?force=no")).status_code == 409
        assert await count(database, "workflows") == 1
        assert (await ann.delete(f"{path}?force=true")).status_code == 204
        assert (await ann.get(path)).status_code == 404
        for table in ("projects", "workflows", "workflow_versions", "executions"):
            assert await count(database, table) == 0, table
        left = {"companies": 0, "organizations": 1, "projects": 2}[place]
        assert (await count(database, "companies"), await count(database, "grants")) == (left, left)
        await ann.delete(f"/companies/{company['id']}")


async def test_what_has_ended_does_not_hold_up_a_deletion(ann: Person, database: Database) -> None:
    company = await ann.made("/companies", {"name": "Acme"})
    project = await ann.made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
    for status in ("draft", "stopped", "error"):
        workflow_id = await add_workflow(database, project["id"], await id_of(ann), status=status)
        await add_execution(database, workflow_id, status="completed", completed_at=now())
    assert (await ann.delete(f"/companies/{company['id']}")).status_code == 204
    assert await count(database, "workflows") == 0


async def test_forcing_cancels_what_runs_and_then_tells_the_engine(
    client: httpx.AsyncClient, ann: Person, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine hears of it when the rows are gone for good: not before, and not when the deletion fails."""
    heard: list[tuple[str, str, int]] = []

    class Engine:
        async def stop(self, workflow_id: str, cancel_running: bool) -> None:
            heard.append(("stop", workflow_id, await count(database, "workflows")))

        async def cancel(self, execution_id: str) -> None:
            heard.append(("cancel", execution_id, await count(database, "executions")))

    company = await ann.made("/companies", {"name": "Acme"})
    project = await ann.made(f"/organizations/{company['id']}/projects", {"name": "Apollo"})
    workflow_id = await add_workflow(database, project["id"], await id_of(ann), status="active")
    execution_id = await add_execution(database, workflow_id, status="running")
    state: Any = client.app.app.state  # type: ignore[attr-defined]
    monkeypatch.setattr(state, "platform", msgspec.structs.replace(state.platform, engine=Engine()))
    assert (await ann.delete(f"/companies/{company['id']}")).status_code == 409
    assert heard == []
    assert (await ann.delete(f"/companies/{company['id']}?force=true")).status_code == 204
    assert heard == [("stop", workflow_id, 0), ("cancel", execution_id, 0)]


async def test_what_is_put_into_a_company_while_it_is_deleted_is_there_or_not_but_never_an_error(ann: Person) -> None:
    for _ in range(3):
        company = await ann.made("/companies", {"name": "Acme"})
        organization = await ann.made(f"/companies/{company['id']}/organizations", {"name": "North"})
        answers = await asyncio.gather(
            ann.post(f"/organizations/{company['id']}/projects", {"name": "Apollo"}),
            ann.post(f"/organizations/{organization['id']}/projects", {"name": "Apollo"}),
            ann.post(f"/companies/{company['id']}/organizations", {"name": "South"}),
            ann.delete(f"/companies/{company['id']}"),
            ann.post(f"/companies/{company['id']}/members", {"email": "nobody@example.com", "role": "viewer"}),
            ann.put(f"/companies/{company['id']}", {"name": "Ajax"}),
        )
        assert {answer.status_code for answer in answers} <= {200, 201, 204, 404}
        assert answers[3].status_code == 204
        assert (await ann.get(f"/companies/{company['id']}")).status_code == 404
        assert (await ann.get("/companies")).json()["total"] == 0


async def test_a_deletion_and_whoever_is_busy_inside_never_wait_for_each_other(ann: Person, database: Database) -> None:
    """Links lock two workflows, cancellations an execution, the deletion all of them; here all at once."""
    me, company = await id_of(ann), await ann.made("/companies", {"name": "Acme"})
    for number in range(4):
        project = await ann.made(f"/organizations/{company['id']}/projects", {"name": f"Project {number}"})
        ids = [await add_workflow(database, project["id"], me) for _ in range(5)]
        running = [await add_execution(database, id_) for id_ in ids]
        links = [
            ann.post(f"/workflows/{source}/links", {"target_workflow_id": target, "link_type": "dependency"})
            for source in ids
            for target in reversed(ids)
        ]
        cancels = [ann.post(f"/executions/{id_}/cancel") for id_ in reversed(running)]
        deletion = ann.delete(f"/projects/{project['id']}?force=true")
        answers = await asyncio.gather(*links[:12], *cancels[:3], deletion, *links[12:], *cancels[3:])
        statuses = [answer.status_code for answer in answers]
        assert set(statuses) <= {200, 201, 204, 404}, statuses
        assert statuses[15] == 204
