"""The engine of this server: which one the settings ask for, and what the platform lends it."""

from contextlib import AsyncExitStack
from pathlib import Path

from sqlalchemy import bindparam, select

from penstock.egress import Egress
from penstock.engine.asked import Engine, EngineRefused
from penstock.engine.embedded.engine import EmbeddedEngine
from penstock.engine.embedded.parts import EngineLimits
from penstock.engine.jq import Jq
from penstock.engine.tasks.work import Limits
from penstock.engine.tools import performing
from penstock.platform.access import role_of
from penstock.platform.roles import Role
from penstock.platform.secrets.vault import Vault
from penstock.settings import Settings
from penstock.storage import Database, Statement
from penstock.storage.schema import accounts
from penstock.streams import Level

__all__ = ["Engine", "EngineRefused", "start_engine"]

# Several times what a step may have: what an expression gives stays in memory for as long as its task takes.
_MOST_JQ_OUTPUT = 2 * 1024 * 1024
_ACTIVE = Statement(select(accounts.c.active).where(accounts.c.id == bindparam("id")))


async def start_engine(
    stack: AsyncExitStack, settings: Settings, database: Database, vault: Vault, egress: Egress
) -> EmbeddedEngine | None:
    """Started; it ends with the stack. None when the settings ask for none."""
    if settings.engine != "embedded":
        return None
    jq = Jq(
        processes=settings.expression_processes,
        seconds=float(settings.expression_time),
        megabytes=settings.expression_memory,
        most_output=_MOST_JQ_OUTPUT,
    )
    performer = await stack.enter_async_context(performing(egress, task_limits(settings), jq))

    async def may_start(user_id: str, workflow_id: str) -> bool:
        account = await database.one(_ACTIVE, id=user_id)
        if account is None or not account[0]:
            return False
        role = await role_of(database, user_id, "workflow", workflow_id)
        return role is not None and role >= Role.EDITOR

    engine = EmbeddedEngine(database, performer, engine_limits(settings), vault, may_start)
    engine.start()
    stack.push_async_callback(engine.close)
    return engine


def task_limits(settings: Settings) -> Limits:
    return Limits(
        answer_bytes=settings.answer_size,
        seconds=float(settings.call_timeout),
        processes=frozenset(settings.processes),
        catalog=Path(settings.catalog) if settings.catalog else None,
    )


def engine_limits(settings: Settings) -> EngineLimits:
    return EngineLimits(
        at_once=settings.executions_at_once,
        step_bytes=settings.step_size,
        execution_bytes=settings.execution_size,
        log_level=Level[settings.execution_log_level.upper()],
        event_lives=int(settings.event_ttl),
        sinks=tuple(settings.event_sinks),
    )
