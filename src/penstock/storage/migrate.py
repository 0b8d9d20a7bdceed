"""Brings a database to the tables that this code expects, forward only, one server at a time.

An SQLite file is copied beside itself first. A database that a newer Penstock wrote is refused. What runs migrations is
loaded when there is one to run: it is a tenth of what an import of everything takes.
"""

import asyncio
import fcntl
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib import resources
from pathlib import Path

import asyncpg

from penstock.storage.database import StorageError, Unavailable, no_connection

_HAS_TABLES = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'alembic_version'"
_HAS_TABLES_POSTGRESQL = "SELECT to_regclass('alembic_version') IS NOT NULL"
_REVISION = "SELECT version_num FROM alembic_version"


class NewerDatabase(StorageError):
    """The database was written by a Penstock newer than this one."""


class PendingMigration(StorageError):
    """The database is older than this code."""


def head() -> str:
    """The newest revision that this code knows."""
    return max(_known())


def _known() -> set[str]:
    """A migration's file begins with its revision."""
    versions = resources.files("penstock.storage") / "migrations" / "versions"
    return {file.name.partition("_")[0] for file in versions.iterdir() if file.name[:1].isdigit()}


async def upgrade(url: str, path: Path | None) -> tuple[str | None, str]:
    """Migrate; (revision before, revision after). `path` is the file of an SQLite database."""
    if path is not None:
        return await asyncio.to_thread(_upgrade_file, path)
    revision = await _revision_on_postgresql(url)
    refuse_newer(revision)
    if revision == (newest := head()):
        return newest, newest
    from penstock.storage import scripts  # noqa: PLC0415

    return await scripts.on_postgresql(url, scripts.upgrade_locked)


async def current(url: str, path: Path | None) -> str | None:
    """The database's revision; None when it has no tables yet."""
    if path is None:
        return await _revision_on_postgresql(url)
    return await asyncio.to_thread(_revision_of_file, path)


def _revision_of_file(path: Path) -> str | None:
    if not path.exists():
        return None
    try:
        with closing(connect(path)) as connection:
            # Who may not write need not begin.
            connection.execute("BEGIN IMMEDIATE")
            found = connection.execute(_REVISION).fetchone() if connection.execute(_HAS_TABLES).fetchone() else None
            return found[0] if found else None
    except sqlite3.Error as error:
        raise Unavailable(f"{path}: {error}") from error


async def _revision_on_postgresql(url: str) -> str | None:
    try:
        connection = await asyncpg.connect(url, timeout=10)
        try:
            found = await connection.fetchval(_REVISION) if await connection.fetchval(_HAS_TABLES_POSTGRESQL) else None
        finally:
            await connection.close()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise no_connection(error) from error
    return None if found is None else str(found)


async def require_current(url: str, path: Path | None) -> None:
    revision = await current(url, path)
    refuse_newer(revision)
    if revision != head():
        raise PendingMigration("the database is older than this Penstock: run `penstock migrate` first")


def refuse_newer(revision: str | None) -> None:
    if revision is not None and revision not in _known():
        raise NewerDatabase(
            f"the database was written by a newer Penstock (its revision is {revision}, ours is {head()}): "
            "start that version, or restore the copy made before its migration"
        )


def connect(path: Path) -> sqlite3.Connection:
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
        revision = _revision_of_file(path)
        refuse_newer(revision)
        if revision is not None and revision != head():
            copy(path, path.with_name(f"{path.name}.{revision}-{int(time.time())}.bak"))
        if revision == head():
            return revision, revision
        from penstock.storage import scripts  # noqa: PLC0415

        with scripts.sqlite_connection(path) as connection:
            return scripts.run(connection)


def _use_write_ahead_log(path: Path) -> None:
    """Once for the file's whole life, while nobody else can have it open: a second server that starts meanwhile
    would find it locked."""
    try:
        with closing(connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
    except sqlite3.Error as error:
        raise Unavailable(f"{path}: {error}") from error


def copy(source: Path, target: Path) -> None:
    """A whole copy through SQLite's own backup, so that what is still in the write-ahead log is in it too. It is what
    was committed when it began: others write meanwhile, and are not held up."""
    try:
        target.touch(mode=0o600)
        with closing(connect(source)) as original, closing(connect(target)) as made:
            original.backup(made)
    except (sqlite3.Error, OSError) as error:
        target.unlink(missing_ok=True)
        raise Unavailable(f"{source} cannot be copied to {target}: {error}") from error
