"""Whether the next execution of a workflow may begin: its definition says how many of them may run at the same time.

A definition may take seconds to be made ready. Whoever is next in the queue does not wait for another one's.
"""

import asyncio
from collections.abc import Callable
from weakref import WeakValueDictionary

from penstock.engine.embedded.definitions import Definitions
from penstock.engine.embedded.execution import Execution
from penstock.engine.faults import Fault

_Version = tuple[str, int]


class Preparing:
    def __init__(self, definitions: Definitions, ready: Callable[[str], None]) -> None:
        self._definitions = definitions
        self._ready = ready
        self._most: dict[_Version, int | None] = {}
        self._tasks: dict[_Version, asyncio.Task[None]] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    def begin(self, execution: Execution) -> None:
        """`ready` is told the workflow when `most` knows."""
        version = (execution.workflow_id, execution.version)
        if version not in self._tasks:
            task = self._tasks[version] = asyncio.create_task(self._prepare(execution.project_id, version))
            task.add_done_callback(lambda _: self._done(version))

    def knows(self, execution: Execution) -> bool:
        version = (execution.workflow_id, execution.version)
        return version in self._most or self._definitions.known(*version) is not None

    def most(self, execution: Execution) -> int | None:
        """How many of its workflow may run at the same time; None when as many as there are."""
        version = (execution.workflow_id, execution.version)
        known = self._definitions.known(*version)
        return self._most.pop(version, None) if known is None else known.concurrency

    def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    async def _prepare(self, project_id: str, version: _Version) -> None:
        # One at a time of each project: the threads are there for all.
        async with self._turns.setdefault(project_id, asyncio.Lock()):
            try:
                self._most[version] = (await self._definitions.get(*version)).concurrency
            except Fault:
                self._most[version] = None  # its run says why it cannot be

    def _done(self, version: _Version) -> None:
        self._tasks.pop(version, None)
        self._ready(version[0])
