"""`penstock doctor` on the database, the clock and the server's secret: a good and a bad case of each."""

import collections
import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import asyncpg
import pytest

from penstock.cli import doctor_storage
from penstock.cli.findings import Check, Finding
from penstock.settings import Loaded
from penstock.storage import open_database
from penstock.storage.secret import server_secret

pytestmark = pytest.mark.anyio
Load = Callable[..., Loaded]
Disk = collections.namedtuple("Disk", "total used free")


async def findings(check: Check, loaded: Loaded) -> list[Finding]:
    return [finding async for finding in check(loaded)]


def system(access: Callable[..., bool]) -> Any:
    """For the check alone: others in this process ask the real one."""
    return SimpleNamespace(access=access, R_OK=os.R_OK, W_OK=os.W_OK)


def worst(found: list[Finding]) -> str:
    return max((finding.level for finding in found), key=["ok", "warn", "fail"].index)


@pytest.fixture
async def file(tmp_path: Path) -> Path:
    """The file of a database that a server has used."""
    opened = await open_database(f"sqlite:///{tmp_path}/penstock.db")
    await server_secret(opened, "")
    await opened.close()
    return tmp_path / "penstock.db"


class TestSqlite:
    async def test_all_is_well(self, file: Path, loaded: Load) -> None:
        found = await findings(doctor_storage.database, loaded())
        assert worst(found) == "ok"
        assert "tables are current" in found[-1].says
        assert any("write-ahead log is on" in finding.says for finding in found)

    async def test_no_file_yet(self, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.database, loaded())
        assert (found.level, "does not exist yet" in found.says) == ("warn", True)

    async def test_nowhere_to_put_it(self, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_storage, "os", system(lambda *_: False))
        (found,) = await findings(doctor_storage.database, loaded())
        assert (found.level, "cannot be made" in found.says) == ("fail", True)

    async def test_others_can_open_it(self, file: Path, loaded: Load) -> None:
        file.chmod(0o644)
        found = await findings(doctor_storage.database, loaded())
        assert worst(found) == "fail"
        assert "chmod 600" in found[0].todo

    async def test_no_right_to_write(self, file: Path, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_storage, "os", system(lambda path, _: Path(path) != file))
        found = await findings(doctor_storage.database, loaded())
        assert (found[0].level, "no right to write" in found[0].says) == ("fail", True)

    @pytest.mark.parametrize(("free", "level"), [(10, "fail"), (500, "warn"), (5000, "ok")])
    async def test_room_on_its_disk(
        self, free: int, level: str, file: Path, loaded: Load, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        disk = SimpleNamespace(disk_usage=lambda _: Disk(0, 0, free * doctor_storage.MIB))
        monkeypatch.setattr(doctor_storage, "shutil", disk)
        found = await findings(doctor_storage.database, loaded())
        assert [finding.level for finding in found if "free on its disk" in finding.says] == [level]

    async def test_not_in_wal_mode(self, file: Path, loaded: Load) -> None:
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        found = await findings(doctor_storage.database, loaded())
        assert [finding.says for finding in found if finding.level == "warn"] == ["journal mode is delete"]

    async def test_not_a_database(self, file: Path, loaded: Load) -> None:
        file.write_bytes(b"not a database at all" * 100)
        found = await findings(doctor_storage.database, loaded())
        assert (found[-1].level, "cannot be read" in found[-1].says) == ("fail", True)

    async def test_an_address_that_means_nothing(self, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.database, loaded(database="mysql://ada:hush@h/x"))
        assert found.level == "fail"
        assert "hush" not in found.says


@pytest.mark.parametrize(("revision", "level"), [("0000", "fail"), ("9999", "fail")])
async def test_a_revision_that_this_version_does_not_know(revision: str, level: str, file: Path, loaded: Load) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (revision,))
    found = await findings(doctor_storage.database, loaded())
    assert found[-1].level == level
    assert "newer Penstock" in found[-1].says


async def test_a_database_without_tables_is_said_to_have_none(file: Path, loaded: Load) -> None:
    file.unlink()
    file.touch(mode=0o600)
    found = await findings(doctor_storage.database, loaded())
    assert (found[-1].level, found[-1].says) == ("warn", "has no tables yet")


