"""The way to a Temporal cluster."""

import asyncio
import math
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import msgspec
import structlog
from temporalio.client import Client, TLSConfig
from temporalio.runtime import Runtime

from penstock.engine.embedded.sealing import Seal
from penstock.engine.temporal.payloads import data_converter
from penstock.settings import Settings, SettingsError
from penstock.storage import Database
from penstock.storage.backoff import delays

log = structlog.get_logger()

RPC = timedelta(seconds=5)
# After that long without a word, a worker that computes for a workflow is taken for lost.
TASK = timedelta(seconds=10)


class Cluster(msgspec.Struct, frozen=True):
    """Where it is, and how it lets us in; each has a setting."""

    address: str
    namespace: str
    task_queue: str
    tls: bool = False
    ca: str = ""
    certificate: str = ""
    key: str = ""
    api_key: str = ""

    @classmethod
    def of(cls, settings: Settings) -> "Cluster":
        return cls(
            settings.temporal_address,
            settings.temporal_namespace,
            settings.temporal_task_queue,
            settings.temporal_tls,
            settings.temporal_tls_ca,
            settings.temporal_tls_cert,
            settings.temporal_tls_key,
            settings.temporal_api_key.reveal(),
        )


async def connect(
    cluster: Cluster, seal: Seal, database: Database, *, lazy: bool, runtime: Runtime | None = None
) -> Client:
    """`lazy`: nothing is sent before it is needed, so that a cluster that is away keeps no server from starting."""
    return await Client.connect(
        cluster.address,
        namespace=cluster.namespace,
        data_converter=data_converter(seal, database),
        tls=_tls(cluster),
        api_key=cluster.api_key or None,
        lazy=lazy,
        runtime=runtime,
    )


async def look_at(cluster: Cluster) -> Client:
    """For whoever sends and reads no data."""
    return await Client.connect(
        cluster.address, namespace=cluster.namespace, tls=_tls(cluster), api_key=cluster.api_key or None
    )


async def connect_in_time(
    cluster: Cluster, seal: Seal, database: Database, stop: asyncio.Event, runtime: Runtime | None = None
) -> Client | None:
    """When the cluster answers, however long that takes; None when there was no more need of it."""
    for delay in delays(first=0.2, most=5.0, total=math.inf):
        try:
            return await connect(cluster, seal, database, lazy=False, runtime=runtime)
        except RuntimeError as error:
            log.warning(
                "Temporal does not answer; is temporal_address right?", address=cluster.address, error=str(error)
            )
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await stop.wait()
        if stop.is_set():
            break
    return None


def _tls(cluster: Cluster) -> TLSConfig | bool:
    files = (cluster.ca, cluster.certificate, cluster.key)
    if not cluster.tls and not any(files) and not cluster.api_key:
        return False
    ca, certificate, key = (_content(file) for file in files)
    return TLSConfig(server_root_ca_cert=ca, client_cert=certificate, client_private_key=key)


def _content(file: str) -> bytes | None:
    if not file:
        return None
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise SettingsError(f"temporal_tls_*: cannot read {file} ({error.strerror})") from error
