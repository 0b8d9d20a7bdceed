"""Workflows as people use them: from a template to an execution, text and graph, two who write at once, roles."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.browser.chromium import PHONE
from tests.browser.conftest import PASSWORD, Person, Visit

pytestmark = pytest.mark.anyio

DEFINITION = """\
document:
  dsl: '1.0.3'
  namespace: shop
  name: greet
  version: '0.1.0'
do:
  - first:
      set: { n: 1 }
  - second:
      set: { n: 2 }
"""


def made(person: Person, project: str = "", name: str = "Greet") -> str:
    project = project or person.project()[1]["id"]
    return person.post(f"/projects/{project}/workflows", {"name": name, "config_yaml": DEFINITION})["id"]


def code(page: Page) -> Locator:
    return page.get_by_role("textbox", name=re.compile("^Definition, YAML"))


async def at_end_of(page: Page, line: str) -> None:
    """The cursor behind a line of the text."""
    await code(page).get_by_text(line, exact=True).first.click()
    await page.keyboard.press("End")


async def test_from_a_template_through_a_form_to_an_execution(visit: Visit, person: Person) -> None:
    _, project = person.project()
    page = await person.sign_in(await visit(), f"/projects/{project['id']}")
    await page.get_by_role("link", name="New workflow").click()
    await page.get_by_role("group", name="Templates").get_by_role("button", name="A greeting").click()
    graph = page.get_by_role("group", name=re.compile("^Graph of A greeting"))
    await expect(graph.get_by_text("takeABreath")).to_be_visible()
    await page.get_by_label("Name of the workflow").fill("Morning greeting")
    await page.get_by_role("button", name="Create workflow").click()
    await expect(page.get_by_role("heading", name="Morning greeting", level=1)).to_be_visible()
    await page.get_by_role("button", name="Deploy").click()
    await expect(page.get_by_text("Version 1 is deployed", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog", name="Trigger Morning greeting")
    await expect(dialog.get_by_label("Name")).to_have_value("World")
    await dialog.get_by_label("Name").fill("Ada")
    await dialog.get_by_label("Language").select_option("de")
    await dialog.get_by_role("button", name="As JSON").click()
    await expect(dialog.get_by_label("Input")).to_have_value(re.compile('"language": "de"'))
    await dialog.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/executions/[0-9a-f-]{36}"))
    started = person.http.get("/api/v1" + urlsplit(page.url).path)
    assert started.json()["trigger_data"] == {"name": "Ada", "language": "de"}
    await page.go_back()
    await expect(page.get_by_role("table", name="Recent executions").get_by_text("Completed")).to_be_visible()


async def test_an_answer_that_was_lost_on_its_way_starts_nothing_twice(visit: Visit, person: Person) -> None:
    workflow = made(person)
    page = await person.sign_in(await visit(), f"/workflows/{workflow}")

    async def lose(route: Route) -> None:
        await route.fetch()
        await route.abort()

    await page.route("**/trigger", lose, times=1)
    await page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog", name="Trigger Greet")
    await dialog.get_by_role("button", name="Start").click()
    await expect(dialog.get_by_role("alert")).to_contain_text("The server cannot be reached")
    await dialog.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/executions/[0-9a-f-]{36}"))
    assert person.http.get(f"/api/v1/workflows/{workflow}/executions").json()["total"] == 1


async def test_text_and_graph_select_each_other_and_findings_come_while_typing(visit: Visit, person: Person) -> None:
    workflow = made(person)
    page = await person.sign_in(await visit(), f"/workflows/{workflow}/edit")
    graph = page.get_by_role("group", name=re.compile("^Graph of Greet"))
    await graph.get_by_text("second").click()
    await expect(page).to_have_url(re.compile("task=%2Fdo%2F1%2Fsecond"))
    await expect(page.locator(".cm-chosen").first).to_contain_text("second")
    await at_end_of(page, "first")
    await expect(page).to_have_url(re.compile("task=%2Fdo%2F0%2Ffirst"))
    await page.keyboard.press("Control+End")
    await page.keyboard.type("  - third:\n    ca")
    await expect(page.get_by_role("option", name="call")).to_be_visible()
    await page.keyboard.press("Escape")
    problems = page.get_by_role("region", name="Problems")
    await expect(problems).to_contain_text("expected a mapping")
    await problems.get_by_role("button").first.click()
    await page.keyboard.press("Control+End")
    await page.keyboard.press("Shift+Home")
    await page.keyboard.type("wait: PT1S")
    await expect(page.get_by_text("Valid", exact=True)).to_be_visible()
    await expect(graph.get_by_text("third")).to_be_visible()
    await page.keyboard.press("Control+s")
    await expect(page.get_by_text("Version 2, saved")).to_be_visible()
    stored = person.http.get(f"/api/v1/workflows/{workflow}").json()
    assert (stored["version"], stored["validation"]["valid"]) == (2, True)


async def test_unsaved_changes_are_not_left_behind_unasked(visit: Visit, person: Person) -> None:
    workflow = made(person)
    page = await person.sign_in(await visit(), f"/workflows/{workflow}/edit")
    tabs = page.get_by_role("navigation", name="Parts of the workflow")
    await at_end_of(page, "first")
    await page.keyboard.type("\n# a note")
    await expect(page.get_by_text("Unsaved changes")).to_be_visible()
    await tabs.get_by_role("link", name="Executions").click()
    dialog = page.get_by_role("dialog", name="Leave without saving?")
    await dialog.get_by_role("button", name="Stay here").click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_text("Unsaved changes")).to_be_visible()
    await expect(page).to_have_url(re.compile(f"/workflows/{workflow}/edit"))
    await tabs.get_by_role("link", name="Executions").click()
    await dialog.get_by_role("button", name="Leave without saving").click()
    await expect(page.get_by_role("heading", name="It has not run yet")).to_be_visible()
    await tabs.get_by_role("link", name="Editor").click()
    await at_end_of(page, "first")
    await page.keyboard.type("\n# another")
    await page.get_by_role("button", name="Discard changes").click()
    await tabs.get_by_role("link", name="Executions").click()
    await expect(page.get_by_role("heading", name="It has not run yet")).to_be_visible()


async def test_what_was_written_is_there_again_after_a_session_that_ended(visit: Visit, person: Person) -> None:
    workflow = made(person)
    window = await visit()
    page = await person.sign_in(window, f"/workflows/{workflow}/edit")
    await at_end_of(page, "first")
    await page.keyboard.type(" # mine")
    await expect(page.get_by_text("Unsaved changes")).to_be_visible()
    await window.context.request.get(f"{window.site}/user/signout")
    await page.keyboard.press("Control+s")
    await page.get_by_label("Email").fill(person.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("Unsaved changes")).to_be_visible()
    await expect(code(page)).to_contain_text("# mine")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("Version 2, saved")).to_be_visible()


async def test_what_was_filled_in_to_start_it_is_there_again_after_a_session_that_ended(
    visit: Visit, person: Person
) -> None:
    workflow = made(person)
    window = await visit()
    page = await person.sign_in(window, f"/workflows/{workflow}/runs")

    async def too_late(route: Route) -> None:
        await window.context.request.get(f"{window.site}/user/signout")
        await route.continue_()

    await page.route("**/trigger", too_late, times=1)
    await page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog", name="Trigger Greet")
    await dialog.get_by_label("Input").fill('{"order": 4711}')
    await dialog.get_by_role("button", name="Start").click()
    await page.get_by_label("Email").fill(person.email)
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await expect(dialog.get_by_label("Input")).to_have_value('{"order": 4711}')
    await dialog.get_by_role("button", name="Start").click()
    await expect(page).to_have_url(re.compile("/executions/[0-9a-f-]{36}"))
    started = person.http.get("/api/v1" + urlsplit(page.url).path)
    assert started.json()["trigger_data"] == {"order": 4711}


async def test_who_saves_second_sees_what_the_first_changed_and_chooses(visit: Visit, person: Person) -> None:
    workflow = made(person)
    page = await person.sign_in(await visit(), f"/workflows/{workflow}/edit")
    await at_end_of(page, "first")
    await page.keyboard.type(" # mine")
    theirs = DEFINITION.replace("n: 2", "n: 20")
    person.http.put(f"/api/v1/workflows/{workflow}", json={"config_yaml": theirs}).raise_for_status()
    await page.get_by_role("button", name="Save", exact=True).click()
    dialog = page.get_by_role("dialog", name="Somebody saved before you")
    await expect(dialog).to_contain_text("n: 20")
    await expect(dialog).to_contain_text("# mine")
    assert person.http.get(f"/api/v1/workflows/{workflow}").json()["config_yaml"] == theirs
    await dialog.get_by_role("button", name="Save mine as version 3").click()
    await expect(page.get_by_text("Version 3, saved")).to_be_visible()
    # Theirs is not lost.
    await page.get_by_role("link", name="Versions").click()
    await page.get_by_role("list", name="Versions").get_by_role("link", name="Version 2").click()
    await page.get_by_role("button", name="Restore version 2").click()
    await page.get_by_role("button", name="Save as version 4").click()
    await expect(page.get_by_role("heading", name="Version 4")).to_be_visible()
    assert person.http.get(f"/api/v1/workflows/{workflow}").json()["config_yaml"] == theirs


async def test_a_link_is_added_and_somebody_gets_a_role_here(visit: Visit, person: Person, site: str) -> None:
    project = person.project()[1]["id"]
    source, target = made(person, project, "Orders in"), made(person, project, "Parcel out")
    guest = Person(site, "Grace Hopper")
    window = await visit()
    page = await person.sign_in(window, f"/workflows/{source}/links")
    await page.get_by_role("button", name="Add link").click()
    await page.get_by_label("Which workflow is started?").fill("parcel")
    await page.get_by_role("radio", name="Parcel out").check()
    await page.get_by_label("When?").select_option("failed")
    await page.get_by_role("dialog").get_by_role("button", name="Add link").click()
    row = page.get_by_role("table", name="Links").get_by_role("row", name=re.compile("Parcel out"))
    await expect(row).to_contain_text("When it fails")
    await page.get_by_role("link", name="Permissions").click()
    await page.get_by_role("button", name="Give a role here").click()
    await page.get_by_label("Email").fill(guest.email)
    await page.get_by_label("Role for this workflow").select_option("viewer")
    await page.get_by_role("button", name="Give role").click()
    await expect(page.get_by_role("table", name="People")).to_contain_text("this workflow: viewer")
    # Who may only look is offered nothing else.
    theirs = await guest.sign_in(await visit(), f"/workflows/{source}")
    await expect(theirs.get_by_role("heading", name="Orders in", level=1)).to_be_visible()
    await theirs.get_by_role("link", name="Editor", exact=True).click()
    await expect(theirs.get_by_text("You may look, not change.")).to_be_visible()
    for name in ("Trigger", "Deploy", "Save"):
        await expect(theirs.get_by_role("button", name=name)).to_have_count(0)
    assert guest.http.get(f"/api/v1/workflows/{target}").status_code == 403
    guest.http.close()


async def test_a_workflow_is_deleted_only_by_its_name(visit: Visit, person: Person) -> None:
    workflow = made(person)
    page = await person.sign_in(await visit(viewport=PHONE), f"/workflows/{workflow}/settings")
    tabs = page.get_by_role("navigation", name="Parts of the workflow")
    # The last of nine tabs, which a phone has no room for.
    await expect(tabs.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=0.9)
    await page.get_by_role("button", name="Delete workflow").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("button", name="Delete workflow")).to_be_disabled()
    await dialog.get_by_label("Type Greet to confirm").fill("Greet")
    await dialog.get_by_role("button", name="Delete workflow").click()
    await expect(page.get_by_role("heading", name="No workflows yet")).to_be_visible()
    assert person.http.get(f"/api/v1/workflows/{workflow}").status_code == 404
