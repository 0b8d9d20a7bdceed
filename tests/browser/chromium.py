"""A real Chromium: where it is, and how it is started so that it asks nothing of anybody but our server."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, ViewportSize, async_playwright

_PLACES = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DESK = ViewportSize(width=1280, height=800)
PHONE = ViewportSize(width=390, height=844)


def found() -> str | None:
    """`CHROMIUM`, or where distributions put it. `make test` installs it where it may."""
    places = (os.environ.get("CHROMIUM", ""), *_PLACES)
    return next((place for place in places if place and Path(place).is_file()), None)


@asynccontextmanager
async def running() -> AsyncIterator[Browser]:
    path = found()
    assert path is not None
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


class Window:
    """A visitor: cookies of their own, any number of tabs. Whatever the page complains about is remembered."""

    def __init__(self, context: BrowserContext, site: str) -> None:
        self.context = context
        self.site = site
        self.complaints: list[str] = []
        self.foreign: list[str] = []

    async def tab(self, path: str = "/") -> Page:
        page = await self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("request", lambda request: self._asked(request.url))
        await page.goto(self.site + path)
        return page

    def _heard(self, kind: str, text: str) -> None:
        # A refused request is said on the console as well; that the server refuses is often what a test wants.
        if kind == "error" and "Failed to load resource" not in text:
            self.complaints.append(text)

    def _asked(self, url: str) -> None:
        if not url.startswith((self.site, "data:", "blob:")):
            self.foreign.append(url)
