"""Processes of one kind: as many as are busy, up to a number. Those who wait for one have their turns by project."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import structlog

from penstock.dsl.expressions import ExpressionFailed
from penstock.engine.behalf import on_behalf_of
from penstock.engine.jq.process import Limits, Process, ProcessLost
from penstock.engine.jq.turns import Turns

_log = structlog.get_logger(__name__)


class Processes:
    """Started once per server. Belongs to the event loop that started it."""

    def __init__(self, most: int, limits: Limits, command: Callable[[Limits], Sequence[str]], *, warm: bool) -> None:
        self._most = most
        self._limits = limits
        self._command = command
        self._warm = warm
        self._idle: list[Process] = []
        self._alive: set[Process] = set()
        self._starts = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._turns: Turns[Process] = Turns()
        self._stopped = True

    async def start(self) -> None:
        self._stopped = False
        if self._warm:
            self._start_one()

    async def stop(self) -> None:
        """Ends the processes. Who still waits for an answer is told that there will be none."""
        self._stopped = True
        for task in self._starting:
            task.cancel()
        self._tell_all(_stopping())
        self._idle.clear()
        await asyncio.gather(*self._starting, *self._ending, return_exceptions=True)
        await asyncio.gather(*(process.end() for process in self._alive))
        self._alive.clear()
        self._starts = 0

    async def ask(self, who: str, program: bytes, document: bytes) -> bytes:
        """Its outputs, as JSON with commas between. Raises ExpressionFailed, and NotAnExpression."""
        for _ in range(2):
            process = await self._take(who)
            try:
                return await process.ask(program, document)
            except ProcessLost:
                continue
            finally:
                self._give(process)
        raise ExpressionFailed("the process that worked on it was ended from outside: try it again")

    async def _take(self, who: str) -> Process:
        if self._stopped:
            raise _stopping()
        while self._idle:
            process = self._idle.pop()
            if process.alive:
                return process
            self._give(process)
        turn = self._turns.join(on_behalf_of.get() or who)
        if len(self._alive) + self._starts < self._most and self._starts < len(self._turns):
            self._start_one()
        try:
            return await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:
                self._give(turn.result())
            raise

    def _give(self, process: Process) -> None:
        """To whom waits for it. One that is gone is replaced at once."""
        if self._stopped:
            return
        if not process.alive:
            self._alive.discard(process)
            _keep(self._ending, process.end())
            if self._warm or len(self._turns):
                self._start_one()
        elif turn := self._turns.next():
            turn.set_result(process)
        else:
            self._idle.append(process)

    def _start_one(self) -> None:
        self._starts += 1
        _keep(self._starting, self._start())

    async def _start(self) -> None:
        try:
            process = await Process.start(self._limits, self._command(self._limits))
        except (OSError, ProcessLost) as error:
            self._starts -= 1
            _log.error("no process could be started", reason=str(error))
            if not self._alive and not self._starts:
                self._tell_all(ExpressionFailed("no process could be started for it: try again later"))
        else:
            self._starts -= 1
            self._alive.add(process)
            self._give(process)

    def _tell_all(self, why: ExpressionFailed) -> None:
        while turn := self._turns.next():
            turn.set_exception(why)


def _keep(tasks: set[asyncio.Task[None]], work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


def _stopping() -> ExpressionFailed:
    return ExpressionFailed("the server stops: run it again")