class TestPostgresql:
    async def test_all_is_well(self, postgresql_url: str, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_storage, "_SLOW", 60)  # a machine with more to do than cores is no far one
        await (await open_database(postgresql_url)).close()
        found = await findings(doctor_storage.database, loaded(database=postgresql_url))
        assert worst(found) == "ok"
        told = " ".join(finding.says for finding in found)
        for part in ("PostgreSQL ", "round trip", "connections in use", "tables are current"):
            assert part in told

    async def test_no_tables_yet(self, postgresql_url: str, loaded: Load) -> None:
        found = await findings(doctor_storage.database, loaded(database=postgresql_url))
        assert (found[-1].level, found[-1].says) == ("warn", "has no tables yet")

    async def test_out_of_reach(self, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.database, loaded(database="postgresql://ada:hush@127.0.0.1:1/x"))
        assert found.level == "fail"
        assert "hush" not in found.says

    async def test_no_such_database(self, postgresql_server: str, loaded: Load) -> None:
        url = postgresql_server.replace("/postgres?", "/nowhere?")
        (found,) = await findings(doctor_storage.database, loaded(database=url))
        assert (found.level, "nowhere" in found.says) == ("fail", True)

    async def test_more_connections_wanted_than_there_are(self, postgresql_url: str, loaded: Load) -> None:
        found = await findings(doctor_storage.database, loaded(database=postgresql_url, database_pool=1000))
        assert any(finding.level == "warn" and "database_pool" in finding.todo for finding in found)

    async def test_far_away(self, postgresql_url: str, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_storage, "_SLOW", 0.0)
        found = await findings(doctor_storage.database, loaded(database=postgresql_url))
        assert any(finding.level == "warn" and "nearer" in finding.todo for finding in found)

    async def test_too_old(self, postgresql_url: str, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(doctor_storage, "_OLDEST_POSTGRESQL", 99)
        found = await findings(doctor_storage.database, loaded(database=postgresql_url))
        assert (found[0].level, "99 or newer" in found[0].todo) == ("fail", True)

    async def test_another_encoding(self, postgresql_server: str, loaded: Load) -> None:
        admin = await asyncpg.connect(postgresql_server)
        await admin.execute("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0 LOCALE 'C'")
        try:
            url = postgresql_server.replace("/postgres?", "/ascii?")
            found = await findings(doctor_storage.database, loaded(database=url))
        finally:
            await admin.execute("DROP DATABASE ascii WITH (FORCE)")
            await admin.close()
        assert (found[-1].level, "SQL_ASCII" in found[-1].says) == ("fail", True)


class TestClock:
    async def test_agrees_with_the_database(self, file: Path, postgresql_url: str, loaded: Load) -> None:
        assert worst(await findings(doctor_storage.clock, loaded())) == "ok"
        assert worst(await findings(doctor_storage.clock, loaded(database=postgresql_url))) == "ok"

    async def test_behind_what_was_written_already(self, file: Path, loaded: Load) -> None:
        later = (time.time_ns() // 1000) + 3600 * 1_000_000
        with closing(sqlite3.connect(file)) as connection, connection:
            columns = "id, email, email_verified, settings, display_name, avatar_url, active, created_at, updated_at"
            connection.execute(
                f"INSERT INTO accounts ({columns}) VALUES ('x', 'a@b.c', 0, '', '', '', 1, ?, 0)", (later,)
            )
        (found,) = await findings(doctor_storage.clock, loaded())
        assert (found.level, "behind" in found.says) == ("fail", True)

    @pytest.mark.parametrize(
        ("skew", "level"), [(0.5, "ok"), (-10, "warn"), (10, "warn"), (-100, "fail"), (100, "fail")]
    )
    def test_how_far_is_too_far(self, skew: float, level: str) -> None:
        assert doctor_storage.skewed(skew).level == level

    async def test_a_year_that_cannot_be(self, loaded: Load, monkeypatch: pytest.MonkeyPatch) -> None:
        clock = SimpleNamespace(gmtime=lambda: time.struct_time((1970, 1, 1, 0, 0, 0, 0, 1, 0)))
        monkeypatch.setattr(doctor_storage, "time", clock)
        (found,) = await findings(doctor_storage.clock, loaded())
        assert (found.level, "1970" in found.says) == ("fail", True)


class TestSecret:
    async def test_configured(self, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.secret, loaded(jwt_secret="x" * 32))
        assert (found.level, found.says) == ("ok", "jwt_secret is configured")

    async def test_not_made_yet(self, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.secret, loaded())
        assert (found.level, "will be made" in found.says) == ("ok", True)

    async def test_kept_for_its_owner(self, file: Path, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.secret, loaded())
        assert (found.level, "for its owner only" in found.says) == ("ok", True)

    @pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
    async def test_others_can_read_it(self, mode: int, file: Path, loaded: Load) -> None:
        file.with_name("penstock.db.secret").chmod(mode)
        (found,) = await findings(doctor_storage.secret, loaded())
        assert (found.level, "chmod 600" in found.todo) == ("fail", True)

    async def test_too_short(self, file: Path, loaded: Load) -> None:
        file.with_name("penstock.db.secret").write_text("short")
        (found,) = await findings(doctor_storage.secret, loaded())
        assert (found.level, "32 bytes" in found.says) == ("fail", True)

    async def test_in_postgresql(self, loaded: Load) -> None:
        (found,) = await findings(doctor_storage.secret, loaded(database="postgresql://h/x"))
        assert (found.level, "in PostgreSQL" in found.says) == ("ok", True)
