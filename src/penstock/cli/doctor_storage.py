"""Checks of what is kept: the database, the clock that its rows were written by, and the server's own secret."""

import asyncio
import os
import shutil
import sqlite3
import stat
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
from sqlalchemy import func, select

from penstock.cli.findings import Finding, fail, ok, warn
from penstock.cli.serve import is_loopback
from penstock.cli.shown import address
from penstock.settings import Loaded
from penstock.storage import Statement, StorageError, migrate, open_database
from penstock.storage.opening import AddressError, check_address, sqlite_path
from penstock.storage.schema import accounts, sessions

MIB = 1024 * 1024
_LEAST_FREE, _COMFORTABLE = 100 * MIB, 1024 * MIB
_OLDEST_POSTGRESQL = 13
_SLOW = 0.02
_EARLIEST_YEAR, _LATEST_YEAR = 2025, 2100
_NEWEST = [Statement(select(func.max(table.c.created_at))) for table in (accounts, sessions)]


async def database(loaded: Loaded) -> AsyncIterator[Finding]:
    url = loaded.settings.database.reveal()
    try:
        check_address(url)
        path = sqlite_path(url)
    except AddressError as error:
        yield fail("database", str(error), "Correct the setting database.")
        return
    if path is not None and not path.exists():
        yield missing_file(path)
        return
    findings = sqlite_file(path) if path is not None else await postgresql(url, loaded.settings.database_pool)
    for finding in findings:
        yield finding
    if not any(finding.level == "fail" for finding in findings):
        yield await revision(url, path)


def missing_file(path: Path) -> Finding:
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if os.access(folder, os.W_OK):
        return warn("database", f"{path} does not exist yet", "`penstock serve` or `penstock migrate` makes it.")
    return fail("database", f"{path} cannot be made: no right to write in {folder}", "Choose another place: database.")


async def revision(url: str, path: Path | None) -> Finding:
    try:
        found = await migrate.current(url, path)
        if found is None:
            return warn("database", "has no tables yet", "`penstock serve` or `penstock migrate` makes them.")
        await migrate.require_current(url, path)
    except migrate.PendingMigration as error:
        return warn("database", str(error), "`penstock serve` migrates at its start too.")
    except StorageError as error:
        return fail("database", str(error), "Start the version that wrote it, or restore a copy.")
    return ok("database", f"tables are current (revision {found})")


def sqlite_file(path: Path) -> list[Finding]:
    return [*_permissions(path), *_disk(path), *_journal(path)]


def _permissions(path: Path) -> Iterator[Finding]:
    mode = path.stat().st_mode
    if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.absolute().parent, os.W_OK):
        yield fail("database", f"no right to write {path} and its folder", "Give both to the user who runs Penstock.")
    elif mode & stat.S_IRWXO:
        yield fail(
            "database",
            f"every user of this machine can open {path}, with all accounts",
            f"Run `chmod 600 {path}`.",
        )
    else:
        yield ok("database", f"SQLite at {path}, {path.stat().st_size / MIB:.1f} MiB")


def _disk(path: Path) -> Iterator[Finding]:
    free = shutil.disk_usage(path.absolute().parent).free
    # A migration copies the file first.
    needed = max(_COMFORTABLE, 2 * path.stat().st_size)
    says = f"{free // MIB} MiB free on its disk"
    if free < _LEAST_FREE:
        yield fail("database", says, "Make room: a full disk stops every write.")
    elif free < needed:
        yield warn("database", says, f"Make room for {needed // MIB} MiB: a migration copies the file first.")
    else:
        yield ok("database", says)


def _journal(path: Path) -> Iterator[Finding]:
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as connection:
            mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
    except sqlite3.DatabaseError as error:
        yield fail("database", f"{path} cannot be read: {error}", "Restore the newest copy (docs/operate.md).")
        return
    if mode == "wal":
        yield ok("database", "write-ahead log is on")
    else:
        yield warn("database", f"journal mode is {mode}", "`penstock serve` sets WAL, except on a network share.")


async def postgresql(url: str, pool: int) -> list[Finding]:
    try:
        connection = await asyncpg.connect(url, timeout=10)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        reason = str(error) or type(error).__name__
        return [
            fail("database", f"{address(url)}: {reason}", "Check database, and that PostgreSQL runs and lets us in.")
        ]
    try:
        return [
            _version(url, connection),
            await _latency(connection),
            await _room(connection, pool),
            *[finding for finding in (await _encryption(url, connection), await _encoding(connection)) if finding],
        ]
    finally:
        await connection.close()


