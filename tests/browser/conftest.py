"""A browser, and the real server in a process of its own, with the console that `make console` built."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from penstock.console import files
from tests.acceptance.server import PATIENCE, Server
from tests.browser import chromium
from tests.browser.chromium import DESK, Window

expect.set_options(timeout=PATIENCE * 1000)

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True, scope="session")
def possible() -> None:
    """Skipped, with the reason, where there is no Chromium or no console."""
    if folder := os.environ.get("CONSOLE_STATIC"):
        files.STATIC = Path(folder)
    if chromium.found() is None:
        pytest.skip("there is no Chromium: apt install chromium, or CHROMIUM=/path/to/it")
    if files.index() is None:
        pytest.skip("the console is not built: make console")


@pytest.fixture(scope="package")
def anyio_backend() -> str:
    """One loop for all tests here, so that they can share a browser: each is a visitor with a context of its own."""
    return "asyncio"


@pytest.fixture(scope="package")
async def browser(possible: None) -> AsyncIterator[Browser]:
    async with chromium.running() as opened:
        yield opened


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory, migrated_file: Path) -> Path:
    """Where the server keeps its database."""
    made = tmp_path_factory.mktemp("site")
    shutil.copy(migrated_file, made / "penstock.db")
    other_build(made)
    return made


@pytest.fixture(scope="package")
def site(folder: Path) -> Iterator[str]:
    """A server for all tests; each signs up people of its own. Who needs another one starts it."""
    server = Server(folder, f"sqlite:///{folder}/penstock.db", auth_rate_limit="1000")
    try:
        yield announced(server)
    finally:
        server.process.terminate()
        server.process.wait(PATIENCE)


def other_build(folder: Path) -> None:
    """With CONSOLE_STATIC=folder the server hands out the console that was built there (vite build --outDir)."""
    if static := os.environ.get("CONSOLE_STATIC"):
        text = f"import pathlib\n\nfrom penstock.console import files\n\nfiles.STATIC = pathlib.Path({static!r})\n"
        (folder / "sitecustomize.py").write_text(text)


def grant(folder: Path, company: str, domain: str) -> None:
    """What the server's operator does, so that a company may make accounts for emails of a domain."""
    command = [sys.executable, "-m", "penstock", "domains", "grant", company, domain]
    command += ["--database", f"sqlite:///{folder}/penstock.db"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def announced(server: Server) -> str:
    ends = time.monotonic() + PATIENCE
    while not (url := server.announced()):
        assert time.monotonic() < ends, server.log.read_text()
        time.sleep(0.02)
    return url


Visit = Callable[..., Awaitable[Window]]


@pytest.fixture
async def visit(browser: Browser, site: str) -> AsyncIterator[Visit]:
    """A visitor with no cookies: `window = await visit(viewport=PHONE, dark=True)`, then `await window.tab("/")`.

    At the end, no page may have complained, and nothing may have been asked of another site.
    """
    windows: list[Window] = []

    async def open_window(*, viewport: ViewportSize = DESK, dark: bool = False) -> Window:
        context = await browser.new_context(
            viewport=viewport,
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            locale="en-GB",
            timezone_id="UTC",
        )
        context.set_default_timeout(PATIENCE * 1000)
        windows.append(Window(context, site))
        return windows[-1]

    yield open_window
    complaints = [text for window in windows for text in window.complaints]
    foreign = [url for window in windows for url in window.foreign]
    for window in windows:
        await window.context.close()
    assert complaints == []
    assert foreign == []


async def settled(page: Page) -> None:
    """Loaded, and nothing left that holds a place. The network may never be idle: some pages keep a stream open."""
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await expect(page.locator("[role=status][aria-label=Loading], [class*=_bone_]")).to_have_count(0)


_count = iter(range(1, 1_000_000))


def new_email(name: str = "ada") -> str:
    return f"{name}{next(_count)}@example.com"


class Person:
    """Somebody with an account, made through the API: fast, for tests that are about what comes after."""

    def __init__(self, site: str, name: str = "Ada Lovelace") -> None:
        self.email = new_email(name.split(maxsplit=1)[0].lower())
        self.http = httpx.Client(base_url=site, timeout=PATIENCE)
        body = {"email": self.email, "password": PASSWORD, "display_name": name}
        tokens = self.http.post("/api/v1/auth/register", json=body).raise_for_status().json()
        self.http.headers["authorization"] = f"Bearer {tokens['access_token']}"

    def post(self, path: str, body: object) -> dict[str, str]:
        answer = self.http.post(f"/api/v1{path}", json=body)
        assert answer.is_success, answer.text
        made: dict[str, str] = answer.json()
        return made

    def project(self) -> tuple[dict[str, str], dict[str, str]]:
        """A company with a project in it."""
        company = self.post("/companies", {"name": "Acme"})
        return company, self.post(f"/organizations/{company['id']}/projects", {"name": "Orders"})

    async def sign_in(self, window: Window, path: str = "/") -> Page:
        """By the cookie, as if they had signed in before."""
        form: dict[str, str | float | bool] = {"email": self.email, "password": PASSWORD}
        answer = await window.context.request.post(f"{window.site}/user/auth", form=form)
        assert answer.ok
        return await window.tab(path)


@pytest.fixture
def person(site: str) -> Iterator[Person]:
    made = Person(site)
    yield made
    made.http.close()
