"""Lists that follow what happens: executions of many workflows, who started them, and workflows at a glance."""

import re

import pytest
from playwright.async_api import Page, Request, expect

from tests.browser import runs
from tests.browser.conftest import Person, Visit

pytestmark = pytest.mark.anyio
# Lists are read again by themselves every so often. Not here: what comes, came by the stream.
_BY_THE_STREAM_ALONE = """
    const interval = window.setInterval;
    window.setInterval = (act, ms, ...rest) => (ms === 30_000 ? 0 : interval(act, ms, ...rest));
"""
# How long a stream waits before its next try is left to nobody's luck: after 0.3, 0.6 and 1.2 seconds; and where it
# would wait for 2.4, it waits for ever.
_PATIENT = """
    Math.random = () => 1;
    const timeout = window.setTimeout;
    window.setTimeout = (act, ms, ...rest) => {
        if (ms !== 2_400) return timeout(act, ms, ...rest);
        window.waitsForEver = true;
        return 0;
    };
"""
GREET = """
document: {dsl: '1.0.3', namespace: shop, name: greet, version: '1.0.0'}
do:
  - hello: {set: {message: Hello}}
"""


def greet(person: Person, project: str, name: str) -> str:
    return person.post(f"/projects/{project}/workflows", {"name": name, "config_yaml": GREET})["id"]


async def test_a_run_that_a_colleague_starts_appears_in_the_open_list_with_their_name(
    visit: Visit, person: Person, site: str
) -> None:
    company, project = person.project()
    workflow = greet(person, project["id"], "Greet a customer")
    runs.failed(person, project["id"])
    grace = Person(site, "Grace Hopper")
    person.post(f"/companies/{company['id']}/members", {"email": grace.email, "role": "editor"})
    window = await visit()
    await window.context.add_init_script(_BY_THE_STREAM_ALONE)
    page = await person.sign_in(window, f"/projects/{project['id']}/executions")
    await expect(page.get_by_role("heading", name="Executions", level=1)).to_be_visible()
    table = page.get_by_role("table", name="Executions")
    await expect(table.get_by_role("row")).to_have_count(2)
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    grace.post(f"/workflows/{workflow}/trigger", {})
    row = table.get_by_role("row").filter(has_text="Greet a customer")
    await expect(row).to_contain_text("Grace Hopper")
    await expect(row).to_contain_text("Completed")
    await _narrowed(page)
    await row.get_by_role("link").first.click()
    await expect(page.get_by_role("heading", name="Greet a customer", level=1)).to_be_visible()
    await expect(page.get_by_text("on request by Grace Hopper")).to_be_visible()
    grace.http.close()


async def _narrowed(page: Page) -> None:
    """To what failed, by a link that somebody else can open; and back."""
    table = page.get_by_role("table", name="Executions")
    await page.get_by_label("Status").select_option("failed")
    await expect(table.get_by_role("row")).to_have_count(2)
    await page.get_by_label("Workflow").select_option("Charge a card")
    await expect(page).to_have_url(re.compile(r"status=failed.*workflow="))
    await page.reload()
    await expect(page.get_by_label("Status")).to_have_value("failed")
    await expect(table.get_by_role("row").filter(has_text="Charge a card")).to_contain_text("Ada Lovelace")
    await page.get_by_label("Trigger").select_option("schedule")
    await expect(page.get_by_text("Nothing fits")).to_be_visible()
    await page.get_by_role("button", name="Show all").click()
    await expect(table.get_by_role("row")).to_have_count(3)


async def test_where_there_is_no_stream_the_list_says_so_and_asks_by_itself(visit: Visit, person: Person) -> None:
    _, project = person.project()
    workflow = greet(person, project["id"], "Greet")
    window = await visit()
    await window.context.add_init_script(_PATIENT)
    await window.context.route("**/events/stream*", lambda route: route.abort())
    page = await person.sign_in(window, "/executions")
    await expect(page.get_by_text("Nothing has run yet")).to_be_visible()
    await expect(page.get_by_text("Reconnecting…")).to_be_visible()
    person.post(f"/workflows/{workflow}/trigger", {})
    row = page.get_by_role("table", name="Executions").get_by_role("row").filter(has_text="Greet")
    await expect(row).to_contain_text("Completed")
    # A try that is under way is not hurried.
    await page.wait_for_function("window.waitsForEver")
    await window.context.unroute("**/events/stream*")
    await page.get_by_role("button", name="Try now").click()
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()


async def test_the_workflows_of_a_project_and_how_they_are_doing_come_in_one_request(
    visit: Visit, person: Person
) -> None:
    _, project = person.project()
    made = [greet(person, project["id"], f"Greet {number}") for number in range(3)]
    window = await visit()
    await window.context.add_init_script(_BY_THE_STREAM_ALONE)
    page = await person.sign_in(window, "/me")
    asked: list[str] = []

    def count(request: Request) -> None:
        if "/api/v1/workflows" in request.url or "/workflows?" in request.url:
            asked.append(request.url)

    page.on("request", count)
    await page.goto(f"{window.site}/projects/{project['id']}")
    await expect(page.get_by_role("table", name="Workflows").get_by_role("row")).to_have_count(4)
    await expect(page.get_by_text("Live", exact=True)).to_be_visible()
    person.post(f"/workflows/{made[1]}/trigger", {})
    await expect(page.get_by_role("img", name="Last 1 runs: 1 completed")).to_be_visible()
    assert {url.partition("?")[0] for url in asked} == {f"{window.site}/api/v1/projects/{project['id']}/workflows"}


PARENT = """
document: {dsl: '1.0.3', namespace: shop, name: parent, version: '1.0.0'}
do:
  - released: {listen: {to: {one: {with: {type: shop.released}}}}}
  - child: {run: {workflow: {namespace: shop, name: greet, version: '1.0.0'}}}
"""


async def test_what_an_execution_starts_appears_among_its_relatives(visit: Visit, person: Person) -> None:
    _, project = person.project()
    greet(person, project["id"], "Greet")
    parent = person.post(f"/projects/{project['id']}/workflows", {"name": "Parent", "config_yaml": PARENT})
    execution = person.post(f"/workflows/{parent['id']}/trigger", {})
    window = await visit()
    await window.context.add_init_script(_BY_THE_STREAM_ALONE)
    page = await person.sign_in(window, f"/executions/{execution['id']}/relatives")
    await expect(page.get_by_text("Nothing so far")).to_be_visible()
    event = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/test", "ce-type": "shop.released"}
    answer = person.http.post(f"/api/v1/projects/{project['id']}/events", headers=event)
    assert answer.is_success, answer.text
    child = page.get_by_role("table", name="What it started").get_by_role("row").filter(has_text="Greet")
    await expect(child).to_contain_text("Completed")
