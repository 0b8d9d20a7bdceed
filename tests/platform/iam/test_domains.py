"""`penstock domains`: what the operator grants, and to whom."""

import httpx
import pytest

from penstock.cli import domains as command
from penstock.platform.iam import domains
from penstock.problems import Conflict, Invalid, NotFound
from tests.platform.people import register

from .house import House, set_up

pytestmark = pytest.mark.anyio


async def test_a_domain_belongs_to_one_company(house: House) -> None:
    database, other = house.parts.database, await set_up(house.client, "nora", "Other")
    assert await domains.grant(database, house.company["id"], " @Acme.Example ") == "acme.example"
    assert await domains.grant(database, house.company["id"], "acme.example") == "acme.example"
    with pytest.raises(Conflict):
        await domains.grant(database, other.company["id"], "ACME.example")
    with pytest.raises(NotFound):
        await domains.revoke(database, other.company["id"], "acme.example")
    assert [(one.domain, one.company) for one in await domains.listed(database)] == [("acme.example", "Acme")]
    await domains.revoke(database, house.company["id"], "acme.example")
    await domains.grant(database, other.company["id"], "acme.example")


@pytest.mark.parametrize(
    "domain", ["", "acme", "provider.invalid", "a b.example", "*.example", "acme.example/x", "ä.example"]
)
async def test_what_is_no_domain_is_refused(house: House, domain: str) -> None:
    with pytest.raises(Invalid):
        await domains.grant(house.parts.database, house.company["id"], domain)


@pytest.mark.parametrize("company", ["x", "00000000-0000-7000-8000-000000000000"])
async def test_an_unknown_company_is_not_found(house: House, company: str) -> None:
    with pytest.raises(NotFound):
        await domains.grant(house.parts.database, company, "acme.example")


async def test_a_company_s_domains_go_with_it(house: House) -> None:
    await house.grant("acme.example")
    assert (await house.owner.delete(f"/companies/{house.company['id']}")).status_code == 204
    assert await domains.listed(house.parts.database) == []


async def test_the_commands_say_what_they_did(
    client: httpx.AsyncClient, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    olga = await register(client, "olga")
    company = await olga.made("/companies", {"name": "Acme"})
    capsys.readouterr()

    def run(*, revoke: bool = False) -> str:
        if revoke:
            command.revoke(company["id"], "acme.example", database=database_url)
        else:
            command.grant(company["id"], "acme.example", database=database_url)
            command.list_(database=database_url)
            command.list_(as_json=True, database=database_url)
        return capsys.readouterr().out

    import asyncio

    said = await asyncio.to_thread(run)
    assert f"acme.example  {company['id']}  Acme" in said
    assert '"company": "Acme"' in said
    assert "Revoked" in await asyncio.to_thread(run, revoke=True)
    noted = (await olga.get(f"/companies/{company['id']}/audit?resource_type=domain")).json()["items"]
    assert [(one["action"], one["resource_id"], one["user_id"]) for one in noted] == [
        ("domain.revoke", "acme.example", None),
        ("domain.grant", "acme.example", None),
    ]
