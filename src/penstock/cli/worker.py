"""`penstock worker`: runs the workflows of servers that have `engine = "temporal"`, until it is told to stop."""

import asyncio
import signal
from typing import Annotated

import structlog
from cyclopts import Parameter

from penstock.cli.options import ConfigFile, DatabaseAddress
from penstock.cli.shown import address
from penstock.egress import Egress
from penstock.http import logs
from penstock.platform.engine import temporal_worker
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings, load
from penstock.storage import open_database
from penstock.storage.opening import check_address
from penstock.storage.secret import server_secret

log = structlog.get_logger()


def worker(
    *,
    database: DatabaseAddress = None,
    temporal: Annotated[str | None, Parameter(help="host:port of the Temporal cluster.")] = None,
    config: ConfigFile = None,
) -> None:
    """Work until told to stop."""
    given = {"database": database, "temporal_address": temporal}
    settings = load(config, overrides=given).settings
    logs.configure(settings)
    check_address(settings.database.reveal())
    asyncio.run(_work(settings))


async def _work(settings: Settings) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    database = await open_database(settings.database.reveal(), pool=settings.database_pool)
    try:
        vault = Vault(settings, await server_secret(database, settings.jwt_secret.reveal()))
        egress = Egress(settings.egress_deny, settings.egress_allow)
        async with temporal_worker(settings, database, vault, egress, stop):
            if not stop.is_set():
                _announce(settings)
                await stop.wait()
                log.info("draining", seconds=int(settings.worker_drain))
    finally:
        await database.close()


def _announce(settings: Settings) -> None:
    log.info(
        "working",
        temporal=settings.temporal_address,
        task_queue=settings.temporal_task_queue,
        database=address(settings.database.reveal()),
    )
