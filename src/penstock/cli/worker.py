"""`penstock worker`: runs the workflows of servers that have `engine = "temporal"`, until it is told to stop."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import structlog
from cyclopts import Parameter

from penstock.cli.options import ConfigFile, DatabaseAddress
from penstock.cli.probes import probes
from penstock.cli.shown import address
from penstock.egress import Egress
from penstock.http import logs
from penstock.platform.engine import temporal_worker, worker_condition
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings, load
from penstock.storage import open_database
from penstock.storage.opening import check_address
from penstock.storage.secret import server_secret

if TYPE_CHECKING:
    from penstock.engine.temporal.condition import Condition

log = structlog.get_logger()


def worker(
    *,
    database: DatabaseAddress = None,
    temporal: Annotated[str | None, Parameter(help="host:port of the Temporal cluster.")] = None,
    listen: Annotated[str | None, Parameter(help="host:port for /healthz, /readyz and /metrics.")] = None,
    config: ConfigFile = None,
) -> None:
    """Work until told to stop."""
    given = {"database": database, "temporal_address": temporal, "worker_listen": listen}
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
        condition = worker_condition(settings, database, stop)
        async with (
            _probed(settings, condition) as listens,
            temporal_worker(settings, database, vault, egress, stop, condition),
        ):
            if not stop.is_set():
                _announce(settings, listens)
                await stop.wait()
                log.info("draining", seconds=int(settings.worker_drain))
    finally:
        await database.close()


@asynccontextmanager
async def _probed(settings: Settings, condition: "Condition") -> AsyncIterator[str | None]:
    """From before the cluster is there, until after what was under way has ended."""
    if not settings.worker_listen:
        yield None
        return
    async with probes(settings.worker_listen, condition.trouble, condition.metrics) as listens:
        yield listens


def _announce(settings: Settings, listens: str | None) -> None:
    log.info(
        "working",
        listen=listens,
        temporal=settings.temporal_address,
        task_queue=settings.temporal_task_queue,
        database=address(settings.database.reveal()),
    )
