"""Every page, light and dark: axe finds nothing, and with SCREENSHOTS=folder each is photographed."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Page, expect

from tests.browser.chromium import DESK, PHONE, Window
from tests.browser.conftest import Person, Visit, settled
from tests.browser.screens import SIGNED_IN, STRANGER, Address, Scene, furnish

pytestmark = pytest.mark.anyio

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_OF_COLOURS = ["color-contrast", "link-in-text-block"]
_EVERYTHING: dict[str, Any] = {"runOnly": _TAGS}
# In the dark, a page is the same but for its colours. They take most of axe's time: on a phone, what is seen at a desk
# as well has the same ones.
_COLOURS: dict[str, Any] = {"runOnly": {"type": "rule", "values": _OF_COLOURS}}
_PLACES = _EVERYTHING | {"rules": {name: {"enabled": False} for name in _OF_COLOURS}}
_PARTS = 4  # all pages in one test would take a slow machine longer than one that hangs is given


class Examiner:
    """Looks at pages with axe, and photographs them."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.site = site
        self.found: dict[str, list[str]] = {}

    async def look_at_all(self, pages: dict[str, Address], scene: Scene) -> None:
        for name, address in pages.items():
            await self.page.goto(self.site + address(scene))
            # The frame around the pages is not the same on a phone: its colours are looked at once.
            await self.look(name, phone=_EVERYTHING if name in {"sign-in", "home"} else _PLACES)

    async def look(self, name: str, *, phone: dict[str, Any] | None = _PLACES) -> None:
        """At a desk, light and dark, and on a phone."""
        await self._examine(f"{name}-light", _EVERYTHING)
        await self._turn("dark")
        await self._examine(f"{name}-dark", _COLOURS)
        await self._turn("light")
        if phone is not None:
            await self.page.set_viewport_size(PHONE)
            await self._examine(f"{name}-light-phone", phone)
            await self.page.set_viewport_size(DESK)

    async def _turn(self, scheme: Literal["light", "dark"]) -> None:
        """Without loading anew; colours may pass into each other."""
        await self.page.emulate_media(color_scheme=scheme)
        await self.page.evaluate(
            "Promise.allSettled(document.getAnimations()"
            ".filter(one => one instanceof CSSTransition).map(one => one.finished)).then(() => null)"
        )

    async def _examine(self, name: str, rules: dict[str, Any]) -> None:
        await settled(self.page)
        if folder := os.environ.get("SCREENSHOTS"):
            await self.page.screenshot(path=Path(folder) / f"{name}.png")
        violations: list[dict[str, Any]] = await self.page.evaluate(
            "options => axe.run(options).then(found => found.violations)", rules | {"resultTypes": ["violations"]}
        )
        problems = [
            f"{one['id']}: {one['help']}: {node['html'][:160]}: {node['failureSummary'][:200]}"
            for one in violations
            for node in one["nodes"]
        ]
        if problems:
            self.found[name] = problems


Furnished = tuple[Person, Scene]


@pytest.fixture(scope="module")
def furnished(site: str) -> Iterator[Furnished]:
    """Somebody, and the company in which they are at work."""
    person = Person(site)
    yield person, furnish(person)
    person.http.close()


async def stranger(window: Window) -> Examiner:
    """Axe comes into each page as it is loaded, past the policy, which rightly lets no such script in."""
    await window.context.add_init_script(path=AXE)
    return Examiner(await window.tab("/sign-in"), window.site)


async def at_work(window: Window, furnished: Furnished) -> Examiner:
    """Signed in, and in a project, as the frame says on every page from then on."""
    person, scene = furnished
    await window.context.add_init_script(path=AXE)
    page = await person.sign_in(window, f"/projects/{scene.project}")
    await expect(page.get_by_role("button", name="Orders Northwind")).to_be_visible()
    return Examiner(page, window.site)


async def test_axe_finds_nothing_where_strangers_come(visit: Visit, furnished: Furnished) -> None:
    examiner = await stranger(await visit())
    await examiner.look_at_all(STRANGER, furnished[1])
    assert examiner.found == {}


@pytest.mark.parametrize("part", range(_PARTS))
async def test_axe_finds_nothing_on_any_page(visit: Visit, furnished: Furnished, part: int) -> None:
    examiner = await at_work(await visit(), furnished)
    await examiner.look_at_all(dict(list(SIGNED_IN.items())[part::_PARTS]), furnished[1])
    assert examiner.found == {}


async def test_axe_finds_nothing_in_what_opens_over_a_page(visit: Visit, furnished: Furnished) -> None:
    examiner = await at_work(await visit(), furnished)
    page = examiner.page
    await page.goto(examiner.site)
    for name, button, entry in (
        ("switcher", "Orders Northwind", page.get_by_role("menuitem", name="Reports")),
        ("you", "You: Ada Lovelace", page.get_by_role("menuitem", name="Sign out")),
        ("search", "Search /", page.get_by_role("option").first),
    ):
        await settled(page)
        await page.get_by_role("button", name=button).click()
        await expect(entry).to_be_visible()
        await examiner.look(name, phone=None)
        await page.keyboard.press("Escape")
    assert examiner.found == {}


async def test_axe_would_find_what_is_spoiled(visit: Visit) -> None:
    """In both themes, and on a phone: else the test above could not fail."""
    examiner = await stranger(await visit())
    await settled(examiner.page)
    await examiner.page.evaluate("""() => {
        const main = document.querySelector("main");
        main.insertAdjacentHTML("beforeend", "<p id=spoiled>Hard to read</p><img src='data:,'>");
        document.getElementById("spoiled").style.color = "light-dark(#fafafa, #111)";
    }""")
    await examiner.look("spoiled")
    rules = {name: {problem.split(":")[0] for problem in problems} for name, problems in examiner.found.items()}
    assert rules == {
        "spoiled-light": {"color-contrast", "image-alt"},
        "spoiled-dark": {"color-contrast"},
        "spoiled-light-phone": {"image-alt"},
    }
