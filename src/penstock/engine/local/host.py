"""The host of one execution in this process. What happens is told to whoever watches."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

from penstock.dsl.model import Workflow
from penstock.engine.host import ChildOf, Json, Listening, Received, Step
from penstock.engine.hosting import Hosting
from penstock.engine.local.bus import LocalListening
from penstock.engine.tasks.work import LogLevel

if TYPE_CHECKING:
    from penstock.engine.local.engine import LocalEngine


class Watch(Protocol):
    """Told what happens, as it happens. `within` is the step that started the execution, if one did."""

    def changed(self, step: Step, what: str, within: Step | None) -> None: ...

    def said(self, step: Step | None, level: LogLevel, message: str, fields: Json) -> None: ...


class LocalHost(Hosting):
    def __init__(self, engine: "LocalEngine", workflow: Workflow, execution_id: str, within: Step | None) -> None:
        super().__init__(workflow, execution_id, self.now(), engine.secrets, engine.performer)
        self._engine = engine
        self._within = within
        self._consumed: dict[str, list[Received]] = {}

    async def _gate(self) -> None:
        """Nobody pauses what runs here."""

    async def _settled(self) -> None:
        """Nothing is durable here."""

    def _changed(self, step: Step, what: str) -> None:
        self._engine.watch.changed(step, what, self._within)

    def _says(self, step: Step | None, level: LogLevel, message: str, **fields: Any) -> None:
        secrets = self.secrets
        self._engine.watch.said(step, level, secrets.mask_text(message), secrets.mask(fields))

    async def sleep(self, step: Step, until: int) -> None:
        await asyncio.sleep(max(0, until - self.now()) / 1_000_000)

    async def emit(self, step: Step, event: Json) -> None:
        self._engine.bus.publish(event)

    def listen(self, step: Step) -> AbstractAsyncContextManager[Listening]:
        return self._listen(step)

    @asynccontextmanager
    async def _listen(self, step: Step) -> AsyncIterator[Listening]:
        with self._engine.bus.hear() as ear:
            yield LocalListening(self._engine.bus, ear, self._consumed.setdefault(step.position, []))

    async def run_workflow(self, step: Step, child: ChildOf, data: Any, *, awaited: bool) -> Any:
        return await self._engine.run_child(self.id_for(step.position), child, data, step, awaited=awaited)
