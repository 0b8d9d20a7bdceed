"""A worker in this process, as `penstock worker` would be; and what one does that takes over from another."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from temporalio.client import Client
from temporalio.worker import Replayer

from penstock.egress import Egress
from penstock.engine.temporal.connection import Cluster, connect
from penstock.engine.temporal.errand import ErrandWorkflow
from penstock.engine.temporal.parts import surroundings
from penstock.engine.temporal.worker import runner
from penstock.engine.temporal.workflow import ExecutionWorkflow
from penstock.platform.engine import temporal_worker
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings, load
from penstock.storage import Database, open_database
from penstock.storage.secret import server_secret

_REPLAYED = "replay-None"  # the task queue, as the SDK says it then
Histories = Callable[[], Awaitable[int]]


@asynccontextmanager
async def working(**given: Any) -> AsyncIterator[Client]:
    """The client sees what the worker sees."""
    async with _opened(given) as (settings, database, vault):
        egress = Egress(settings.egress_deny, settings.egress_allow)
        async with temporal_worker(settings, database, vault, egress, asyncio.Event()):
            yield await connect(Cluster.of(settings), vault, database, lazy=False)


@asynccontextmanager
async def _opened(given: dict[str, Any]) -> AsyncIterator[tuple[Settings, Database, Vault]]:
    different = {"processes": ["script", "shell", "container", "mcp"], "worker_drain": "1s", **given}
    settings = load(environ={}, overrides=different).settings
    database = await open_database(settings.database.reveal())
    try:
        yield settings, database, Vault(settings, await server_secret(database, settings.jwt_secret.reveal()))
    finally:
        await database.close()


async def replayed(given: dict[str, Any]) -> int:
    """How many histories of the task queue were walked again, each in the same way. A worker must be there."""
    async with _opened(given) as (settings, database, vault):
        client = await connect(Cluster.of(settings), vault, database, lazy=False)
        replayer = Replayer(
            workflows=[ExecutionWorkflow, ErrandWorkflow],
            workflow_runner=runner(),
            data_converter=client.data_converter,
        )
        surroundings[_REPLAYED] = surroundings[settings.temporal_task_queue]
        found = client.list_workflows(f"TaskQueue = '{settings.temporal_task_queue}'").map_histories()
        results = await replayer.replay_workflows(found, raise_on_replay_failure=False)
        assert not results.replay_failures, results.replay_failures
        return (await client.count_workflows(f"TaskQueue = '{settings.temporal_task_queue}'")).count
