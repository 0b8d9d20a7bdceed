"""A worker in this process, as `penstock worker` would be; and what one does that takes over from another."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from temporalio.client import Client
from temporalio.worker import Replayer

from penstock.egress import Egress
from penstock.engine.temporal.connection import Cluster, connect
from penstock.engine.temporal.errand import ErrandWorkflow
from penstock.engine.temporal.parts import surroundings
from penstock.engine.temporal.worker import runner
from penstock.engine.temporal.workflow import ExecutionWorkflow
from penstock.platform.engine import temporal_worker, worker_condition
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings, load
from penstock.storage import Database, open_database
from penstock.storage.secret import server_secret
from tests import processes
from tests.acceptance.server import until

_REPLAYED = "replay-None"  # the task queue, as the SDK says it then
Histories = Callable[[], Awaitable[int]]


@asynccontextmanager
async def working(**given: Any) -> AsyncIterator[Client]:
    """The client sees what the worker sees."""
    async with _opened(given) as (settings, database, vault):
        egress = Egress(settings.egress_deny, settings.egress_allow)
        stop = asyncio.Event()
        condition = worker_condition(settings, database, stop)
        async with temporal_worker(settings, database, vault, egress, stop, condition):
            yield await connect(Cluster.of(settings), vault, database, lazy=False)


@asynccontextmanager
async def _opened(given: dict[str, Any]) -> AsyncIterator[tuple[Settings, Database, Vault]]:
    # A process that computes an expression may have to wait for its turn longer than it computes.
    patient = {"expression_time": "30s", "worker_drain": "1s"}
    different = {"processes": ["script", "shell", "container", "mcp"], **patient, **given}
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
            debug_mode=True,  # nobody takes a test that is halted for a deadlock
        )
        surroundings[_REPLAYED] = surroundings[settings.temporal_task_queue]
        found = client.list_workflows(f"TaskQueue = '{settings.temporal_task_queue}'").map_histories()
        results = await replayer.replay_workflows(found, raise_on_replay_failure=False)
        assert not results.replay_failures, results.replay_failures
        return (await client.count_workflows(f"TaskQueue = '{settings.temporal_task_queue}'")).count


@asynccontextmanager
async def worker_process(
    folder: Path, database: str, settings: dict[str, str], says: str = '"working"'
) -> AsyncIterator[processes.Running]:
    """As its own process, once it works, or says something else."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    environ |= {f"PENSTOCK_{name.upper()}": value for name, value in settings.items()}
    log = folder / "worker.log"
    with log.open("w") as written:
        command = ["worker", "--database", database]
        process = processes.start(command, cwd=folder, env=environ, stderr=written.fileno())

    def works() -> bool:
        assert process.poll() is None, log.read_text()
        return says in log.read_text()

    try:
        await until(works)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def listens(folder: Path) -> str:
    """Where a process of a worker that works answers probes."""
    said = (line for line in (folder / "worker.log").read_text().splitlines() if '"working"' in line)
    return f"http://{json.loads(next(said))['listen']}"
