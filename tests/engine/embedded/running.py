"""Waiting for executions."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.platform.people import Person

_PATIENCE = 180.0  # seconds; a busy machine takes many


async def ended(person: Person, execution_id: str) -> Any:
    """The execution, when it has ended."""
    return await until(person, execution_id, lambda each: each["status"] not in {"pending", "running"})


async def came(what: Callable[[], Awaitable[bool]]) -> None:
    """Wait until it is so."""
    patience = time.monotonic() + _PATIENCE
    while not await what():
        assert time.monotonic() < patience
        await asyncio.sleep(0.02)


async def until(person: Person, execution_id: str, done: Any) -> Any:
    patience = time.monotonic() + _PATIENCE
    while True:
        execution = (await person.get(f"/executions/{execution_id}")).json()
        if done(execution):
            return execution
        assert time.monotonic() < patience, execution
        await asyncio.sleep(0.02)
