"""`penstock serve` says where it is, and why it cannot start."""

import socket
from pathlib import Path

import httpx
import pytest

from penstock.cli import serve
from penstock.settings import load
from tests.cli.running import copied, refused, server


def test_a_server_says_where_it_is_and_answers_there(tmp_path: Path) -> None:
    with server(tmp_path) as serving:
        assert serving["docs"] == f"{serving['url']}/docs"
        assert serving["database"] == "sqlite:///var/penstock.db"
        assert httpx.get(serving["docs"]).status_code == 200
        assert httpx.get(f"{serving['url']}/readyz").json() == {"status": "ready"}


def test_the_announcement_shows_no_password(tmp_path: Path, postgresql_url: str) -> None:
    url = postgresql_url.replace("postgresql://postgres:", "postgresql://postgres:hush", 1)
    with server(tmp_path, "--database", url) as serving:
        assert "hush" not in str(serving)
        assert "********" in serving["database"]


def test_a_port_in_use_is_said_in_one_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refused("serve", "--port", str(port), cwd=tmp_path)
    assert sentence.startswith(f"port: cannot listen on 127.0.0.1:{port} (")


def test_a_database_out_of_reach_is_said_in_one_sentence(tmp_path: Path) -> None:
    nowhere = "postgresql://ada:hush@127.0.0.1:1/x"
    for workers in ("1", "2"):
        done = copied("serve", "--port", "0", "--database", nowhere, "--workers", workers, cwd=tmp_path)
        assert done.returncode == 1
        assert "hush" not in done.stderr
        assert "Traceback" not in done.stderr
        assert done.stderr.strip().splitlines()[-1].startswith("penstock: PostgreSQL cannot be reached (")


def test_a_hook_that_cannot_be_imported_is_said_in_one_sentence(tmp_path: Path) -> None:
    sentence = refused("serve", "--port", "0", cwd=tmp_path, hooks__send_email="nowhere:send")
    assert sentence == "hooks.send_email: cannot import 'nowhere:send': No module named 'nowhere'"


def test_sqlite_has_one_process(tmp_path: Path) -> None:
    assert "more than one process needs PostgreSQL" in refused("serve", "--workers", "2", cwd=tmp_path)


class _Slow:
    """An engine that begins when it has been looked at a thousand times."""

    waits = False
    looks = 0

    @property
    def taken_up(self) -> int | None:
        self.looks += 1
        return 0 if self.looks > 1000 else None


@pytest.mark.anyio
async def test_an_engine_that_takes_its_time_is_not_said_to_wait_for_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(serve, "_LOOK_EVERY", 0)
    monkeypatch.setattr(serve, "_at_terminal", lambda _: True)
    await serve._tell_of_engine(load(environ={}).settings, _Slow())
    assert capsys.readouterr().err == "Its engine runs; no execution was left unended.\n"
