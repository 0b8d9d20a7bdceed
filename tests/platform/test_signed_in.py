"""How one can sign in, where one is signed in, and what one may do: what a console asks before it shows anything."""

from typing import Any

import pytest

from tests.conftest import Serve
from tests.platform.iam import house as iam
from tests.platform.people import PASSWORD, Person, register
from tests.platform.records import add_grant, add_provider, add_workflow, database_of, deactivate, id_of

pytestmark = pytest.mark.anyio

SOCIAL = {
    "provider_b": {"client_id": "x", "client_secret": "y"},
    "off": {"client_id": "x", "kind": "github", "enabled": False},
}


async def methods(person: Any, **params: str) -> Any:
    answer = await person.get("/api/v1/auth/methods", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_the_ways_in_are_told_by_domain_and_never_by_account(serve: Serve) -> None:
    async with serve(oauth_providers=SOCIAL) as client:
        house = await iam.set_up(client)
        social = [{"name": "provider_b", "kind": "google", "url": "/user/oauth/login/provider_b"}]
        assert await methods(client) == {"password": True, "providers": social, "companies": []}
        oidc = await house.oidc("https://idp.example")
        ldap = {"url": "ldaps://directory.example", "bind_dn": "cn=x", "bind_password": "y", "base_dn": "dc=x"}
        await house.provider("ldap", ldap, name="Directory")
        await house.provider("custom", {}, name="Nobody signs in here")
        # A company that nobody granted the domain to speaks for nobody.
        assert (await methods(client, email="ann@acme.example"))["companies"] == []
        await house.grant("acme.example")
        known, unknown = [await methods(client, email=f"{who}@acme.example") for who in ("olga", "nobody")]
        assert known == unknown
        assert [(one["kind"], one["takes_password"], one["required"]) for one in known["companies"]] == [
            ("oidc", False, False),
            ("ldap", True, False),
        ]
        assert known["companies"][0]["url"] == f"/api/v1/auth/iam/{oidc['id']}"
        await house.owner.put(f"/iam/providers/{oidc['id']}", {"enabled": False})
        assert len((await methods(client, email="ann@acme.example"))["companies"]) == 1
        assert (await client.get("/api/v1/auth/methods", params={"email": "nothing"})).status_code == 400
        asked = [await client.get("/api/v1/auth/methods", params={"email": "a@b.example"}) for _ in range(60)]
        assert asked[-1].status_code == 429


async def signed_in_again(person: Person) -> Person:
    body = {"email": person.email, "password": PASSWORD}
    answer = await person.client.post("/api/v1/auth/login", json=body, headers={"User-Agent": "another"})
    assert answer.status_code == 200
    return Person(person.client, answer.json(), person.email)


async def test_my_sessions_are_listed_and_one_that_is_ended_lets_nobody_in(serve: Serve) -> None:
    async with serve() as client:
        ada, bob = await register(client, "ada"), await register(client, "bob")
        other = await signed_in_again(ada)
        listed = (await ada.get("/auth/sessions")).json()
        assert listed["total"] == 2
        newest, oldest = listed["items"]
        assert list(newest) == ["id", "current", "ip_address", "user_agent", "created_at", "expires_at"]
        assert (newest["user_agent"], newest["current"], oldest["current"]) == ("another", False, True)
        assert (await bob.delete(f"/auth/sessions/{newest['id']}")).status_code == 404
        assert (await other.get("/auth/me")).status_code == 200
        assert (await ada.delete(f"/auth/sessions/{newest['id'].upper()}")).status_code == 204
        assert (await other.get("/auth/me")).status_code == 401
        assert (await ada.delete(f"/auth/sessions/{newest['id']}")).status_code == 404
        company = await ada.made("/companies", {"name": "Acme"})
        await signed_in_again(ada)
        await ada.delete(f"/auth/sessions/{await newest_of(ada)}")
        entries = (await ada.get(f"/companies/{company['id']}/audit", params={"action": "auth.session_end"})).json()
        assert entries["total"] == 1
        assert entries["items"][0]["resource_type"] == "session"


async def test_all_other_sessions_end_at_once_and_this_one_stays(serve: Serve) -> None:
    async with serve() as client:
        ada, bob = await register(client, "ada"), await register(client, "bob")
        others = [await signed_in_again(ada) for _ in range(3)]
        company = await ada.made("/companies", {"name": "Acme"})
        assert (await ada.delete("/auth/sessions")).status_code == 204
        assert [(await one.get("/auth/me")).status_code for one in (ada, bob, *others)] == [200, 200, 401, 401, 401]
        assert [one["current"] for one in (await ada.get("/auth/sessions")).json()["items"]] == [True]
        assert (await ada.delete("/auth/sessions")).status_code == 204
        entries = (await ada.get(f"/companies/{company['id']}/audit", params={"action": "auth.session_end"})).json()
        assert [one["details"] for one in entries["items"]] == [{"ended": 3}]


async def newest_of(person: Person) -> str:
    return str((await person.get("/auth/sessions")).json()["items"][0]["id"])


async def test_who_may_do_what_is_told_with_every_grant_that_they_have(serve: Serve) -> None:
    async with serve() as client:
        database = database_of(client)
        olga, ann, dora = [await register(client, name) for name in ("olga", "ann", "dora")]
        company = await olga.made("/companies", {"name": "Acme"})
        north = await olga.made(f"/companies/{company['id']}/organizations", {"name": "North"})
        project = await olga.made(f"/organizations/{north['id']}/projects", {"name": "Apollo"})
        workflow = await add_workflow(database, project["id"], await id_of(olga))
        _, mapping = await add_provider(database, company["id"])
        await add_grant(database, await id_of(ann), 3, company_id=company["id"], mapping_id=mapping)
        await add_grant(database, await id_of(ann), 1, company_id=company["id"])
        await add_grant(database, await id_of(ann), 2, workflow_id=workflow)
        await add_grant(database, await id_of(dora), 4, project_id=project["id"])
        await deactivate(database, await id_of(dora))
        found = (await olga.get(f"/workflows/{workflow}/access")).json()
        assert found["total"] == 2
        assert [(one["user"]["email"], one["role"]) for one in found["items"]] == [
            ("ann@example.com", "editor"),
            ("olga@example.com", "owner"),
        ]
        ways = [(way["level"], way["role"], way["provider"] is not None) for way in found["items"][0]["through"]]
        assert ways == [("workflow", "editor", False), ("company", "admin", True), ("company", "viewer", False)]
        assert [way["level"] for way in found["items"][1]["through"]] == ["project", "organization", "company"]
        assert found["items"][1]["through"][0].items() >= {"name": "Apollo", "id": project["id"]}.items()
        second = (await olga.get(f"/workflows/{workflow}/access?page=2&page_size=1")).json()
        assert [one["user"]["email"] for one in second["items"]] == ["olga@example.com"]
        mine = (await ann.get(f"/projects/{project['id']}/access/me")).json()
        assert (mine["role"], [way["role"] for way in mine["through"]]) == ("admin", ["admin", "viewer"])
        assert (await ann.get(f"/companies/{company['id']}/access")).json()["total"] == 2
