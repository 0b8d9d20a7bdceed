"""Who installs the package needs no Node: the wheel brings the console and the templates, and serves them."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

from penstock.console import files
from tests.acceptance.server import running

pytestmark = pytest.mark.anyio
ROOT = Path(__file__).parents[2]
BROWSER = {"accept": "text/html", "accept-encoding": "br"}


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What an installation of the wheel puts onto Python's path."""
    if files.index() is None:
        pytest.skip("the console is not built: make console")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder / "wheel")]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    [wheel] = (folder / "wheel").iterdir()
    with zipfile.ZipFile(wheel) as held:
        held.extractall(folder / "installed")
    return folder / "installed"


async def test_the_wheel_brings_the_console_and_serves_it(unpacked: Path, migrated_file: Path) -> None:
    shutil.copy(migrated_file, unpacked / "penstock.db")
    page = unpacked / "penstock" / "console" / "static" / "index.html"
    page.write_text(page.read_text() + "<!-- from the wheel -->")
    async with running(unpacked, f"sqlite:///{unpacked}/penstock.db") as server:
        url = await server.url()
        async with httpx.AsyncClient(base_url=url, headers=BROWSER, trust_env=False) as browser:
            served = (await browser.get("/sign-in")).text
            assert served.endswith("<!-- from the wheel -->")
            wanted = re.findall(r'(?:src|href)="(/[^"]+)"', served)
            assert {Path(path).suffix for path in wanted} >= {".js", ".css"}
            for path in wanted:
                answer = await browser.get(path)
                assert answer.status_code == 200, path
                assert answer.content, path
    assert list((unpacked / "penstock" / "examples").glob("*.yaml"))


def test_every_part_of_the_console_is_in_the_wheel_small_as_it_travels(unpacked: Path) -> None:
    """Pages and the editor are loaded when needed: what one asks for later must be there, too."""
    assets = unpacked / "penstock" / "console" / "static" / "assets"
    names = {path.name for path in assets.iterdir()}
    asked = {
        name
        for path in assets.glob("*.js")
        for name in re.findall(r'["`/]([\w.-]+-[\w-]{8}\.(?:js|css))["`]', path.read_text())
    }
    assert len(asked) > 50
    assert asked <= names
    assert {f"{name}.br" for name in asked if (assets / name).stat().st_size > 5_000} <= names
