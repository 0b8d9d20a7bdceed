"""What tests of processes share: the work of a task that may start them, and waiting for a process's end."""

import asyncio
import os
import select
from collections.abc import Awaitable, Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.engine.faults import Error, Fault
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Limits, Work


class Log(list[tuple[str, str]]):
    """What was said, and a way to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._more = asyncio.Event()

    def __call__(self, level: str, message: str, **_: Any) -> None:
        self.append((level, message))
        self._more.set()

    async def until(self, part: str) -> str:
        """The first message with these words in it."""
        async with asyncio.timeout(60):
            while True:
                if found := next((message for _, message in self if part in message), None):
                    return found
                self._more.clear()
                await self._more.wait()


def work_of(log: Log, *, secrets: Mapping[str, str] | None = None, **limits: Any) -> Work:
    kinds = frozenset({"script", "shell", "container"})
    tools: Any = SimpleNamespace(egress=None, limits=Limits(**{"processes": kinds, **limits}))
    return Work(
        key="key-1",
        execution_id="0197",
        workflow="shop/orders",
        task="pack the box",
        secrets=Secrets(secrets or {}),
        says=log,
        tools=tools,
    )


async def fault_of(performed: Awaitable[Any]) -> Error:
    with pytest.raises(Fault) as raised:
        await performed
    return raised.value.error


def gone(pid: int, seconds: float = 60) -> bool:
    """Whether the process ends within this time."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def kind(error: Error) -> str:
    return error.type.rpartition("/")[2]


Perform = Callable[[Mapping[str, Any], Work], Awaitable[Any]]
