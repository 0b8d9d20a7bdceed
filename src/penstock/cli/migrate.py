"""`penstock migrate`: the database's tables, before a server of this version meets them."""

import asyncio
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from penstock.cli.errors import CommandError
from penstock.cli.options import ConfigFile, DatabaseAddress, settings_of
from penstock.cli.shown import address
from penstock.storage import migrate as migrations
from penstock.storage.opening import check_address, sqlite_path


def migrate(
    *,
    check: Annotated[
        bool, Parameter(negative="", help="Change nothing; exit 1 when the database is not at this version's revision.")
    ] = False,
    database: DatabaseAddress = None,
    config: ConfigFile = None,
) -> None:
    url = settings_of(config, database).database.reveal()
    check_address(url)
    asyncio.run(_check(url) if check else _migrate(url))


async def _check(url: str) -> None:
    revision = await migrations.current(url, sqlite_path(url))
    if revision is None:
        raise CommandError(f"{address(url)} has no tables yet: run `penstock migrate`")
    await migrations.require_current(url, sqlite_path(url))
    print(f"{address(url)} is at revision {revision}, as this Penstock expects.")


async def _migrate(url: str) -> None:
    with Console(stderr=True).status(f"Migrating {address(url)} …"):
        before, after = await migrations.upgrade(url, sqlite_path(url))
    if before == after:
        print(f"{address(url)} is at revision {after} already; nothing to do.")
    else:
        print(f"{address(url)}: revision {before or '(no tables)'} → {after}")
