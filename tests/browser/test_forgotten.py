"""A forgotten password, from the link on the sign-in page through a real mail to a new one."""

import re
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.acceptance.server import running
from tests.accounts.mail_server import MailServer, mail_server
from tests.browser.conftest import Person, Visit

pytestmark = pytest.mark.anyio

NEW = "a better password"


@pytest.fixture
async def mail() -> AsyncIterator[MailServer]:
    async with mail_server() as server:
        yield server


@pytest.fixture
async def site(tmp_path: Path, migrated_file: Path, mail: MailServer) -> AsyncIterator[str]:
    shutil.copy(migrated_file, tmp_path / "penstock.db")
    async with running(tmp_path, f"sqlite:///{tmp_path}/penstock.db", smtp_server=mail.address) as server:
        yield await server.url()


async def test_the_link_in_the_mail_leads_to_a_new_password(visit: Visit, person: Person, mail: MailServer) -> None:
    person.project()
    window = await visit()
    page = await window.tab("/sign-in")
    await page.get_by_role("link", name="Forgot your password?").click()
    # The page that is left has such a field, too.
    await expect(page.get_by_role("heading", name="Forgot your password?")).to_be_visible()
    await page.get_by_label("Email").fill(person.email)
    await page.get_by_role("button", name="Send the link").click()
    await expect(page.get_by_text("a mail is on its way")).to_be_visible()
    body = (await mail.next()).get_content()
    link = re.search(r"https?://\S+/reset\?token=\S+", body)
    assert link is not None, body

    await page.goto(link[0])
    # Nobody who looks over the shoulder, or into the history, finds the token.
    await expect(page).to_have_url(f"{window.site}/reset")
    await page.get_by_label("New password").fill(NEW)
    await page.get_by_label("Once more").fill("another one")
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_role("alert")).to_contain_text("The two passwords differ")
    await page.get_by_label("Once more").fill(NEW)
    await page.get_by_role("button", name="Change password").click()
    await expect(page.get_by_role("heading", name="Hello, Ada")).to_be_visible()

    again = await (await visit()).tab(link[0].removeprefix(window.site))
    await again.get_by_label("New password").fill(NEW)
    await again.get_by_label("Once more").fill(NEW)
    await again.get_by_role("button", name="Change password").click()
    await expect(again.get_by_role("link", name="Ask for a new link")).to_be_visible()
