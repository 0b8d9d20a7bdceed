"""The console's files: who gets the page, who still gets a problem, and what a browser is told about both."""

import re
from pathlib import Path

import httpx
import pytest

from penstock.console import files
from tests.conftest import Serve

pytestmark = pytest.mark.anyio

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """Nothing here asks a database."""
    return sqlite_url


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A console as the build leaves it."""
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text('<!doctype html><meta property="csp-nonce" nonce="__NONCE__">the console')
    (folder / "theme.js").write_text("1")
    (folder / "assets" / "index-AbC.js").write_text("plain")
    (folder / "assets" / "index-AbC.js.br").write_bytes(b"brotli")
    (folder / "assets" / "index-AbC.js.gz").write_bytes(b"gzip")
    monkeypatch.setattr(files, "STATIC", folder)
    return folder


@pytest.mark.parametrize("path", ["/", "/workflows/0192d3a4", "/reset?token=x", "/no/such/page"])
async def test_a_browser_gets_the_console_at_every_address_of_its_own(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "the console" in answer.text
    assert answer.headers["cache-control"] == "no-cache"


@pytest.mark.parametrize("path", ["/api/v1/nothing", "/user/nothing", "/project/x", "/docs/nothing"])
async def test_addresses_of_the_api_stay_problems_for_browsers_too(client: httpx.AsyncClient, path: str) -> None:
    answer = await client.get(path, headers=BROWSER)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_a_program_that_goes_astray_is_told_so(client: httpx.AsyncClient, method: str) -> None:
    answer = await client.request(method, "/workflows/1", headers={"accept": "application/json"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


async def test_the_policy_allows_no_inline_script_and_a_new_nonce_each_time(client: httpx.AsyncClient) -> None:
    seen = set()
    for _ in range(2):
        answer = await client.get("/", headers=BROWSER)
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'; script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        found = re.search(r"'nonce-([\w-]{20,})'", policy)
        assert found is not None
        assert f'nonce="{found[1]}"' in answer.text
        seen.add(found[1])
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert len(seen) == 2


@pytest.mark.parametrize(
    ("accepted", "encoding"), [("gzip, deflate, br", "br"), ("gzip", "gzip"), ("identity", None), ("", None)]
)
async def test_assets_come_compressed_as_the_browser_likes_and_stay_for_ever(
    client: httpx.AsyncClient, accepted: str, encoding: str | None
) -> None:
    async with client.stream("GET", "/assets/index-AbC.js", headers={"accept-encoding": accepted}) as answer:
        assert answer.status_code == 200
        assert answer.headers.get("content-encoding") == encoding
        assert answer.headers["content-type"] == "text/javascript; charset=utf-8"
        assert "immutable" in answer.headers["cache-control"]
        assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize(
    "path",
    ["/assets/gone.js", "/assets/..%2Findex.html", "/assets/index-AbC.js.br", "/.js"],
)
async def test_nothing_but_assets_is_handed_out(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_without_a_built_console_the_page_says_how_to_build_it(serve: Serve, built: Path) -> None:
    (built / "index.html").unlink()
    async with serve() as client:
        answer = await client.get("/", headers=BROWSER)
        assert answer.status_code == 200
        assert "make console" in answer.text
        assert (await client.get("/healthz")).status_code == 200
