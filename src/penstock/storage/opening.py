"""From an address (`sqlite:///…`, `postgresql://…`) to a migrated, open database."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from penstock.storage import migrate
from penstock.storage.database import Database
from penstock.storage.postgresql import PostgresqlDatabase
from penstock.storage.sqlite import SqliteDatabase


class AddressError(ValueError):
    """A database address that we cannot use."""


def sqlite_path(url: str) -> Path | None:
    """The file that a `sqlite:` address names (relative after three slashes, absolute after four), else None."""
    if not url.startswith("sqlite:"):
        return None
    path = unquote(url.removeprefix("sqlite:").removeprefix("//"))[1:]
    if not url.startswith("sqlite:///") or not path or path == ":memory:":
        raise AddressError(f"database: expected sqlite:///relative/file.db or sqlite:////absolute/file.db, got {url!r}")
    return Path(path)


def check_address(url: str) -> None:
    """`AddressError` unless the address can be used. The message never repeats one that may hold a password."""
    if sqlite_path(url) is not None:
        return
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"postgresql", "postgres"} and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise AddressError("database: expected sqlite:///file.db or postgresql://user:password@host:port/name")


async def open_database(url: str, *, pool: int = 10, upgrade: bool = True) -> Database:
    """Open a database, its tables created or migrated first unless `upgrade` is off."""
    check_address(url)
    path = sqlite_path(url)
    if upgrade:
        await migrate.upgrade(url, path)
    else:
        await migrate.require_current(url, path)
    if path is not None:
        return SqliteDatabase(path)
    return await PostgresqlDatabase.open(url, most=pool)
