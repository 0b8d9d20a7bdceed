"""People with different roles at the same company, what each may do there and is offered; and what is one's own."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, expect

from tests.browser.conftest import PASSWORD, Person, Visit

pytestmark = pytest.mark.anyio

DEFINITION = """\
document: {dsl: 1.0.3, namespace: test, name: waits, version: 1.0.0}
do:
  - idle: {wait: {hours: 1}}
"""


Another = Callable[[str], Person]


@pytest.fixture
def another(site: str) -> Iterator[Another]:
    """Somebody else with an account: `another("Bob Tables")`."""
    with ExitStack() as stack:

        def person(name: str) -> Person:
            made = Person(site, name)
            stack.callback(made.http.close)
            return made

        yield person


def row(page: Page, text: str) -> Locator:
    return page.get_by_role("row").filter(has_text=text)


async def test_two_people_with_different_roles_see_and_may_different_things(
    visit: Visit, person: Person, another: Another, site: str
) -> None:
    company, project = person.project()
    bob, cleo = another("Bob Tables"), another("Cleo Patra")
    members = f"/companies/{company['id']}/members"
    owner = await person.sign_in(await visit(), members)
    await expect(row(owner, "Ada Lovelace")).to_contain_text("The last owner")
    for one, role in ((bob, "Admin"), (cleo, "Viewer")):
        await owner.get_by_role("button", name="Add member").click()
        await owner.get_by_label("Email").fill(one.email)
        await owner.get_by_role("radio", name=role).check()
        await owner.get_by_role("dialog").get_by_role("button", name="Add member").click()
        await expect(owner.get_by_role("dialog")).to_have_count(0)
        await expect(row(owner, one.email)).to_contain_text(role.lower())
    await owner.get_by_role("button", name="Add member").click()
    await owner.get_by_label("Email").fill("nobody@example.com")
    await owner.get_by_role("dialog").get_by_role("button", name="Add member").click()
    await expect(owner.get_by_text("Ask them to sign up first")).to_be_visible()

    admin = await bob.sign_in(await visit(), members)
    await expect(row(admin, "Ada Lovelace")).to_contain_text("above yours")
    await expect(row(admin, "Ada Lovelace").get_by_role("button")).to_have_count(0)
    await admin.goto(f"{site}/projects/{project['id']}/members")
    await expect(row(admin, "Cleo Patra")).to_contain_text("Company Acme")
    await expect(admin.get_by_role("button", name="Remove Cleo Patra")).to_have_count(0)
    await admin.get_by_role("button", name="Change the role of Cleo Patra").click()
    await expect(admin.get_by_role("radio")).to_have_count(3)
    await admin.get_by_role("radio", name="Editor").check()
    await admin.get_by_role("dialog").get_by_role("button", name="Change role").click()
    await expect(row(admin, "Cleo Patra")).to_contain_text("instead of viewer: Company Acme")

    viewer = await cleo.sign_in(await visit(), members)
    await expect(viewer.get_by_text("You are a viewer of Acme")).to_be_visible()
    await expect(viewer.get_by_role("button", name="Add member")).to_have_count(0)
    await expect(viewer.get_by_role("main").get_by_role("button")).to_have_count(1)  # leaving
    await viewer.get_by_role("link", name="Audit log").click()
    await expect(viewer.get_by_role("heading", name="The audit log needs the role admin")).to_be_visible()
    await viewer.goto(f"{site}/companies/{company['id']}/settings")
    await expect(viewer.get_by_label("Name")).to_be_disabled()
    await expect(viewer.get_by_role("button", name="Delete company")).to_have_count(0)
    await viewer.goto(f"{site}/projects/{project['id']}/secrets")  # by the role in the project, which counts before
    await expect(viewer.get_by_role("button", name="New secret").first).to_be_visible()
    await viewer.goto(site + members)
    await viewer.get_by_role("button", name="Leave Acme").click()
    await viewer.get_by_role("dialog").get_by_role("button", name="Leave").click()
    # Nowhere at home any more: a company of one's own can be made, and the one that was left is not offered.
    await expect(viewer.get_by_role("heading", name="Where do your workflows live?")).to_be_visible()
    await expect(viewer.get_by_role("button", name="Choose a project")).to_be_visible()


async def test_who_was_added_to_a_project_alone_finds_it_and_sees_nothing_else(
    visit: Visit, person: Person, another: Another, site: str
) -> None:
    company, project = person.project()
    dan = another("Dan Brown")
    own = dan.post("/companies", {"name": "Dan's"})
    person.post(f"/projects/{project['id']}/members", {"email": dan.email, "role": "editor"})
    page = await dan.sign_in(await visit())
    await expect(page.get_by_role("heading", name="Shared with you")).to_be_visible()
    await expect(page.get_by_role("heading", name="Acme")).to_have_count(0)
    await page.get_by_role("main").get_by_role("link", name="Orders").click()
    side = page.get_by_role("navigation", name="Main")
    await expect(side.get_by_role("link", name="Secrets")).to_be_visible()
    await expect(side.get_by_role("link", name="Audit log")).to_have_count(0)
    await side.get_by_role("link", name="Members").click()
    await expect(row(page, "Dan Brown")).to_contain_text("editor")
    await page.goto(f"{site}/companies/{company['id']}")
    await expect(page.get_by_role("alert")).to_contain_text("you have none")
    await page.goto(f"{site}/companies/{own['id']}/members")
    await expect(row(page, "Dan Brown")).to_contain_text("owner")


async def test_nobody_escalates_through_a_form_that_was_tampered_with(
    visit: Visit, person: Person, another: Another
) -> None:
    company, _ = person.project()
    bob = another("Bob Tables")
    person.post(f"/companies/{company['id']}/members", {"email": bob.email, "role": "admin"})
    page = await bob.sign_in(await visit(), f"/companies/{company['id']}/members")
    await page.get_by_role("button", name="Change the role of Bob Tables").click()
    dialog = page.get_by_role("dialog")
    # At the moment of sending: a form that is drawn anew puts right what was changed in it.
    await dialog.locator("form").evaluate(
        "form => form.addEventListener('formdata', event => event.formData.set('role', 'owner'))"
    )
    await dialog.get_by_role("button", name="Change role").click()
    await expect(page.get_by_role("alert")).to_contain_text("cannot grant owner")
    assert person.http.get(f"/api/v1/companies/{company['id']}/access").json()["items"][1]["role"] == "admin"


async def test_a_secret_goes_in_and_never_comes_out(visit: Visit, person: Person) -> None:
    _, project = person.project()
    definition = "use: {secrets: [SMTP_PASSWORD]}\ndo: []\n"
    person.post(f"/projects/{project['id']}/workflows", {"name": "Mail the invoice", "config_yaml": definition})
    page = await person.sign_in(await visit(), f"/projects/{project['id']}/secrets")
    await page.get_by_role("button", name="New secret").first.click()
    await page.get_by_label("Name").fill("SMTP_PASSWORD")
    await page.get_by_label("Value").fill("the fish is fresh")
    await page.get_by_role("button", name="Set secret").click()
    await expect(row(page, "SMTP_PASSWORD")).to_contain_text("Mail the invoice")
    await page.get_by_role("button", name="Replace SMTP_PASSWORD").click()
    await expect(page.get_by_label("Value")).to_have_value("")
    await page.keyboard.press("Escape")
    await page.reload()
    await expect(row(page, "SMTP_PASSWORD")).to_be_visible()
    assert "the fish is fresh" not in await page.content()
    await page.get_by_role("button", name="Delete SMTP_PASSWORD").click()
    await expect(page.get_by_role("dialog")).to_contain_text("Mail the invoice")
    await page.get_by_role("button", name="Delete secret").click()
    await expect(page.get_by_role("heading", name="No secrets yet")).to_be_visible()


async def test_a_project_at_work_goes_only_by_its_name_and_by_force(visit: Visit, person: Person, site: str) -> None:
    company, project = person.project()
    workflow = person.post(f"/projects/{project['id']}/workflows", {"name": "Waits", "config_yaml": DEFINITION})["id"]
    person.post(f"/workflows/{workflow}/deploy", {})
    page = await person.sign_in(await visit(), f"/projects/{project['id']}/settings")
    await page.get_by_label("Name").fill("Old orders")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("Of the project Old orders.")).to_be_visible()
    await page.get_by_role("button", name="Delete project").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("1 workflow")
    delete = dialog.get_by_role("button", name="Delete project")
    await expect(delete).to_be_disabled()
    await dialog.get_by_label("Type Old orders to confirm").fill("Old orders")
    await delete.click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await expect(delete).to_be_disabled()
    await dialog.get_by_role("checkbox").check()
    await delete.click()
    await expect(page).to_have_url(f"{site}/companies/{company['id']}")
    links = page.get_by_role("navigation", name="Main")
    await expect(links.get_by_role("link", name="Identity providers")).to_be_visible()
    await expect(links.get_by_role("link", name="Secrets")).to_have_count(0)
    assert person.http.get(f"/api/v1/projects/{project['id']}").status_code == 404


async def test_the_audit_log_shows_before_and_after_and_is_taken_away_as_filtered(
    visit: Visit, person: Person, tmp_path: Path
) -> None:
    company, _ = person.project()
    person.http.put(f"/api/v1/companies/{company['id']}", json={"name": "Ajax"})
    page = await person.sign_in(await visit(), f"/companies/{company['id']}/audit?action=company.update")
    entry = page.locator("details")
    await expect(entry).to_have_count(1)
    await entry.locator("summary").click()
    await expect(page.get_by_role("row", name="name Acme Ajax")).to_be_visible()
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Export").click()
    saved = await download.value
    assert re.fullmatch(r"audit-\d{4}-\d\d-\d\d\.jsonl", saved.suggested_filename)
    await saved.save_as(tmp_path / "audit.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "audit.jsonl").read_text().splitlines()]
    assert [line["details"]["name"] for line in lines] == [{"before": "Acme", "after": "Ajax"}]
    await page.get_by_label("Action").select_option(label="Created a project")
    await expect(entry).to_contain_text("Orders")
    await page.go_back()
    await expect(entry).to_contain_text("Ajax")
    await page.get_by_role("button", name="Clear filters").click()
    await expect(entry).not_to_have_count(1)


async def test_a_new_password_ends_every_other_session_and_not_this_one(visit: Visit, person: Person) -> None:
    person.project()
    here, elsewhere = await visit(), await visit()
    page = await person.sign_in(here, "/me")
    other = await person.sign_in(elsewhere, "/me/sessions")
    await page.get_by_label("Name").fill("Ada, Countess of Lovelace")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("button", name="You: Ada, Countess of Lovelace")).to_be_visible()
    await page.get_by_role("radio", name="Dark").check()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    await page.get_by_role("link", name="Sign-in").click()
    form = page.locator("form").filter(has=page.get_by_role("button", name="Change password"))
    await form.get_by_label("Current password").fill("a wrong one")
    await form.get_by_label("New password").fill("another horse battery")
    await form.get_by_role("button", name="Change password").click()
    await expect(form.get_by_role("alert")).to_contain_text("wrong")
    await form.get_by_label("Current password").fill(PASSWORD)
    await form.get_by_role("button", name="Change password").click()
    # Done: the form is empty again. The words that say so do not stay.
    await expect(form.get_by_label("Current password")).to_have_value("")
    await page.get_by_role("link", name="Sessions").click()
    await expect(page.get_by_role("list", name="Sessions").get_by_role("listitem")).to_have_count(1)
    await other.reload()
    await expect(other).to_have_url(re.compile("/sign-in"))


async def test_a_session_is_ended_from_another_one(visit: Visit, person: Person) -> None:
    person.project()
    lost = await person.sign_in(await visit(), "/me")
    await expect(lost.get_by_label("Name")).to_be_visible()
    page = await person.sign_in(await visit(), "/me/sessions")
    sessions = page.get_by_role("list", name="Sessions").get_by_role("listitem")
    await expect(sessions).to_have_count(3)  # both browsers, and the API
    await expect(sessions.filter(has_text="This one")).to_have_count(1)
    await sessions.filter(has_text="Chrome").filter(has_not_text="This one").get_by_role("button").click()
    await expect(sessions).to_have_count(2)
    # What the page asked by itself meanwhile may have led there already.
    await lost.get_by_role("link", name="Sessions").or_(lost.get_by_role("heading", name="Sign in")).click()
    await expect(lost).to_have_url(re.compile("/sign-in"))
    await page.get_by_role("button", name="Sign out everywhere").click()
    await page.get_by_role("dialog").get_by_role("button", name="Sign out everywhere").click()
    await expect(page).to_have_url(re.compile("/sign-in"))
    assert person.http.get("/api/v1/auth/me").status_code == 401
