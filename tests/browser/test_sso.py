"""A company's own identity provider, from the form that an admin fills in to the role that somebody has by it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.accounts.social_site import SECRET
from tests.browser.conftest import Person, Visit, grant
from tests.browser.test_workflows import at_end_of, code, made
from tests.node_peers import running

pytestmark = pytest.mark.anyio


@contextmanager
def workshop(site: str, provider: str) -> Iterator[str]:
    """The issuer of a real provider that knows the callback of ours."""
    with running("oidc.mjs", f"{site}/api/v1/auth/iam/{provider}/callback") as peers:
        yield peers["lavish"]


async def sign_in_there(page: Page, login: str) -> None:
    await page.locator('input[name="login"]').fill(login)
    await page.locator('input[name="password"]').fill("any")
    await page.locator('[type="submit"]').click()
    await page.get_by_role("button", name="Continue").click()


async def come_in(page: Page) -> None:
    await page.get_by_label("Email").fill("grace@people.example")
    await page.get_by_role("link", name="Continue with Workshop").click()
    await sign_in_there(page, "grace")


async def test_an_admin_sets_a_provider_up_and_its_people_come_in_with_the_role_that_it_gives(
    visit: Visit, person: Person, folder: Path
) -> None:
    company, project = person.project()
    grant(folder, company["id"], "people.example")
    page = await person.sign_in(await visit(), f"/companies/{company['id']}/providers")
    await page.get_by_role("link", name="Add provider").click()
    await page.get_by_role("link", name="OpenID Connect").click()
    await page.get_by_label("Name", exact=True).fill("Workshop")
    await page.get_by_label("Issuer").fill("http://127.0.0.1:9")
    await page.get_by_label("Client id").fill("penstock")
    await page.get_by_label("Client secret").fill("not this one")
    await page.get_by_role("button", name="Add provider").click()
    await page.get_by_role("button", name="Test").click()
    await expect(page.get_by_text("It does not work.")).to_be_visible()
    await expect(page.get_by_label("Client secret")).to_have_value("")
    assert "not this one" not in await page.content()

    with workshop(str(page.url.split("/companies")[0]), page.url.rsplit("/", 1)[-1]) as issuer:
        await page.get_by_label("Issuer").fill(issuer)
        await page.get_by_role("button", name="Save").click()
        # Else an admin could have the secret that another one entered sent to a host of their own.
        await expect(page.get_by_text("send it again").first).to_be_visible()
        await page.get_by_label("Client secret").fill(SECRET)
        async with page.expect_response(lambda answer: answer.request.method == "PUT" and answer.ok):
            await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("One is stored.")).to_be_visible()
        await page.get_by_role("button", name="Test").click()
        await expect(page.get_by_text("It works.")).to_be_visible()

        await page.get_by_role("button", name="Add mapping").click()
        dialog = page.get_by_role("dialog", name="Add a role mapping")
        await dialog.get_by_label("Name at the provider").fill("grace@people.example")
        await dialog.get_by_label("Where").select_option(label="Orders")
        await dialog.get_by_role("radio", name="Editor").check()
        await dialog.get_by_role("button", name="Add mapping").click()
        await expect(page.get_by_role("table", name="Role mappings")).to_contain_text("project Orders")

        window = await visit()
        members = f"/projects/{project['id']}/members"
        grace = await window.tab(members)
        await come_in(grace)
        await expect(grace).to_have_url(window.site + members)
        row = grace.get_by_role("row").filter(has_text="Name of grace")
        await expect(row).to_contain_text("editor")
        await expect(row).to_contain_text("Given here, by Workshop")
        await expect(grace.get_by_role("button", name="Add member")).to_have_count(0)

        # When the session ends, here and there, the way back leaves this site: what was written is not lost.
        await grace.goto(f"{window.site}/workflows/{made(person, project['id'])}/edit")
        await at_end_of(grace, "first")
        await grace.keyboard.type(" # mine")
        await expect(grace.get_by_text("Unsaved changes")).to_be_visible()
        await window.context.request.get(f"{window.site}/user/signout")
        await window.context.clear_cookies()
        await grace.keyboard.press("Control+s")
        await expect(grace.get_by_role("heading", name="Sign in")).to_be_visible()
        await come_in(grace)
        await expect(grace.get_by_text("Unsaved changes")).to_be_visible()
        await expect(code(grace)).to_contain_text("# mine")
        await grace.get_by_role("button", name="Save", exact=True).click()
        await expect(grace.get_by_text("Version 2, saved")).to_be_visible()
        assert await grace.evaluate("sessionStorage.getItem('penstock.kept')") is None
        window.foreign.clear()  # the visits to the provider


CONFIG = {"issuer": "http://127.0.0.1:9", "client_id": "penstock", "client_secret": SECRET}


def added(person: Person, company: str) -> str:
    """A provider that nobody answers at yet: its id."""
    body = {"provider_type": "oidc", "name": "Workshop", "config": CONFIG}
    return person.post(f"/companies/{company}/iam/providers", body)["id"]


async def test_a_provider_is_turned_off_and_what_was_typed_into_its_form_stays(visit: Visit, person: Person) -> None:
    company, _ = person.project()
    provider = added(person, company["id"])
    page = await person.sign_in(await visit(), f"/companies/{company['id']}/providers/{provider}")
    await page.get_by_label("Client id").fill("another")
    await page.get_by_label("Client secret").fill("a new one")
    await page.get_by_role("button", name="Turn off").click()
    await page.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    await page.get_by_role("button", name="Turn on").click()
    await expect(page.get_by_role("button", name="Turn off")).to_be_visible()
    await expect(page.get_by_label("Client secret")).to_have_value("a new one")
    await page.get_by_role("button", name="Save").click()
    # Saved: a secret does not stay where it was typed.
    await expect(page.get_by_label("Client secret")).to_have_value("")
    await expect(page.get_by_label("Client id")).to_have_value("another")
    stored = person.http.get(f"/api/v1/iam/providers/{provider}").json()
    assert (stored["enabled"], stored["config"]["client_id"]) == (True, "another")


async def test_who_has_an_account_links_a_provider_and_unlinks_it(visit: Visit, person: Person) -> None:
    company, _ = person.project()
    provider = added(person, company["id"])
    window = await visit()
    with workshop(window.site, provider) as issuer:
        person.http.put(f"/api/v1/iam/providers/{provider}", json={"config": CONFIG | {"issuer": issuer}})
        page = await person.sign_in(window, "/me/sign-in")
        await page.get_by_role("link", name="Link Workshop").click()
        await sign_in_there(page, "hedy")
        await expect(page).to_have_url(re.compile("/me/sign-in$"))
        await expect(page.get_by_text("Linked", exact=True)).to_be_visible()
        window.foreign.clear()  # the visit to the provider
        await page.get_by_role("button", name="Unlink Workshop").click()
        await page.get_by_role("dialog").get_by_role("button", name="Unlink").click()
        await expect(page.get_by_role("link", name="Link Workshop")).to_be_visible()
