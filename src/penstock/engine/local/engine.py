"""Runs workflows in this process, and those that they run."""

import asyncio
from typing import Any

from penstock.dsl.model import Workflow
from penstock.engine.faults import Fault
from penstock.engine.host import ChildOf, Json, Step
from penstock.engine.interpreter import interpret
from penstock.engine.local.bus import Bus
from penstock.engine.local.host import LocalHost, Watch
from penstock.engine.local.library import Library
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel
from penstock.ids import uuid7


class Unwatched:
    def changed(self, step: Step, what: str, within: Step | None) -> None:
        """Nobody looks."""

    def said(self, step: Step | None, level: LogLevel, message: str, fields: Json) -> None:
        """Nobody listens."""


class LocalEngine:
    def __init__(
        self,
        performer: Performer,
        *,
        library: Library | None = None,
        secrets: Secrets | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.performer = performer
        self.secrets = secrets if secrets is not None else Secrets({})
        self.watch: Watch = watch if watch is not None else Unwatched()
        self.bus = Bus()
        self._library = library if library is not None else Library()
        self._unawaited: set[asyncio.Task[Any]] = set()

    async def run(self, workflow: Workflow, data: Any) -> Any:
        """The workflow's output, when all that it started has ended. Raises `Fault`."""
        try:
            output = await self._execute(workflow, uuid7(), data, None)
            await asyncio.gather(*self._unawaited, return_exceptions=True)
        finally:
            for child in self._unawaited:
                child.cancel()
            await asyncio.gather(*self._unawaited, return_exceptions=True)
        return output

    async def run_child(self, execution_id: str, child: ChildOf, data: Any, within: Step, *, awaited: bool) -> Any:
        running = self._execute(self._library.find(child), execution_id, data, within)
        if awaited:
            try:
                return await running
            except Fault as fault:
                # Where it came from in the child is no place in the definition of the parent.
                raise fault.elsewhere() from None
        task = asyncio.create_task(running)
        self._unawaited.add(task)
        return None

    async def _execute(self, workflow: Workflow, execution_id: str, data: Any, within: Step | None) -> Any:
        host = LocalHost(self, workflow, execution_id, within)
        return await interpret(workflow, host, data, host.created_at)
