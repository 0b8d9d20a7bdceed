"""What people stored is text, whatever it looks like, and no other site shows our pages inside its own."""

import pytest
from playwright.async_api import expect

from tests.acceptance.server import until
from tests.browser.conftest import Person, Visit

pytestmark = pytest.mark.anyio

MARKUP = '<img src=x onerror="window.hit=1"><script>window.hit=1</script>'


async def test_stored_markup_is_shown_and_never_run(visit: Visit, person: Person) -> None:
    company = person.post("/companies", {"name": MARKUP})
    person.post(f"/organizations/{company['id']}/projects", {"name": MARKUP, "description": MARKUP})
    person.http.put("/api/v1/auth/me", json={"display_name": "<b>Ada</b>"}).raise_for_status()
    page = await person.sign_in(await visit())
    await expect(page.get_by_role("heading", name="Hello, <b>Ada</b>")).to_be_visible()
    await expect(page.get_by_role("heading", name=MARKUP)).to_be_visible()
    await expect(page.locator("main").get_by_role("link", name=MARKUP)).to_be_visible()
    assert await page.evaluate("window.hit") is None


async def test_the_policy_stops_a_script_that_got_in_all_the_same(visit: Visit) -> None:
    window = await visit()
    page = await window.tab("/sign-in")
    await page.evaluate("""() => {
        document.body.insertAdjacentHTML("beforeend", '<img src="data:," onerror="window.hit = 1">');
        const script = document.createElement("script");
        script.textContent = "window.hit = 1";
        document.body.append(script);
    }""")
    await page.wait_for_function("document.images.length > 0 && [...document.images].every(image => image.complete)")
    await until(lambda: len([said for said in window.complaints if "Content Security Policy" in said]) == 2)
    assert await page.evaluate("window.hit") is None
    window.complaints.clear()


async def test_no_page_is_shown_inside_another(visit: Visit, site: str) -> None:
    page = await (await visit()).context.new_page()
    async with page.expect_response(f"{site}/sign-in"):
        await page.set_content(f'<iframe src="{site}/sign-in"></iframe>')
    await page.wait_for_load_state()
    # The browser's own page in place of ours: it has loaded, and it is empty of us.
    await until(lambda: page.frames[1].url == "chrome-error://chromewebdata/")
