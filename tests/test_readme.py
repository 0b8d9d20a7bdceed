"""What README.md and the other pages promise is so, word for word."""

import os
import re
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.reference import PROVIDER_MEMBERS, SECTIONS, reference
from penstock.settings import OAuthProvider, Settings, load
from tests.cli.running import START_LIMIT, environment, server
from tests.conftest import client_of

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


SERVER = "http://127.0.0.1:8080"


def readme(kind: str, beginning: str = "") -> list[str]:
    """The README's blocks of this kind that begin so."""
    return re.findall(rf"```{kind}\n({beginning}.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def session(block: str) -> list[tuple[str, str]]:
    """(command, what it prints) of a console block."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command, printed.rstrip("\n")) for command, _, printed in (part.partition("\n") for part in parts)]


def run_script(script: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, env=environment() | {"PATH": path}, text=True, check=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=START_LIMIT,
    )  # fmt: skip
    return done.stdout


def require_printed(command: str, shown: str, printed: str) -> None:
    # … stands for what differs from day to day.
    pattern = re.escape(shown).replace("…", '[^"]+')
    assert re.fullmatch(pattern, printed.rstrip("\n")), (command, printed)


def test_the_first_workflow_runs_at_the_terminal_as_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(readme("yaml", "document:")[0])
    at_terminal, _ = readme("console")
    commands = session(at_terminal)
    assert len(commands) == 4
    for command, shown in commands:
        require_printed(command, shown, run_script(command, tmp_path))


def test_the_sessions_with_a_server_print_what_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / "greet.yaml").write_text(readme("yaml", "document:")[0])
    (script,) = readme("sh", "api=")
    _, with_accounts = readme("console")
    commands = session(with_accounts)
    assert len(commands) == 8
    with server(tmp_path) as serving:
        # First the one, then the other, as somebody does who reads it.
        printed = run_script(script.replace(SERVER, serving["url"]), tmp_path)
        events = re.findall(r"^event: (\S+)$", printed, re.MULTILINE)
        assert (events[0], events[-1]) == ("workflow.started", "workflow.completed")
        assert "{'greeting': 'HELLO, ADA!'}" in printed
        assert '"step_name":"shout"' in printed
        assert '"action":"project.create"' in printed
        for command, shown in commands:
            assert SERVER in command
            require_printed(command, shown, run_script(command.replace(SERVER, serving["url"]), tmp_path))


def test_the_readme_names_commands_that_make_knows() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        named = set(re.findall(r"^make ([a-z]+)|`make ([a-z]+)", page.read_text(), re.MULTILINE))
        assert {first or second for first, second in named} <= targets, page


def test_the_readme_shows_the_defaults_as_they_are() -> None:
    text = (ROOT / "README.md").read_text()
    settings = load(environ={}).settings
    assert f"`{settings.host}`, `{settings.port}`" in text
    assert f"`{settings.database.reveal()}`" in text
    assert f"`session_ttl` | `{settings.session_ttl}`" in text
    for names in re.findall(r"^\| (`[a-z_]+`(?:, `[a-z_]+`)*) \|", text, re.MULTILINE):
        for name in re.findall(r"`([a-z_]+)`", names):
            assert name in Settings.__struct_fields__


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_other_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_settings_shown_as_toml_are_settings(page: Path, tmp_path: Path) -> None:
    for number, block in enumerate(re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)):
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        load(file, environ={})


def test_the_reference_of_settings_is_current() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == reference(), "run `make docs`"


def test_the_reference_knows_every_setting_and_member() -> None:
    text = reference()
    for name in (*Settings.__struct_fields__, *OAuthProvider.__struct_fields__):
        assert f"| `{name}` |" in text
    assert set(SECTIONS) <= set(Settings.__struct_fields__)
    assert set(PROVIDER_MEMBERS) == set(OAuthProvider.__struct_fields__)


def example(*, uncommented: bool) -> str:
    text = (ROOT / "penstock.toml.example").read_text()
    return re.sub(r"^#(?=[a-z_]+ = |\[)", "", text, flags=re.MULTILINE) if uncommented else text


def test_the_example_file_sets_nothing_as_it_stands() -> None:
    assert tomllib.loads(example(uncommented=False)) == {}


def test_the_example_file_is_valid_when_it_is_uncommented(tmp_path: Path) -> None:
    file = tmp_path / "penstock.toml"
    file.write_text(example(uncommented=True))
    loaded = load(file, environ={})
    assert {name for name, source in loaded.sources.items() if source == "default"} == set()
    assert set(loaded.settings.oauth_providers) == {"google", "github", "company"}


@pytest.mark.anyio
async def test_the_mounted_application_of_the_accounts_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "accounts.md").read_text(), re.DOTALL)
    (mounted,) = [block for block in blocks if "create_accounts_app" in block]
    page: dict[str, Any] = {}
    exec(compile(mounted, "docs/accounts.md", "exec"), page)
    async with page["lifespan"](page["app"]), client_of(page["app"]) as client:
        with closing(sqlite3.connect("var/penstock.db")) as connection, connection:
            connection.execute("CREATE TABLE customers (userid INTEGER)")
        answer = await client.post("/user/create", data={"email": "ada@example.com", "password": "correct horse"})
        assert answer.status_code == 200, answer.text
        with closing(sqlite3.connect("var/penstock.db")) as connection:
            assert connection.execute("SELECT userid FROM customers").fetchall() == [(1,)]
