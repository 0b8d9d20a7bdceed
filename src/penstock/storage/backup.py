"""A backup of an SQLite database: one file, itself an SQLite database, with the server's secret in a table of its own.

It is made beside a running server and never half: it gets its name when it is whole. It goes back only where no server
runs, and what was there before is kept under another name. PostgreSQL brings its own tools for all of this.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from penstock.storage import migrate
from penstock.storage.database import StorageError, Unavailable

_NOTES = "penstock_backup"


class BackupRefused(StorageError):
    """A backup that is not made, or not put back. The message says why, and what to do."""


class NewerBackup(BackupRefused):
    """It was made by a Penstock newer than this one."""


class Notes(msgspec.Struct, frozen=True):
    """What a backup says of itself."""

    version: str
    made_at: str
    secret: str = ""
    """What signs tokens and, by default, seals secrets; blank when the settings have it."""


def make(path: Path, target: Path, version: str, made_at: str) -> Notes:
    """Copy the database at `path` into the new file `target`."""
    if not path.exists():
        raise BackupRefused(f"there is no database at {path}")
    if target.exists():
        raise BackupRefused(f"{target} exists already; choose another name")
    notes = Notes(version, made_at, _read_secret(secret_beside(path)))
    unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        migrate.copy(path, unfinished)
        with _opened(unfinished) as connection:
            # One file, with no log beside it.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute(f"CREATE TABLE {_NOTES} (name TEXT PRIMARY KEY, value TEXT NOT NULL)")
            connection.executemany(f"INSERT INTO {_NOTES} VALUES (?, ?)", msgspec.structs.asdict(notes).items())  # noqa: S608
            _require_whole(connection, unfinished)
        _to_disk(unfinished)
        # Fails where a file of this name came up meanwhile, and a rename would not.
        os.link(unfinished, target)
    except OSError as error:
        raise Unavailable(f"{target} cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return notes


def put_back(source: Path, path: Path, *, force: bool) -> tuple[Notes, Path | None]:
    """Make the backup `source` the database at `path`. What it says of itself, and where the old one is now."""
    notes = _notes_of(source)
    fresh = path.with_name(f"{path.name}.{os.getpid()}.part")
    with migrate.locked(path):
        # A secret alone is worth as much: without it, the secrets of some other copy do not open.
        taken = path if path.exists() else secret_beside(path)
        if taken.exists() and not force:
            raise BackupRefused(f"{taken} exists already; with --force it is put aside, under another name")
        if path.exists():
            _require_alone(path)
        try:
            migrate.copy(source, fresh)
            with _opened(fresh) as connection:
                _require_whole(connection, source)
                connection.execute(f"DROP TABLE {_NOTES}")
            _to_disk(fresh)
            aside = _put_aside(path)
            if notes.secret:
                _write_secret(secret_beside(path), notes.secret)
            fresh.rename(path)
            _to_disk(path.parent)
        except OSError as error:
            raise Unavailable(f"{path} cannot be written: {error.strerror}") from error
        finally:
            fresh.unlink(missing_ok=True)
    return notes, aside


def secret_beside(path: Path) -> Path:
    return path.with_name(path.name + ".secret")


def _notes_of(source: Path) -> Notes:
    if not source.is_file():
        raise BackupRefused(f"there is no file {source}")
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            found = dict(connection.execute(f"SELECT name, value FROM {_NOTES}").fetchall())  # noqa: S608
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        notes = msgspec.convert(found, Notes)
    except (sqlite3.Error, msgspec.ValidationError) as error:
        raise BackupRefused(f"{source} was not made by `penstock backup`, or is not whole: {error}") from error
    try:
        migrate.refuse_newer(row[0])
    except migrate.NewerDatabase as error:
        raise NewerBackup(
            f"{source} was made by a newer Penstock ({notes.version}, revision {row[0]}; ours is {migrate.head()}): "
            "restore it with that version"
        ) from error
    return notes


def _require_alone(path: Path) -> None:
    """Only who is alone with a file may take it out of its write-ahead log; which also leaves one file to move."""
    try:
        with closing(sqlite3.connect(path, timeout=1, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as error:
        raise BackupRefused(f"{path} is in use ({error}): stop the server first") from error
    except sqlite3.DatabaseError:
        # Broken: that may be why somebody restores. It is kept as it is.
        return


def _put_aside(path: Path) -> Path | None:
    if not path.exists() and not secret_beside(path).exists():
        return None
    aside = path.with_name(f"{path.name}.{int(time.time())}.replaced")
    for old, new in ((secret_beside(path), secret_beside(aside)), (path, aside)):
        if old.exists():
            old.rename(new)
    for left in ("-wal", "-shm"):
        # Of a broken file; a whole one has none here. They must not meet the database that comes.
        if (log := path.with_name(path.name + left)).exists():
            log.rename(aside.with_name(aside.name + left))
    return aside


def _read_secret(path: Path) -> str:
    try:
        return path.read_text().strip() if path.exists() else ""
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}") from error


def _write_secret(path: Path, secret: str) -> None:
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(secret)
    _to_disk(fresh)
    fresh.rename(path)


def _require_whole(connection: sqlite3.Connection, path: Path) -> None:
    said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if said != "ok":
        raise BackupRefused(f"{path} is damaged: {said}")


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise Unavailable(f"{path}: {error}") from error


def _to_disk(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
