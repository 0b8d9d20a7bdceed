"""`penstock migrate` on both databases, and what it says."""

import asyncio
from pathlib import Path

import asyncpg
import pytest

from penstock.cli.errors import CommandError
from penstock.cli.migrate import migrate
from penstock.storage.migrate import NewerDatabase, head
from penstock.storage.opening import sqlite_path

Capture = pytest.CaptureFixture[str]


def test_tables_are_made_and_the_second_time_there_is_nothing_to_do(database_url: str, capsys: Capture) -> None:
    migrate(database=database_url)
    assert f"(no tables) → {head()}" in capsys.readouterr().out
    migrate(database=database_url)
    assert f"at revision {head()} already" in capsys.readouterr().out


def test_check_refuses_until_it_is_done_and_changes_nothing(database_url: str, capsys: Capture) -> None:
    for _ in range(2):
        with pytest.raises(CommandError, match="has no tables yet: run `penstock migrate`"):
            migrate(check=True, database=database_url)
    path = sqlite_path(database_url)
    assert path is None or not path.exists()
    migrate(database=database_url)
    migrate(check=True, database=database_url)
    assert f"is at revision {head()}, as" in capsys.readouterr().out


def test_a_newer_database_is_refused_by_both(postgresql_url: str) -> None:
    migrate(database=postgresql_url)

    async def from_the_future() -> None:
        connection = await asyncpg.connect(postgresql_url)
        await connection.execute("UPDATE alembic_version SET version_num = '9999'")
        await connection.close()

    asyncio.run(from_the_future())
    for check in (True, False):
        with pytest.raises(NewerDatabase, match="newer Penstock"):
            migrate(check=check, database=postgresql_url)


def test_the_database_of_the_settings_file_is_migrated(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "p.toml").write_text(f'database = "sqlite:///{tmp_path}/from-file.db"\n')
    migrate(config=tmp_path / "p.toml")
    assert (tmp_path / "from-file.db").exists()


def test_a_password_in_the_address_is_not_printed(postgresql_url: str, capsys: Capture) -> None:
    url = postgresql_url.replace("postgresql://postgres:", "postgresql://postgres:hush", 1)
    assert "hush" in url
    migrate(database=url)
    printed = capsys.readouterr()
    assert "hush" not in printed.out + printed.err
