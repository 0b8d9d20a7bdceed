"""The first minutes and the door: sign up, first steps, sign in and out, several tabs, a session that ends."""

import re

import pytest
from playwright.async_api import Route, expect

from tests.browser.chromium import PHONE
from tests.browser.conftest import PASSWORD, Person, Visit, new_email

pytestmark = pytest.mark.anyio


async def test_a_new_user_comes_from_nothing_to_a_workflow(visit: Visit) -> None:
    window = await visit()
    page = await window.tab("/")
    await expect(page).to_have_url(re.compile("/sign-in$"))
    await page.get_by_role("link", name="Create an account").click()
    await page.get_by_label("Name").fill("Ada Lovelace")
    await page.get_by_label("Email").fill(new_email())
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Create account").click()
    await page.get_by_label("Name of the company").fill("Acme")
    await page.get_by_role("button", name="Create company").click()
    await page.get_by_label("Name of the project").fill("Orders")
    await page.get_by_role("button", name="Create project").click()
    await page.get_by_role("group", name="Templates").get_by_role("button").first.click()
    await page.get_by_role("button", name="Create workflow").click()
    await expect(page).to_have_url(re.compile("/workflows/[0-9a-f-]{36}"))
    await page.goto(window.site)
    await expect(page.get_by_role("heading", name="Hello, Ada")).to_be_visible()
    await expect(page.get_by_role("table", name="Newest workflows").get_by_role("link")).to_have_count(1)


async def test_a_deep_link_asks_for_sign_in_and_leads_back(visit: Visit, person: Person) -> None:
    company, _ = person.project()
    page = await (await visit()).tab(f"/companies/{company['id']}?tab=x")
    await page.get_by_label("Email").fill(person.email)
    await page.get_by_label("Password").fill("a wrong one")
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("heading", name="Acme", level=1)).to_be_visible()
    await expect(page).to_have_url(re.compile(rf"/companies/{company['id']}\?tab=x$"))


async def test_signing_out_in_one_tab_signs_out_all(visit: Visit, person: Person) -> None:
    person.project()
    window = await visit()
    first = await person.sign_in(window)
    second = await window.tab("/me")
    await expect(second.get_by_role("button", name="You: Ada Lovelace")).to_be_visible()
    await first.get_by_role("button", name="You: Ada Lovelace").click()
    await first.get_by_role("menuitem", name="Sign out").click()
    await expect(first).to_have_url(re.compile("/sign-in"))
    await expect(second).to_have_url(re.compile("/sign-in"))
    await second.goto(window.site)
    await expect(second).to_have_url(re.compile("/sign-in"))


async def test_a_session_that_was_ended_elsewhere_leads_to_sign_in(visit: Visit, person: Person) -> None:
    company, _ = person.project()
    window = await visit()
    page = await person.sign_in(window)
    await page.get_by_role("link", name="New project").click()
    await page.get_by_label("Name of the project").fill("Too late")

    async def too_late(route: Route) -> None:
        await window.context.request.get(f"{window.site}/user/signout")
        await route.continue_()

    # Not before: what the page asks by itself would lead away from the button.
    await page.route("**/projects", too_late, times=1)
    await page.get_by_role("button", name="Create project").click()
    await page.get_by_label("Email").fill(person.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page).to_have_url(f"{window.site}/welcome?company={company['id']}")


async def test_no_token_is_kept_where_a_script_of_tomorrow_would_find_it(visit: Visit, person: Person) -> None:
    person.project()
    page = await person.sign_in(await visit())
    await expect(page.get_by_role("heading", name="Hello, Ada")).to_be_visible()
    kept = await page.evaluate(
        "JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, history.state])"
    )
    assert "eyJ" not in kept


async def test_search_finds_a_workflow_by_keyboard_alone(visit: Visit, person: Person) -> None:
    _, project = person.project()
    made = person.post(f"/projects/{project['id']}/workflows", {"name": "Nightly invoices", "config_yaml": ""})
    page = await person.sign_in(await visit())
    await expect(page.get_by_role("heading", name="Hello, Ada")).to_be_visible()
    await page.keyboard.press("/")
    await expect(page.get_by_role("combobox", name=re.compile("^Search"))).to_be_focused()
    await page.keyboard.type("invoice")
    await expect(page.get_by_role("option", name="Nightly invoices")).to_be_visible()
    await expect(page.get_by_role("option")).to_have_count(1)
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(re.compile(f"/workflows/{made['id']}"))
    await page.go_back()
    await expect(page.get_by_role("heading", name="Hello, Ada")).to_be_visible()


async def test_nothing_is_wider_than_a_phone(visit: Visit, person: Person) -> None:
    company, _ = person.project()
    window = await visit(viewport=PHONE)
    page = await person.sign_in(window)
    for path in ("/", "/welcome", f"/companies/{company['id']}", "/nowhere"):
        await page.goto(window.site + path)
        await expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    await page.get_by_role("button", name="Menu").click()
    await page.get_by_role("dialog", name="Menu").get_by_role("link", name="Home").click()
    await expect(page.get_by_role("heading", name="Hello, Ada")).to_be_visible()
