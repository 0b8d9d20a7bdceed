"""Every page, light and dark: axe finds nothing, and with SCREENSHOTS=folder each is photographed."""

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import DESK, PHONE
from tests.browser.conftest import Person, Visit
from tests.browser.screens import SIGNED_IN, STRANGER, furnish

pytestmark = pytest.mark.anyio

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


async def settled(page: Page) -> None:
    """Loaded, and nothing left that holds a place. The network may never be idle: some pages keep a stream open."""
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator("[role=status][aria-label=Loading], [class*=_bone_]")).to_have_count(0)


async def violations(page: Page) -> list[str]:
    await page.add_script_tag(path=AXE)
    found: dict[str, Any] = await page.evaluate("rules => axe.run({runOnly: rules})", _RULES)
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}: {node['failureSummary'][:200]}"
        for one in found["violations"]
        for node in one["nodes"]
    ]


async def photograph(page: Page, name: str) -> None:
    if folder := os.environ.get("SCREENSHOTS"):
        await page.screenshot(path=Path(folder) / f"{name}.png")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
async def test_axe_finds_nothing_on_any_page(visit: Visit, person: Person, dark: bool) -> None:
    scene = furnish(person)
    theme = "dark" if dark else "light"
    # Axe is a script of our own that the policy rightly keeps out; it is let in here and nowhere else.
    stranger = await visit(dark=dark, bypass_csp=True)
    known = await visit(dark=dark, bypass_csp=True)
    page = await person.sign_in(known)
    # What is dark on a phone has the colours of a desk, and the places of a phone that is light.
    sizes = [("", DESK)] if dark else [("", DESK), ("-phone", PHONE)]
    found = {}
    for window_page, pages in ((await stranger.tab("/sign-in"), STRANGER), (page, SIGNED_IN)):
        for name, address in pages.items():
            await window_page.goto(stranger.site + address(scene))
            for size, viewport in sizes:
                await window_page.set_viewport_size(viewport)
                await settled(window_page)
                await photograph(window_page, f"{name}-{theme}{size}")
                found[f"{name}{size}"] = await violations(window_page)
    await page.set_viewport_size(DESK)
    await page.goto(stranger.site)
    for name, button in (("switcher", "Orders Northwind"), ("you", "You: Ada Lovelace"), ("search", "Search /")):
        await settled(page)
        await page.get_by_role("button", name=button).click()
        await page.wait_for_load_state("networkidle")
        await photograph(page, f"{name}-{theme}")
        found[name] = await violations(page)
        await page.keyboard.press("Escape")
    assert {name: problems for name, problems in found.items() if problems} == {}
