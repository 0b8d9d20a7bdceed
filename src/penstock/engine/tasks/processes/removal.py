"""Containers that are removed some time after their end (`lifetime.cleanup: eventually`), by this server or the next.

Labels say so on the container itself, as the daemon outlives us. After a restart, the time counts anew.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from penstock.engine.faults import Fault
from penstock.engine.tasks.processes.docker_client import called, client
from penstock.engine.tasks.processes.process import run
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel, Tools, Work

log = structlog.get_logger()
CLEANUP, AFTER = "penstock.cleanup", "penstock.after"
_FORMAT = f'{{{{.Names}}}} {{{{.Label "{AFTER}"}}}}'
_removals: set[asyncio.Task[None]] = set()


def remove_later(program: str, name: str, seconds: float, work: Work) -> None:
    async def remove() -> None:
        await asyncio.sleep(seconds)
        ended = await run(called([program, "rm", "--force", name]), work, logs=False)
        if ended.code == 0:
            work.says("info", f"the container {name} is removed")
        else:
            work.says("warn", f"the container {name} could not be removed", code=ended.code)

    task = asyncio.get_running_loop().create_task(remove())
    _removals.add(task)
    task.add_done_callback(_removals.discard)


@asynccontextmanager
async def taking_up(tools: Tools) -> AsyncIterator[None]:
    """What an earlier life of the server left to be removed is removed in this one."""
    if "container" not in tools.limits.processes:
        yield
        return
    looking = asyncio.create_task(take_up(_own_work(tools)))
    try:
        yield
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def take_up(work: Work) -> None:
    try:
        program = client()
        wanted = [f"--filter=label={CLEANUP}=eventually", "--filter=status=exited", f"--format={_FORMAT}"]
        listed = await run(called([program, "ps", "--all", *wanted]), work, logs=False)
    except Fault as fault:
        # There is no Docker here, and so nothing that it left.
        work.says("debug", f"no containers to take up: {fault.error.message}")
        return
    if listed.code != 0:
        work.says("warn", "the containers that are left cannot be listed; those to be removed stay", code=listed.code)
        return
    for line in listed.stdout.splitlines():
        name, _, after = line.partition(" ")
        with suppress(ValueError):  # somebody else's label
            remove_later(program, name, float(after), work)


def _own_work(tools: Tools) -> Work:
    """Of no execution: those that the containers were for have ended."""
    return Work("", "", "penstock/removal", "remove", Secrets({}), _say, tools)


def _say(level: LogLevel, message: str, **fields: Any) -> None:
    getattr(log, {"warn": "warning"}.get(level, level))(message, **fields)
