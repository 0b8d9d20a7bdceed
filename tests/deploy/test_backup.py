"""`penstock backup` and `penstock restore`: what they refuse, and what they leave behind."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from penstock.cli.backup import backup, restore
from penstock.cli.errors import CommandError
from penstock.storage import open_database
from penstock.storage.backup import BackupRefused, NewerBackup
from penstock.storage.secret import server_secret

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def made(sqlite_url: str, tmp_path: Path) -> Path:
    """A backup of a database that has a secret beside it."""
    (tmp_path / "penstock.db.secret").write_text("s" * 64)
    backup(tmp_path / "backup.db", database=sqlite_url)
    return tmp_path / "backup.db"


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_a_backup_is_one_private_file_and_is_never_written_over(
    capsys: Capture, sqlite_url: str, made: Path, tmp_path: Path
) -> None:
    assert made.stat().st_mode & 0o777 == 0o600
    assert "the server's secret is in it" in capsys.readouterr().out
    with pytest.raises(BackupRefused, match="exists already; choose another name"):
        backup(made, database=sqlite_url)
    assert names(tmp_path) == {"penstock.db", "penstock.db.secret", "backup.db"}


@pytest.mark.anyio
async def test_a_restored_database_has_its_secret_and_the_tables_that_it_had(made: Path, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/there/penstock.db"
    restore(made, database=url)
    database = await open_database(url, upgrade=False)
    assert await server_secret(database, "") == b"s" * 64
    await database.close()
    with closing(sqlite3.connect(tmp_path / "there" / "penstock.db")) as connection:
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    assert "accounts" in tables
    assert "penstock_backup" not in tables
    assert (tmp_path / "there" / "penstock.db.secret").stat().st_mode & 0o777 == 0o600


def test_what_is_there_is_only_replaced_by_force_and_then_kept(sqlite_url: str, made: Path, tmp_path: Path) -> None:
    (tmp_path / "penstock.db.secret").write_text("t" * 64)
    with pytest.raises(BackupRefused, match="exists already; with --force it is put aside"):
        restore(made, database=sqlite_url)
    restore(made, database=sqlite_url, force=True)
    assert (tmp_path / "penstock.db.secret").read_text() == "s" * 64
    (aside,) = tmp_path.glob("penstock.db.*.replaced")
    assert aside.with_name(f"{aside.name}.secret").read_text() == "t" * 64


@pytest.mark.anyio
async def test_not_even_force_restores_under_a_running_server(sqlite_url: str, made: Path, tmp_path: Path) -> None:
    database = await open_database(sqlite_url)
    before = names(tmp_path)
    with pytest.raises(BackupRefused, match=r"is in use .*: stop the server first"):
        restore(made, database=sqlite_url, force=True)
    await database.ping()
    await database.close()
    assert {name for name in names(tmp_path) if not name.endswith(("-wal", "-shm"))} <= before


def test_a_broken_database_can_be_replaced(sqlite_url: str, made: Path, tmp_path: Path) -> None:
    (tmp_path / "penstock.db").write_bytes(b"not any more" * 1000)
    restore(made, database=sqlite_url, force=True)
    with closing(sqlite3.connect(tmp_path / "penstock.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_backup_of_a_newer_penstock_is_refused_by_name(made: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(NewerBackup, match=r"made by a newer Penstock \(.*revision 9999.*restore it with that version"):
        restore(made, database=f"sqlite:///{tmp_path}/there/penstock.db")
    assert not (tmp_path / "there").exists()


def test_what_is_no_backup_or_half_of_one_is_refused(sqlite_url: str, made: Path, tmp_path: Path) -> None:
    there = f"sqlite:///{tmp_path}/there/penstock.db"
    half = tmp_path / "half.db"
    half.write_bytes(made.read_bytes()[:-20_000])
    for file in (tmp_path / "penstock.db", half, tmp_path / "nowhere.db"):
        with pytest.raises(BackupRefused, match=r"not made by `penstock backup`|is damaged|there is no file"):
            restore(file, database=there)
    assert not (tmp_path / "there" / "penstock.db").exists()


def test_postgresql_is_left_to_its_own_tools(tmp_path: Path) -> None:
    url = "postgresql://ann:hush@db.example/penstock"
    for command, tool in ((backup, "pg_dump"), (restore, "pg_restore")):
        with pytest.raises(CommandError, match=tool) as refused:
            command(tmp_path / "file", database=url)
        assert "hush" not in str(refused.value)
