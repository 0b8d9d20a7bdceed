"""A worker in this process, as `penstock worker` would be."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from penstock.egress import Egress
from penstock.platform.engine import temporal_worker
from penstock.platform.secrets.vault import Vault
from penstock.settings import load
from penstock.storage import open_database
from penstock.storage.secret import server_secret


@asynccontextmanager
async def working(database: str, **given: Any) -> AsyncIterator[None]:
    different = {"processes": ["script", "shell"], "worker_drain": "1s", **given}
    settings = load(environ={}, overrides={"database": database, **different}).settings
    opened = await open_database(database)
    try:
        vault = Vault(settings, await server_secret(opened, settings.jwt_secret.reveal()))
        egress = Egress(settings.egress_deny, settings.egress_allow)
        async with temporal_worker(settings, opened, vault, egress):
            yield
    finally:
        await opened.close()
