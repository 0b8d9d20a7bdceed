"""What most commands take (`--config`, `--database`), and how they reach the configured database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from penstock.cli.errors import CommandError
from penstock.cli.shown import address
from penstock.settings import Settings, load
from penstock.storage import Database, open_database
from penstock.storage import migrate as migrations
from penstock.storage.opening import check_address, sqlite_path

ConfigFile = Annotated[
    Path | None, Parameter(name="--config", help="Settings file; default: penstock.toml, when there is one.")
]
DatabaseAddress = Annotated[
    str | None, Parameter(name="--database", help="sqlite:///file.db or postgresql://user@host/name.")
]


def settings_of(config: Path | None, database: str | None) -> Settings:
    return load(config, overrides={"database": database}).settings


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Database]:
    """The configured database, as it is: a command that looks something up must not migrate in passing."""
    url = settings.database.reveal()
    check_address(url)
    if await migrations.current(url, sqlite_path(url)) is None:
        raise CommandError(f"there is no Penstock database at {address(url)} yet: run `penstock migrate` first")
    database = await open_database(url, pool=1, upgrade=False)
    try:
        yield database
    finally:
        await database.close()
