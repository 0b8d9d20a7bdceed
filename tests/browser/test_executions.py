"""An execution while it runs, when the server goes and comes back, and after it has ended."""

import json
import re
import shutil
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, expect

from tests.acceptance.server import PATIENCE, Server
from tests.browser.chromium import DESK, Window
from tests.browser.conftest import Person, Visit, other_build
from tests.ports import free_port

pytestmark = pytest.mark.anyio

_HEAD = "document: {{dsl: '1.0.3', namespace: shop, name: {}, version: '1.0.0'}}\n"
_ROUNDS = 40
# Runs until somebody says so, and does something all the while.
SLOW = (
    _HEAD.format("slow")
    + f"""
do:
  - both:
      fork:
        branches:
          - rows:
              for: {{each: row, in: '[range({_ROUNDS})]'}}
              do:
                - read: {{wait: {{milliseconds: 200}}}}
                - store: {{set: '${{ {{row: $row}} }}'}}
          - released: {{listen: {{to: {{one: {{with: {{type: shop.released}}}}}}}}}}
"""
)
WAITING = (
    _HEAD.format("waiting")
    + """
do:
  - first: {set: {a: 1}}
  - long: {wait: {hours: 1}}
"""
)
FAILING = (
    _HEAD.format("failing")
    + """
do:
  - prepare: {set: {amount: 12}}
  - pay:
      do:
        - bank:
            raise:
              error: {type: 'https://serverlessworkflow.io/spec/1.0.0/errors/communication', status: 503,
                      title: The bank does not answer, detail: It was asked three times.}
"""
)
MANY = (
    _HEAD.format("many")
    + """
do:
  - rows:
      for: {each: row, in: '[range(5000)]'}
      do:
        - store: {set: '${ {row: $row} }'}
        - check: {set: '${ {ok: true} }'}
  - last: {set: {done: true}}
"""
)


def run(person: Person, definition: str) -> dict[str, str]:
    """Somebody's workflow, triggered: the execution."""
    _, project = person.project()
    workflow = person.post(f"/projects/{project['id']}/workflows", {"name": "Nightly", "config_yaml": definition})
    return person.post(f"/workflows/{workflow['id']}/trigger", {}) | {"project_id": project["id"]}


def ended(person: Person, execution: dict[str, str]) -> dict[str, Any]:
    ends = time.monotonic() + 5 * PATIENCE  # ten thousand steps, on a machine that has other things to do
    while (found := person.http.get(f"/api/v1/executions/{execution['id']}").json())["completed_at"] is None:
        assert time.monotonic() < ends, found
        time.sleep(0.05)
    return dict(found)


class Lasting:
    """A server that comes back at the same address, as a real one does."""

    def __init__(self, folder: Path) -> None:
        self._port = free_port()
        self._folder = folder
        other_build(folder)
        self.server = self._start()

    def _start(self) -> Server:
        database = f"sqlite:///{self._folder}/penstock.db"
        return Server(self._folder, database, port=str(self._port), auth_rate_limit="1000")

    async def back(self) -> str:
        self.server = self._start()
        return await self.server.url()


@pytest.fixture
async def lasting(tmp_path: Path, migrated_file: Path) -> AsyncIterator[Lasting]:
    shutil.copy(migrated_file, tmp_path / "penstock.db")
    made = Lasting(tmp_path)
    await made.server.url()
    yield made
    if made.server.process.poll() is None:
        await made.server.kill()


