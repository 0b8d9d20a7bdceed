"""A company's directory (a real LDAP server): the name and the password that one has there open the console."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.conftest import Person, Visit, grant
from tests.node_peers import running
from tests.platform.iam.certificates import Authority

pytestmark = pytest.mark.anyio
BASE = "dc=example,dc=com"


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def ldap(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    files = authority.certify(tmp_path_factory.mktemp("ldap"), "localhost")
    with running("ldap.mjs", *map(str, files)) as ready:
        yield ready


def staff(person: Person, company: str, ldap: dict[str, Any], authority: Authority) -> str:
    """The company's provider, whose people the directory knows."""
    config = {
        "url": ldap["tls"],
        "bind_dn": f"cn=reader,{BASE}",
        "bind_password": "read me",
        "base_dn": BASE,
        "group_filter": "(member={dn})",
        "ca_certificate": authority.pem,
    }
    body = {"provider_type": "ldap", "name": "Staff", "config": config}
    return person.post(f"/companies/{company}/iam/providers", body)["id"]


async def fill(page: Page, username: str, password: str) -> None:
    await page.get_by_label("User name").fill(username)
    await page.get_by_label("Password").fill(password)


async def test_a_name_and_a_password_of_the_directory_open_the_console(
    visit: Visit, person: Person, folder: Path, ldap: dict[str, Any], authority: Authority
) -> None:
    company, project = person.project()
    provider = staff(person, company["id"], ldap, authority)
    grant(folder, company["id"], "example.org")
    engineers = {"external_identifier": "engineers", "resource_type": "project", "resource_id": project["id"]}
    person.post(f"/iam/providers/{provider}/mappings", engineers | {"role": "editor"})
    window = await visit()
    page = await window.tab(f"/projects/{project['id']}/members")
    await page.get_by_label("Email").fill("ann@example.org")
    await page.get_by_role("link", name="Use Staff").click()
    await fill(page, "ann", "a wrong one")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_contain_text("Wrong user name or password")
    await fill(page, "ann", "ann's password")
    await page.get_by_role("button", name="Sign in").click()
    row = page.get_by_role("row").filter(has_text="Name of ann")
    await expect(row).to_contain_text("Given here, by Staff")
    await expect(page).to_have_url(f"{window.site}/projects/{project['id']}/members")
    # It is a session like any other: another tab has it, too.
    again = await window.tab("/me")
    await expect(again.get_by_role("button", name="You: Name of ann")).to_be_visible()


async def test_who_has_an_account_links_the_directory_to_it(
    visit: Visit, person: Person, ldap: dict[str, Any], authority: Authority
) -> None:
    company, _ = person.project()
    provider = staff(person, company["id"], ldap, authority)
    page = await person.sign_in(await visit(), "/me/sign-in")
    await page.get_by_role("button", name="Link Staff").click()
    dialog = page.get_by_role("dialog", name="Link Staff")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method) if provider in request.url else None)
    await dialog.get_by_label("User name").fill("bob")
    await dialog.get_by_label("Password").fill("a wrong one")
    await dialog.get_by_role("button", name="Link", exact=True).click()
    await expect(dialog.get_by_role("alert")).to_contain_text("Wrong user name or password")
    # Each try counts against the limit of guesses: one that went wrong is not sent again.
    assert asked == ["POST"]
    await dialog.get_by_label("Password").fill("bob's password")
    await dialog.get_by_role("button", name="Link", exact=True).click()
    await expect(page.get_by_text("Linked", exact=True)).to_be_visible()
    stranger = await (await visit()).tab(f"/sign-in/directory?provider={provider}")
    await fill(stranger, "bob", "bob's password")
    await stranger.get_by_role("button", name="Sign in").click()
    await expect(stranger.get_by_role("button", name=re.compile("You: Ada Lovelace"))).to_be_visible()