def _version(url: str, connection: Any) -> Finding:
    version = connection.get_server_version()
    says = f"PostgreSQL {version.major}.{version.minor} at {address(url)}"
    if version.major < _OLDEST_POSTGRESQL:
        return fail("database", says, f"Upgrade PostgreSQL: {_OLDEST_POSTGRESQL} or newer is needed.")
    return ok("database", says)


async def _latency(connection: Any) -> Finding:
    best = float("inf")
    for _ in range(5):
        began = time.perf_counter()
        await connection.fetchval("SELECT 1")
        best = min(best, time.perf_counter() - began)
    says = f"a round trip takes {best * 1000:.1f} ms"
    if best > _SLOW:
        return warn("database", says, "Run Penstock nearer to its database: a sign-in takes several round trips.")
    return ok("database", says)


async def _room(connection: Any, pool: int) -> Finding:
    most = int(await connection.fetchval("SHOW max_connections"))
    used = int(await connection.fetchval("SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL"))
    says = f"{used} of {most} connections in use, we may open {pool}"
    if used + pool > most:
        return warn("database", says, "Lower database_pool, or raise PostgreSQL's max_connections.")
    return ok("database", says)


async def _encryption(url: str, connection: Any) -> Finding | None:
    host = urlsplit(url).hostname or ""
    if not host or is_loopback(host):
        return None
    if await connection.fetchval("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"):
        return None
    return warn("database", f"the connection to {host} is not encrypted", "Add ?sslmode=verify-full to the address.")


async def _encoding(connection: Any) -> Finding | None:
    encoding = await connection.fetchval("SHOW server_encoding")
    if encoding == "UTF8":
        return None
    return fail("database", f"its encoding is {encoding}", "Create it anew with ENCODING 'UTF8'.")


async def clock(loaded: Loaded) -> AsyncIterator[Finding]:
    year = time.gmtime().tm_year
    if not _EARLIEST_YEAR <= year < _LATEST_YEAR:
        yield fail("clock", f"this machine thinks it is {year}", "Set its clock, best with NTP.")
        return
    url = loaded.settings.database.reveal()
    try:
        check_address(url)
        path = sqlite_path(url)
        if path is None:
            yield skewed(await _postgresql_skew(url))
        elif path.exists():
            yield skewed(min(0.0, time.time() - await _newest_row(url)))
    except (AddressError, StorageError, OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        return  # what is wrong with the database, its own check says


def skewed(seconds: float) -> Finding:
    """`seconds`: how far this machine's clock is ahead of what the database knows."""
    way = "ahead of" if seconds > 0 else "behind"
    says = f"this machine's clock is {abs(seconds):.0f} s {way} the database's"
    if abs(seconds) > 60:
        return fail("clock", says, "Set both with NTP: sessions and SAML sign-ins end early or not at all.")
    if abs(seconds) > 5:
        return warn("clock", says, "Set both with NTP.")
    return ok("clock", "agrees with the database's")


async def _postgresql_skew(url: str) -> float:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        before = time.time()
        theirs = float(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp())"))
        return (before + time.time()) / 2 - theirs
    finally:
        await connection.close()


async def _newest_row(url: str) -> float:
    opened = await open_database(url, pool=1, upgrade=False)
    try:
        rows = [await opened.one(statement) for statement in _NEWEST]
    finally:
        await opened.close()
    return max((row[0] / 1_000_000 for row in rows if row is not None and row[0] is not None), default=0.0)


async def secret(loaded: Loaded) -> AsyncIterator[Finding]:
    if loaded.settings.jwt_secret:
        yield ok("secret", "jwt_secret is configured")
        return
    try:
        path = sqlite_path(loaded.settings.database.reveal())
    except AddressError:
        return
    if path is None:
        yield ok("secret", "made by the server and kept in PostgreSQL, so that servers share it")
        return
    yield await asyncio.to_thread(secret_file, path.with_name(path.name + ".secret"))


def secret_file(path: Path) -> Finding:
    try:
        mode, length = path.stat().st_mode, len(path.read_bytes().strip())
    except FileNotFoundError:
        return ok("secret", f"will be made at the first start, in {path}")
    except OSError as error:
        return fail("secret", f"{path} cannot be read: {error.strerror}", "Give it to the user who runs Penstock.")
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return fail(
            "secret",
            f"others than its owner can read {path}, and with it sign tokens for anyone",
            f"Run `chmod 600 {path}`; if somebody may have read it, delete it and restart, which makes a new one.",
        )
    if length < 32:
        return fail("secret", f"{path} holds fewer than 32 bytes", "Delete it and restart, which makes a new one.")
    return ok("secret", f"kept in {path}, for its owner only")
