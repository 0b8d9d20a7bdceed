"""The writer of one execution, inside its workflow: what the walk does gathers, and is written when the walk waits.

Batches are numbered. One that is sent again is written once; what a walk does again is written once, too (`once`).
"""

import asyncio
from collections.abc import Awaitable, Callable

from temporalio import workflow

from penstock.engine.embedded.writer import Portion, WriterEnded
from penstock.engine.temporal.once import Naming
from penstock.engine.temporal.passed import Batch, Follow
from penstock.engine.temporal.written import name_of

Send = Callable[[Batch], Awaitable[bool]]
"""Whether it could be written; if not, it never can."""


class Recorder:
    def __init__(self, execution_id: str, project_id: str, recorded: int, send: Send) -> None:
        self._execution_id = execution_id
        self._project_id = project_id
        self._number = recorded
        self._send = send
        self._naming = Naming(recorded, workflow.info().run_id)
        self._gathering: Portion | None = None
        self._born: list[str] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._writing: list[asyncio.Future[None]] | None = None
        self.ended = False
        self.follow: Follow | None = None
        """How it ends, once it does: what follows from that is found and written with the end."""

    def of(self, _execution_id: str) -> Portion:
        if self._gathering is None:
            self._gathering = Portion()
        return self._gathering

    def born(self, execution_id: str) -> None:
        """An execution that is among what gathers: started when it is durable."""
        self._born.append(execution_id)

    async def flush(self, _execution_id: str | None = None) -> None:
        self.require_open()
        waiting = asyncio.get_running_loop().create_future()
        if self._gathering is not None:
            self._waiting.append(waiting)
        elif self._writing is not None:
            self._writing.append(waiting)
        else:
            return
        await waiting

    def require_open(self) -> None:
        if self.ended:
            raise WriterEnded

    async def run(self) -> None:
        """For as long as the workflow runs."""
        while not self.ended:
            # Conditions are looked at when nothing else can go on: all that the walk does until it waits is one batch.
            await workflow.wait_condition(lambda: self._gathering is not None)
            batch, self._writing, self._waiting = self._taken(), self._waiting, []
            written = await self._send(batch)
            self._naming.written(_history(), batch.names)
            told, self._writing = self._writing, None
            self.ended = not written
            for waiting in [*told, *(() if written else self._waiting)]:
                if not waiting.done():
                    if written:
                        waiting.set_result(None)
                    else:
                        waiting.set_exception(WriterEnded())

    def _taken(self) -> Batch:
        assert self._gathering is not None  # noqa: S101
        portion, self._gathering = self._gathering.frozen(), None
        born, self._born = self._born, []
        self._number += 1
        writes = [(name_of(statement), row) for statement, row in portion.writes]
        return Batch(
            execution_id=self._execution_id,
            project_id=self._project_id,
            number=self._number,
            writes=writes,
            events=portion.events,
            logs=portion.logs,
            changes=portion.changes,
            born=born,
            follow=self.follow,
            names=self._naming.of(_history(), writes, portion.events, portion.logs, portion.changes),
        )


def _history() -> int:
    return workflow.info().get_current_history_length()
