"""Through somebody else's door: a social provider and a company's identity provider, neither of which we wrote."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import expect

from tests.acceptance.server import PATIENCE, Server
from tests.accounts.social_site import SECRET
from tests.browser.chromium import Window
from tests.browser.conftest import Visit, announced
from tests.node_peers import running
from tests.ports import free_port

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Iterator[str]:
    """A server whose people come from elsewhere. The providers know its address before it starts."""
    folder, port = tmp_path_factory.mktemp("site"), free_port()
    url = f"http://127.0.0.1:{port}"
    shutil.copy(migrated_file, folder / "penstock.db")
    with running("oidc.mjs", f"{url}/user/oauth/callback/workshop") as oidc, running("saml-idp.mjs") as saml:
        (folder / "idp.xml").write_text(httpx.get(saml["metadata_url"]).text)
        (folder / "penstock.toml").write_text(f"""
[oauth_providers.workshop]
kind = "oidc"
issuer = "{oidc["lavish"]}"
client_id = "penstock"
client_secret = "{SECRET}"
[[saml_providers]]
metadata = "{folder}/idp.xml"
domains = ["example.org"]
""")
        server = Server(folder, f"sqlite:///{folder}/penstock.db", port=str(port))
        try:
            assert announced(server) == url
            httpx.put(saml["sp_url"], content=httpx.get(f"{url}/user/saml/metadata").content).raise_for_status()
            yield url
        finally:
            server.process.terminate()
            server.process.wait(PATIENCE)


def at_the_provider(window: Window) -> None:
    """What was asked of other sites was the visit to the provider, page by page, and nothing of our own pages."""
    assert window.foreign
    window.foreign.clear()


async def test_a_social_button_leads_to_the_provider_and_back_to_where_one_was_going(visit: Visit) -> None:
    window = await visit()
    page = await window.tab("/system")
    await page.get_by_role("link", name="Continue with Workshop").click()
    await page.locator('input[name="login"]').fill("grace")
    await page.locator('input[name="password"]').fill("any")
    await page.locator('[type="submit"]').click()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("button", name="You: Name of grace")).to_be_visible()
    await expect(page).to_have_url(f"{window.site}/system")
    at_the_provider(window)


async def test_typing_the_email_is_enough_to_land_at_the_companys_provider(visit: Visit) -> None:
    window = await visit()
    page = await window.tab("/me")
    await page.get_by_label("Email").fill("ann@example.org")
    await expect(page.get_by_label("Password")).to_have_count(0)
    await page.get_by_role("link", name=re.compile("Continue with")).first.click()
    await expect(page.get_by_role("button", name="You: ann@example.org")).to_be_visible()
    await expect(page).to_have_url(f"{window.site}/me")
    at_the_provider(window)
