"""Every start brings the tables to what the code expects: once, whole, and with a copy of the file beforehand."""

import asyncio
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from penstock.storage import Unavailable, migrate, open_database, scripts
from penstock.storage.migrate import NewerDatabase, PendingMigration
from penstock.storage.opening import sqlite_path
from penstock.storage.schema import metadata
from tests.postgresql import Databases
from tests.storage.conftest import PUT, keys

pytestmark = pytest.mark.anyio

NEXT = '''"""A migration that is still to come."""
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "9999", "{head}", None, None

def upgrade():
    op.create_table("novelties", sa.Column("id", sa.Integer(), primary_key=True))
    op.drop_table("key_values")
    {then}
'''

START = """
import asyncio, sys
from penstock.storage import open_database
async def start(): await (await open_database(sys.argv[1])).close()
asyncio.run(start())
print(*sys.modules)
"""


async def on(url: str, work: Callable[[Connection], Any]) -> Any:
    path = sqlite_path(url)
    if path is None:
        return await scripts.on_postgresql(url, work)
    with scripts.sqlite_connection(path) as connection:
        return work(connection)


async def tables(url: str) -> set[str]:
    return set(await on(url, lambda connection: inspect(connection).get_table_names()))


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """With no tables yet, and on SQLite not even a file."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/empty.db"
    else:
        databases: Databases = request.getfixturevalue("databases")
        with databases.empty() as url:
            yield url


@pytest.fixture
def a_later_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make this code a later one, with one migration more."""

    def make(then: str = "pass") -> Path:
        folder = tmp_path / "later" / "migrations"
        shutil.copytree(str(resources.files("penstock.storage") / "migrations"), folder)
        (folder / "versions" / "9999_next.py").write_text(NEXT.format(head=migrate.head(), then=then))
        monkeypatch.setattr(migrate.resources, "files", lambda _: tmp_path / "later")  # type: ignore[attr-defined]
        return folder

    return make


async def test_an_empty_database_gets_exactly_the_tables_of_the_schema(empty_url: str) -> None:
    assert await migrate.upgrade(empty_url, sqlite_path(empty_url)) == (None, migrate.head())

    def differences(connection: Connection) -> Any:
        return compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata)

    assert await on(empty_url, differences) == []
    assert await tables(empty_url) == {"alembic_version", *metadata.tables}


def test_a_file_begins_with_its_revision() -> None:
    """What is known is read from the names alone."""
    known = {script.revision for script in scripts._scripts().walk_revisions()}
    assert migrate._known() == known
    assert migrate.head() == scripts._scripts().get_current_head()


async def test_a_start_without_migrations_does_not_load_what_runs_them(database_url: str) -> None:
    await migrate.upgrade(database_url, sqlite_path(database_url))
    started = [sys.executable, "-c", START, database_url]
    loaded = subprocess.run(started, check=True, capture_output=True, text=True).stdout.split()
    assert "penstock.storage.migrate" in loaded
    assert {"alembic", "sqlalchemy.orm"}.isdisjoint(loaded)


async def test_a_second_start_changes_nothing(database_url: str, tmp_path: Path) -> None:
    path = sqlite_path(database_url)
    await migrate.upgrade(database_url, path)
    before = sorted(tmp_path.iterdir())
    assert await migrate.upgrade(database_url, path) == (migrate.head(), migrate.head())
    assert sorted(tmp_path.iterdir()) == before


async def test_servers_that_start_together_on_an_empty_database_all_come_up(empty_url: str) -> None:
    opened = await asyncio.gather(*(open_database(empty_url) for _ in range(4)))
    for database in opened:
        assert await keys(database) == []
        await database.close()


async def test_a_database_of_a_newer_penstock_is_refused_and_left_alone(database_url: str) -> None:
    path = sqlite_path(database_url)
    await migrate.upgrade(database_url, path)
    await on(database_url, lambda connection: connection.execute(text("UPDATE alembic_version SET version_num='z9'")))
    for attempt in (open_database(database_url), open_database(database_url, upgrade=False)):
        with pytest.raises(NewerDatabase, match=r"newer Penstock .*z9.* start that version, or restore"):
            await attempt
    assert await migrate.current(database_url, path) == "z9"


async def test_without_permission_to_migrate_an_older_database_is_refused(
    database_url: str, a_later_version: Callable[..., Path]
) -> None:
    await migrate.upgrade(database_url, sqlite_path(database_url))
    a_later_version()
    with pytest.raises(PendingMigration, match="penstock migrate"):
        await open_database(database_url, upgrade=False)
    assert "novelties" not in await tables(database_url)


