"""Runs the scripts of migrations, with Alembic. Whether there is one to run is decided in `migrate`."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

from penstock.storage.database import Unavailable, no_connection
from penstock.storage.migrate import connect, head, refuse_newer
from penstock.storage.schema import metadata

T = TypeVar("T")
_LOCK = 7_295_081_646  # any number, the same in every Penstock


def run(connection: Connection) -> tuple[str | None, str]:
    before = _revision(connection)
    scripts = _scripts()
    with EnvironmentContext(
        Config(), scripts, fn=lambda revision, _: scripts._upgrade_revs("head", revision)
    ) as environment:
        environment.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
        with environment.begin_transaction():
            environment.run_migrations()
    return before, head()


def upgrade_locked(connection: Connection) -> tuple[str | None, str]:
    """On PostgreSQL: servers that start together migrate one after the other; all but the first find it done."""
    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    refuse_newer(_revision(connection))
    return run(connection)


async def on_postgresql(url: str, work: Callable[[Connection], T]) -> T:
    # The driver reads the address itself, as it does when serving: SQLAlchemy would not know `?sslmode=require`.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url, timeout=10))
    try:
        async with engine.begin() as connection:
            return await connection.run_sync(work)
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, DBAPIError) as error:
        reason = getattr(error, "orig", None) or error
        raise no_connection(reason) from error
    finally:
        await engine.dispose()


@contextmanager
def sqlite_connection(path: Path) -> Iterator[Connection]:
    # The driver would commit every CREATE TABLE by itself; a server killed midway must leave the old tables.
    engine = create_engine("sqlite://", creator=lambda: connect(path), poolclass=NullPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    try:
        with engine.begin() as connection:
            yield connection
    except (sqlite3.Error, DBAPIError) as error:
        raise Unavailable(f"{path}: {getattr(error, 'orig', error)}") from error
    finally:
        engine.dispose()


def _scripts() -> ScriptDirectory:
    return _scripts_in(str(resources.files("penstock.storage") / "migrations"))


@cache
def _scripts_in(folder: str) -> ScriptDirectory:
    """Read once: tests migrate many times."""
    config = Config()
    config.set_main_option("script_location", folder)
    config.set_main_option("path_separator", "os")
    return ScriptDirectory.from_config(config)


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()
