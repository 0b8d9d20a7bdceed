"""The command line as a whole: quick, helpful, and never a traceback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import __version__
from penstock.cli.main import app
from tests.cli.running import copied, environment, penstock, refused

COMMANDS = ["serve", "config", "migrate", "doctor", "saml add", "saml list", "saml remove"]


def test_without_arguments_the_help_is_shown(tmp_path: Path) -> None:
    done = penstock(cwd=tmp_path)
    assert done.returncode == 0
    for command in ("serve", "config", "migrate", "doctor", "saml"):
        assert re.search(rf"\b{command}\b", done.stdout)


def test_the_version_is_the_packages_version(tmp_path: Path) -> None:
    assert penstock("--version", cwd=tmp_path).stdout.strip() == __version__


def test_help_loads_neither_the_web_framework_nor_the_database_layer(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "penstock", "--help"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "cyclopts" in loaded
    assert not loaded & {"litestar", "sqlalchemy", "uvicorn", "asyncpg", "lxml", "cryptography", "httpx"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        app([*command.split(), "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert f"penstock {command}" in shown.partition("Examples:")[2]
    assert "--config" in shown
    assert "--database" in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sreve"], "Did you mean"),
        (["serve", "--prot", "80"], "--prot"),
        (["serve", "--port", "http"], "http"),
        (["saml", "add"], "metadata"),
    ],
)
def test_a_mistyped_command_is_one_sentence_and_exit_code_2(arguments: list[str], problem: str, tmp_path: Path) -> None:
    done = copied(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert problem.lower() in done.stderr.lower()
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_setting_that_cannot_be_used_is_named_in_one_sentence(tmp_path: Path) -> None:
    assert refused("serve", cwd=tmp_path, port="eighty").startswith("port: ")
    assert "does not exist" in refused("migrate", "--config", "no.toml", cwd=tmp_path)
    assert "sqlite:///" in refused("migrate", "--database", "mysql://x", cwd=tmp_path)
