"""Brings a database to the tables that this code expects, forward only, one server at a time.

An SQLite file is copied beside itself first. A database that a newer Penstock wrote is refused.
"""

import asyncio
import fcntl
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeVar

import asyncpg
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from penstock.storage.database import StorageError, Unavailable
from penstock.storage.schema import metadata

T = TypeVar("T")
_LOCK = 7_295_081_646  # any number, the same in every Penstock


class NewerDatabase(StorageError):
    """The database was written by a Penstock newer than this one."""


class PendingMigration(StorageError):
    """The database is older than this code."""


def head() -> str:
    """The newest revision that this code knows."""
    revision = _scripts().get_current_head()
    assert revision is not None  # noqa: S101
    return revision


async def upgrade(url: str, path: Path | None) -> tuple[str | None, str]:
    """Migrate; (revision before, revision after). `path` is the file of an SQLite database."""
    if path is None:
        return await _on_postgresql(url, _upgrade_locked)
    return await asyncio.to_thread(_upgrade_file, path)


async def current(url: str, path: Path | None) -> str | None:
    """The database's revision; None when it has no tables yet."""
    if path is None:
        return await _on_postgresql(url, _revision)
    return await asyncio.to_thread(_revision_of_file, path)


def _revision_of_file(path: Path) -> str | None:
    if not path.exists():
        return None
    with _sqlite_connection(path) as connection:
        return _revision(connection)


async def require_current(url: str, path: Path | None) -> None:
    revision = await current(url, path)
    refuse_newer(revision)
    if revision != head():
        raise PendingMigration("the database is older than this Penstock: run `penstock migrate` first")


def _scripts() -> ScriptDirectory:
    return _scripts_in(str(resources.files("penstock.storage") / "migrations"))


@cache
def _scripts_in(folder: str) -> ScriptDirectory:
    """Read once: a start asks for them four times, and reading is most of what a start without migrations takes."""
    config = Config()
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def refuse_newer(revision: str | None) -> None:
    if revision is not None and revision not in {script.revision for script in _scripts().walk_revisions()}:
        raise NewerDatabase(
            f"the database was written by a newer Penstock (its revision is {revision}, ours is {head()}): "
            "start that version, or restore the copy made before its migration"
        )


def _run(connection: Connection) -> tuple[str | None, str]:
    before = _revision(connection)
    scripts = _scripts()
    with EnvironmentContext(
        Config(), scripts, fn=lambda revision, _: scripts._upgrade_revs("head", revision)
    ) as environment:
        environment.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        with environment.begin_transaction():
            environment.run_migrations()
    return before, head()


def _upgrade_locked(connection: Connection) -> tuple[str | None, str]:
    """On PostgreSQL: servers that start together migrate one after the other; all but the first find it done."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    refuse_newer(_revision(connection))
    return _run(connection)


async def _on_postgresql(url: str, work: Callable[[Connection], T]) -> T:
    # The driver reads the address itself, as it does when serving: SQLAlchemy would not know `?sslmode=require`.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url, timeout=10))
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, DBAPIError) as error:
        reason = getattr(error, "orig", None) or error
        raise Unavailable(f"PostgreSQL does not let us in: {reason}") from error
    finally:
        await engine.dispose()


@contextmanager
def _sqlite_connection(path: Path) -> Iterator[Connection]:
    # The driver would commit every CREATE TABLE by itself; a server killed midway must leave the old tables.
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.begin() as connection:
            yield connection
    except (sqlite3.Error, DBAPIError) as error:
        raise Unavailable(f"{path}: {getattr(error, 'orig', error)}") from error
    finally:
        engine.dispose()


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else migrates or replaces the file meanwhile; a server that starts waits."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(path.name + ".lock").open("a")
    except OSError as error:
        raise Unavailable(f"{path}: {error.strerror}; choose another place with the setting `database`") from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _upgrade_file(path: Path) -> tuple[str | None, str]:
    # Servers that start together migrate one after the other; all but the first find it done.
    with locked(path):
        if not path.exists():
            # Accounts live in this file: nobody else on the machine may read it.
            path.touch(mode=0o600)
        _use_write_ahead_log(path)
        with _sqlite_connection(path) as connection:
            revision = _revision(connection)
        refuse_newer(revision)
        if revision is not None and revision != head():
            copy(path, path.with_name(f"{path.name}.{revision}-{int(time.time())}.bak"))
        if revision == head():
            return revision, revision
        with _sqlite_connection(path) as connection:
            return _run(connection)


def _use_write_ahead_log(path: Path) -> None:
    """Once for the file's whole life, while nobody else can have it open: a second server that starts meanwhile
    would find it locked."""
    try:
        with closing(_connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise Unavailable(f"{path}: {error}") from error


def copy(source: Path, target: Path) -> None:
    """A whole copy through SQLite's own backup, so that what is still in the write-ahead log is in it too. It is what
    was committed when it began: others write meanwhile, and are not held up."""
    try:
        target.touch(mode=0o600)
        with closing(_connect(source)) as original, closing(_connect(target)) as made:
            original.backup(made)
    except (sqlite3.Error, OSError) as error:
        target.unlink(missing_ok=True)
        raise Unavailable(f"{source} cannot be copied to {target}: {error}") from error
