"""The engine of this server: which one the settings ask for, and what the platform lends it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, select

from penstock.egress import Egress
from penstock.engine.asked import Engine, EngineRefused
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.engine import EmbeddedEngine
from penstock.engine.embedded.parts import EngineLimits, EngineParts, MayStart
from penstock.engine.jq import Jq
from penstock.engine.rotated import StoredTokens
from penstock.engine.tasks.processes.removal import taking_up
from penstock.engine.tasks.work import Limits
from penstock.engine.tools import performing
from penstock.platform.access import role_of
from penstock.platform.roles import Role
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings, SettingsError
from penstock.storage import Database, Statement
from penstock.storage.schema import accounts
from penstock.streams import Level

if TYPE_CHECKING:
    from penstock.engine.temporal.condition import Condition
    from penstock.engine.temporal.engine import TemporalEngine

__all__ = ["Engine", "EngineRefused", "start_engine", "temporal_worker", "worker_condition"]

# Several times what a step may have: what an expression gives stays in memory for as long as its task takes.
_MOST_JQ_OUTPUT = 2 * 1024 * 1024
_ACTIVE = Statement(select(accounts.c.active).where(accounts.c.id == bindparam("id")))


async def start_engine(
    stack: AsyncExitStack, settings: Settings, database: Database, vault: Vault, egress: Egress
) -> "EmbeddedEngine | TemporalEngine | None":
    """Started; it ends with the stack. None when the settings ask for none."""
    if settings.engine == "none":
        return None
    if settings.engine == "temporal":
        return await _start_on_temporal(stack, settings, database, vault)
    performer = await stack.enter_async_context(performing(egress, task_limits(settings), jq_of(settings)))
    performer.tools.http.rotated = StoredTokens(database, vault)
    await stack.enter_async_context(taking_up(performer.tools))
    engine = EmbeddedEngine(database, performer, engine_limits(settings), vault, may_start_on(database))
    engine.start()
    stack.push_async_callback(engine.close)
    return engine


async def _start_on_temporal(
    stack: AsyncExitStack, settings: Settings, database: Database, vault: Vault
) -> "TemporalEngine":
    """What it needs here is little: workers do the work."""
    require_temporal()
    from penstock.engine.temporal.connection import Cluster, connect  # noqa: PLC0415 - an optional package
    from penstock.engine.temporal.engine import TemporalEngine  # noqa: PLC0415

    jq = jq_of(settings)
    await jq.start()
    stack.push_async_callback(jq.stop)
    cluster = Cluster.of(settings)
    client = await connect(cluster, vault, database, lazy=True)
    engine = TemporalEngine(database, client, cluster.task_queue, engine_limits(settings), jq)
    engine.start()
    stack.push_async_callback(engine.close)
    return engine


def worker_condition(settings: Settings, database: Database, stop: asyncio.Event) -> "Condition":
    """Of a worker that is yet to be started; whoever has its address may ask for it."""
    require_temporal()
    from penstock.engine.temporal.condition import Condition  # noqa: PLC0415 - an optional package

    return Condition(database, stop, shown=bool(settings.worker_listen))


@asynccontextmanager
async def temporal_worker(
    settings: Settings, database: Database, vault: Vault, egress: Egress, stop: asyncio.Event, condition: "Condition"
) -> AsyncIterator[None]:
    """A worker on the cluster that the settings name, for as long as the block lasts. The cluster may be away when it
    begins: it is waited for until `stop`."""
    from penstock.engine.temporal.connection import Cluster, connect_in_time  # noqa: PLC0415 - an optional package
    from penstock.engine.temporal.worker import WorkerLimits, working  # noqa: PLC0415

    cluster = Cluster.of(settings)
    client = await connect_in_time(cluster, vault, database, stop, condition.runtime)
    if client is None:
        yield
        return
    async with performing(egress, task_limits(settings), jq_of(settings)) as performer:
        performer.tools.http.rotated = StoredTokens(database, vault)
        parts = EngineParts()
        parts.database, parts.performer, parts.vault = database, performer, vault
        parts.limits, parts.may_start = engine_limits(settings), may_start_on(database)
        parts.definitions = Definitions(database)
        limits = WorkerLimits(
            workflows=settings.worker_workflows,
            activities=settings.worker_activities,
            history=settings.worker_history,
            drain=float(settings.worker_drain),
            versioned=settings.worker_versions,
        )
        async with working(client, cluster.task_queue, parts, limits, condition):
            yield


def require_temporal() -> None:
    if find_spec("temporalio") is None:
        raise SettingsError(
            'engine = "temporal" needs the package temporalio: install penstock[temporal], or set engine = "embedded"'
        )


def jq_of(settings: Settings) -> Jq:
    return Jq(
        processes=settings.expression_processes,
        seconds=float(settings.expression_time),
        megabytes=settings.expression_memory,
        most_output=_MOST_JQ_OUTPUT,
    )


def may_start_on(database: Database) -> MayStart:
    async def may_start(user_id: str, workflow_id: str) -> bool:
        account = await database.one(_ACTIVE, id=user_id)
        if account is None or not account[0]:
            return False
        role = await role_of(database, user_id, "workflow", workflow_id)
        return role is not None and role >= Role.EDITOR

    return may_start


def task_limits(settings: Settings) -> Limits:
    return Limits(
        answer_bytes=settings.answer_size,
        seconds=float(settings.call_timeout),
        processes=frozenset(settings.processes),
        processes_at_once=settings.processes_at_once,
        process_memory=settings.process_memory * 1024 * 1024,
        process_cpu=int(settings.process_cpu),
        catalog=Path(settings.catalog) if settings.catalog else None,
    )


def engine_limits(settings: Settings) -> EngineLimits:
    return EngineLimits(
        at_once=settings.executions_at_once,
        begun=settings.executions_begun,
        step_bytes=settings.step_size,
        execution_bytes=settings.execution_size,
        log_level=Level[settings.execution_log_level.upper()],
        event_lives=int(settings.event_ttl),
        sinks=tuple(settings.event_sinks),
    )