async def test_a_server_that_restarts_during_a_run_loses_nothing_of_the_view(
    browser: Browser, lasting: Lasting
) -> None:
    site = await lasting.server.url()
    person = Person(site)
    execution = run(person, SLOW)
    context = await browser.new_context(viewport=DESK, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    window = Window(context, site)
    page = await person.sign_in(window, f"/executions/{execution['id']}/logs")
    facts = page.get_by_role("main").get_by_role("status")
    lines = page.get_by_role("region", name="Log lines")
    await expect(facts.filter(has_text="Live").first).to_be_visible()
    await expect(lines.get_by_text("store completed").first).to_be_visible()

    await lasting.server.stop()
    await expect(facts.filter(has_text="Reconnecting…").first).to_be_visible()
    await lasting.back()
    await expect(facts.filter(has_text="Live").first).to_be_visible()
    event = {"specversion": "1.0", "id": "1", "source": "/shop", "type": "shop.released"}
    headers = {"content-type": "application/cloudevents+json"}
    path = f"/api/v1/projects/{execution['project_id']}/events"
    person.http.post(path, content=json.dumps(event), headers=headers).raise_for_status()
    assert ended(person, execution)["status"] == "completed"
    await expect(page.get_by_text("Completed", exact=True)).to_be_visible()
    await expect(lines.get_by_text("execution completed")).to_be_visible()

    logs = person.http.get(f"/api/v1/workflows/{execution['workflow_id']}/logs").json()["total"]
    assert logs > _ROUNDS * 2
    await expect(lines.get_by_role("listitem").last).to_have_attribute("aria-posinset", str(logs))
    await page.get_by_role("link", name="Timeline").click()
    steps = person.http.get(f"/api/v1/executions/{execution['id']}/steps").json()["total"]
    last = page.get_by_role("listbox", name="Steps in time").get_by_role("option").first
    await expect(last).to_have_attribute("aria-setsize", str(steps))
    assert window.complaints == []
    await context.close()
    person.http.close()


async def test_a_failure_leads_to_its_step_and_from_there_it_runs_again(visit: Visit, person: Person) -> None:
    execution = run(person, FAILING)
    ended(person, execution)
    page = await person.sign_in(await visit(), f"/executions/{execution['id']}")
    trouble = page.get_by_role("region", name="Why it failed")
    await expect(trouble).to_contain_text("The bank does not answer")
    await trouble.get_by_role("link", name="bank").click()
    step = page.get_by_role("complementary", name="Step bank")
    await expect(step).to_contain_text("It was asked three times.")
    await expect(step.get_by_role("region", name="input")).to_contain_text("amount: 12")
    await step.get_by_role("button", name="Run again from here").click()
    await expect(page).not_to_have_url(re.compile(execution["id"]))
    await expect(page.get_by_text("again, as")).to_be_visible()
    await page.get_by_role("link", name="Relatives").click()
    await page.get_by_role("table", name="Where it comes from").get_by_role("link").click()
    await expect(page).to_have_url(re.compile(execution["id"]))


async def test_an_execution_is_paused_resumed_and_cancelled_and_others_see_it(
    visit: Visit, person: Person, site: str
) -> None:
    execution = run(person, WAITING)
    viewer = Person(site, "Vera Rubin")
    person.post(f"/projects/{execution['project_id']}/members", {"email": viewer.email, "role": "viewer"})
    page = await person.sign_in(await visit(), f"/executions/{execution['id']}/timeline")
    seen = await viewer.sign_in(await visit(), f"/executions/{execution['id']}/timeline")
    viewer.http.close()
    await expect(page.get_by_role("option", name="long, wait, running")).to_be_visible()
    await expect(seen.get_by_role("option", name="long, wait, running")).to_be_visible()
    await expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    await expect(seen.get_by_role("button", name="Cancel")).to_have_count(0)
    await page.get_by_role("button", name="Pause").click()
    await expect(page.get_by_text("Paused", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Resume").click()
    await expect(page.get_by_text("Running", exact=True)).to_be_visible()
    await page.get_by_role("button", name="Cancel").click()
    await page.get_by_role("button", name="Cancel execution").click()
    await expect(page.get_by_role("option", name="long, wait, cancelled")).to_be_visible()
    await expect(page.get_by_role("button", name="Run again")).to_be_visible()
    await expect(seen.get_by_role("option", name="long, wait, cancelled")).to_be_visible()
    assert ended(person, execution)["status"] == "cancelled"


async def test_ten_thousand_steps_and_lines_draw_only_what_is_in_sight(visit: Visit, person: Person) -> None:
    execution = run(person, MANY)
    ended(person, execution)
    page = await person.sign_in(await visit(), f"/executions/{execution['id']}/timeline")
    steps = page.get_by_role("listbox", name="Steps in time")
    await expect(steps.get_by_role("option").first).to_have_attribute(
        "aria-setsize", "10002", timeout=5 * PATIENCE * 1000
    )
    await steps.press("End")
    await expect(steps.get_by_role("option", name="last, set, completed")).to_be_visible()
    await expect(page.get_by_role("complementary", name="Step last")).to_contain_text("done: true")
    assert await steps.get_by_role("option").count() < 100
    await page.get_by_role("link", name="Logs").click()
    lines = page.get_by_role("region", name="Log lines")
    await expect(lines.get_by_text("execution completed")).to_be_visible()
    assert await lines.get_by_role("listitem").count() < 100


async def test_logs_are_filtered_and_a_line_has_an_address(visit: Visit, person: Person) -> None:
    execution = run(person, FAILING)
    ended(person, execution)
    window = await visit()
    page = await person.sign_in(window, f"/executions/{execution['id']}/logs")
    lines = page.get_by_role("region", name="Log lines").get_by_role("listitem")
    await expect(lines.filter(has_text="prepare completed")).to_have_count(1)
    await page.get_by_label("Level").select_option("Errors only")
    await expect(lines.filter(has_text="prepare completed")).to_have_count(0)
    await page.get_by_role("searchbox", name="Search in messages").fill("bank failed")
    await expect(lines).to_have_count(1)
    await lines.get_by_role("button", name=re.compile("Line of")).click()
    await expect(page).to_have_url(re.compile(r"level=error&q=bank\+failed&line=\d+"))
    again = await window.tab(page.url.removeprefix(window.site))
    await expect(again.get_by_role("listitem").and_(again.locator("[aria-current]"))).to_contain_text("bank failed")
