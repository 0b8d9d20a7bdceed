"""Activities that reach out: a call, a process, a document, a subscription. A fault is an answer, not a failure."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog
from temporalio import activity
from temporalio.client import Client

from penstock.engine.behalf import on_behalf_of
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.faults import Fault
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Performed, Work
from penstock.engine.temporal import passed
from penstock.engine.temporal.apart import require_running
from penstock.engine.temporal.lines import Lines
from penstock.engine.temporal.wanted import require_wanted

log = structlog.get_logger()
_BEAT_EVERY = 0.5
_ATTEMPT = 1_000_000_000


class Far:
    def __init__(self, parts: EngineParts, client: Client) -> None:
        self._parts = parts
        self._client = client

    @property
    def all(self) -> list[Callable[..., Any]]:
        return [self.perform, self.subscribe]

    @activity.defn
    async def perform(self, asked: passed.Perform) -> passed.Performed:
        done, error = Performed(None), None
        async with self._work(asked) as (work, lines):
            try:
                done = await self._perform(asked, work)
            except Fault as fault:
                error = fault.error
            await lines.write()
        return passed.Performed(
            output=done.output,
            authorization=done.authorization,
            error=error,
            hidden=_new(asked, work),
            logged=lines.size,
        )

    async def _perform(self, asked: passed.Perform, work: Work) -> Performed:
        performer, arguments = self._parts.performer, asked.arguments
        match asked.kind:
            case "fetch":
                return Performed(await performer.fetch(arguments, work))
            case "read":
                return Performed(await performer.read(arguments, work))
            case "find_function":
                return Performed(await performer.find_function(arguments["place"], arguments["catalog"], work))
            case kind:
                return await performer.perform(kind, arguments, work)

    @activity.defn
    async def subscribe(self, asked: passed.Perform) -> passed.Performed:
        """Each message goes to the workflow as a signal, in its order, for as long as it wants any."""
        handle = self._client.get_workflow_handle(asked.execution_id)
        error = None
        async with self._work(asked) as (work, lines):
            try:
                # A worker that was lost may have sent some: this one's count from a higher number.
                number = activity.info().attempt * _ATTEMPT
                async with self._parts.performer.subscribe(asked.arguments, work) as messages:
                    async for data in messages:
                        message = passed.Message(position=asked.position, number=number, data=data)
                        await handle.signal("message", message)
                        number += 1
            except Fault as fault:
                error = fault.error
            await lines.write()
        return passed.Performed(error=error, hidden=_new(asked, work), logged=lines.size)

    @asynccontextmanager
    async def _work(self, asked: passed.Perform) -> AsyncIterator[tuple[Work, Lines]]:
        on_behalf_of.set(asked.project_id)
        secrets = Secrets(await self._secrets(asked))
        secrets.learn(*asked.hidden)
        lines = Lines(self._parts.database, asked, secrets, self._parts.limits.log_level)
        work = Work(
            key=asked.key,
            execution_id=asked.execution_id,
            workflow=asked.workflow,
            task=asked.task,
            secrets=secrets,
            says=lines.say,
            tools=self._parts.performer.tools,
            timed=asked.timed,
        )
        beating = asyncio.create_task(_beat(lines))
        try:
            await require_wanted(self._client, asked.execution_id, asked.task)
            if asked.step:
                await require_running(self._parts.database, asked.step)
            if (attempt := activity.info().attempt) > 1:
                log.warning(
                    "performed again, as nothing was heard of it", execution_id=asked.execution_id, task=asked.task,
                    key=asked.key, attempt=attempt,
                )  # fmt: skip
            yield work, lines
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _secrets(self, asked: passed.Perform) -> dict[str, str]:
        if not asked.secrets:
            return {}
        return await self._parts.vault.open(self._parts.database, asked.project_id, asked.secrets)


async def _beat(lines: Lines) -> None:
    """That this worker lives; and Temporal answers when the work is not wanted any more. What was printed is shown."""
    while True:
        await asyncio.sleep(_BEAT_EVERY)
        activity.heartbeat()
        await lines.write()


def _new(asked: passed.Perform, work: Work) -> list[str]:
    return sorted(work.secrets.learned.difference(asked.hidden))