async def test_a_database_with_no_tables_is_older_too(empty_url: str) -> None:
    with pytest.raises(PendingMigration):
        await open_database(empty_url, upgrade=False)


async def test_an_older_database_is_migrated(database_url: str, a_later_version: Callable[..., Path]) -> None:
    before = migrate.head()
    await migrate.upgrade(database_url, sqlite_path(database_url))
    a_later_version()
    assert await migrate.upgrade(database_url, sqlite_path(database_url)) == (before, "9999")
    assert "novelties" in await tables(database_url)


async def test_a_migration_that_fails_midway_leaves_the_old_tables_and_rows(
    database_url: str, a_later_version: Callable[..., Path]
) -> None:
    database = await open_database(database_url)
    async with database.transaction() as tx:
        await tx.run(PUT, key="precious", value="")
    await database.close()
    before = await tables(database_url)
    a_later_version(then="op.execute('SELECT * FROM nowhere')")
    with pytest.raises(Unavailable, match="nowhere"):
        await migrate.upgrade(database_url, sqlite_path(database_url))
    assert await tables(database_url) == before
    assert (await on(database_url, lambda c: c.execute(text("SELECT key FROM key_values")).scalar_one())) == "precious"


KILLED = """
import asyncio, sys
from pathlib import Path
from penstock.storage import migrate
migrate.resources.files = lambda _: Path(sys.argv[2])
from penstock.storage.opening import sqlite_path
asyncio.run(migrate.upgrade(sys.argv[1], sqlite_path(sys.argv[1])))
"""


async def test_a_server_killed_in_the_middle_of_a_migration_leaves_the_old_tables(
    database_url: str, a_later_version: Callable[..., Path]
) -> None:
    await migrate.upgrade(database_url, sqlite_path(database_url))
    before = await tables(database_url)
    later = a_later_version(then="import os; os.kill(os.getpid(), 9)")
    ended = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", KILLED, database_url, str(later.parent)], check=False
    )
    assert ended.returncode == -signal.SIGKILL
    assert await tables(database_url) == before


async def test_an_sqlite_file_is_copied_before_its_migration_with_what_is_still_in_the_log(
    tmp_path: Path, a_later_version: Callable[..., Path]
) -> None:
    url, path = f"sqlite:///{tmp_path}/penstock.db", tmp_path / "penstock.db"
    old = await open_database(url)
    async with old.transaction() as tx:
        await tx.run(PUT, key="precious", value="")
    assert path.with_name("penstock.db-wal").stat().st_size > 0, "the row must still be in the write-ahead log"
    revision = migrate.head()
    a_later_version()
    await migrate.upgrade(url, path)
    (copy,) = tmp_path.glob("penstock.db.*.bak")
    assert copy.name.startswith(f"penstock.db.{revision}-")
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT key FROM key_values").fetchall() == [("precious",)]
        assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(revision,)]
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    await old.close()


async def test_without_a_copy_there_is_no_migration(
    tmp_path: Path, a_later_version: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, path = f"sqlite:///{tmp_path}/penstock.db", tmp_path / "penstock.db"
    await migrate.upgrade(url, path)
    a_later_version()

    def no_space(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "touch", no_space)
    with pytest.raises(Unavailable, match=r"cannot be copied .* No space left"):
        await migrate.upgrade(url, path)
    assert "novelties" not in await tables(url)


async def test_nobody_else_on_the_machine_may_read_the_files(tmp_path: Path) -> None:
    database = await open_database(f"sqlite:///{tmp_path}/penstock.db")
    async with database.transaction() as tx:
        await tx.run(PUT, key="a", value="")
    for name in ("penstock.db", "penstock.db-wal", "penstock.db-shm"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600, name
    await database.close()


async def test_a_file_has_its_write_ahead_log_before_the_first_server_opens_it(tmp_path: Path) -> None:
    """Two servers that start together could not both switch it on: one would find the file locked."""
    path = tmp_path / "penstock.db"
    await migrate.upgrade(f"sqlite:///{path}", path)
    assert path.read_bytes()[18:20] == b"\x02\x02"


async def test_folders_on_the_way_to_the_file_are_made(tmp_path: Path) -> None:
    database = await open_database(f"sqlite:///{tmp_path}/var/lib/penstock.db")
    await database.close()
    assert (tmp_path / "var/lib/penstock.db").exists()


async def test_a_place_where_no_file_can_be_is_said_with_its_name_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match=r"file/penstock\.db: .*; choose another place with the setting `database`"):
        await open_database(f"sqlite:///{tmp_path}/file/penstock.db")
    with pytest.raises(Unavailable, match="unable to open"):
        await open_database(f"sqlite:///{tmp_path}")
