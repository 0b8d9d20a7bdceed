"""The jq processes of a server: as many as are busy, up to a number, and one kept warm."""

import asyncio
import contextlib
from collections.abc import Coroutine, Iterable, Mapping
from typing import Any

import msgspec
import structlog

from penstock.dsl.expressions import ExpressionFailed, NeedsJq, NotAnExpression, Program
from penstock.dsl.expressions.allowed import compile_message, require_allowed, wrapped
from penstock.engine.behalf import on_behalf_of
from penstock.engine.jq.process import Limits, Process, ProcessLost
from penstock.engine.jq.turns import Turns
from penstock.engine.jq.worker import SCHEMA

LARGEST_INPUT = 8 * 1024 * 1024
_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Jq:
    """Started once per server. Belongs to the event loop that started it."""

    def __init__(self, *, processes: int, seconds: float, megabytes: int, most_output: int) -> None:
        self._most = processes
        self._limits = Limits(seconds, megabytes, most_output)
        self._idle: list[Process] = []
        self._alive: set[Process] = set()
        self._starts = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self._turns: Turns[Process] = Turns()
        self._stopped = True

    async def start(self) -> None:
        self._stopped = False
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

    def evaluate_now(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        """Without a process. Raises NeedsJq when it must be one."""
        if program.fast is None:
            raise NeedsJq
        return program.fast(dot, variables)

    async def evaluate(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        """No output is null, one is itself, several are a list. Raises ExpressionFailed."""
        with contextlib.suppress(NeedsJq):
            return self.evaluate_now(program, dot, variables)
        if program.refused is not None:
            raise ExpressionFailed(program.refused)
        names = tuple(sorted(program.variables & variables.keys()))
        document = _document([dot, *(variables[name] for name in names)])
        try:
            outputs = await self._ask(program.text, wrapped(program.text, names).encode(), document)
        except NotAnExpression as error:
            raise ExpressionFailed(compile_message(str(error), program.text, names)) from error
        return _value(outputs)

    async def violations(self, schema: bytes, data: Any) -> list[str]:
        """What of the data a JSON Schema does not allow; no more than a few. Raises NotAnExpression when it is no
        schema, and ExpressionFailed."""
        document = _document([data])
        found: list[str] = _decode(b"[%b]" % await self._ask("schema", SCHEMA.encode() + schema, document))
        return found

    async def require(self, text: str, variables: Iterable[str] = ()) -> None:
        """As `require_expression`, but nothing stands still while it is compiled. Raises NotAnExpression."""
        require_allowed(text)
        names = tuple(variables)
        try:
            await self._ask(text, wrapped(text, names).encode(), b"")
        except NotAnExpression as error:
            raise NotAnExpression(compile_message(str(error), text, names)) from error
        except ExpressionFailed as error:
            raise NotAnExpression("takes too long to compile: write it shorter") from error

    async def _ask(self, who: str, program: bytes, document: bytes) -> bytes:
        for _ in range(2):
            process = await self._take(who)
            try:
                return await process.ask(program, document)
            except ProcessLost:
                continue
            finally:
                self._give(process)
        raise ExpressionFailed("the process that ran the expression was ended from outside: run it again")

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
            process = await Process.start(self._limits)
        except (OSError, ProcessLost) as error:
            self._starts -= 1
            _log.error("no process for expressions", reason=str(error))
            if not self._alive and not self._starts:
                self._tell_all(ExpressionFailed("no process could be started to run the expression: try again later"))
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


def _document(values: list[Any]) -> bytes:
    try:
        document = _encode(values)
    except (UnicodeEncodeError, RecursionError, TypeError, OverflowError) as error:
        raise ExpressionFailed(f"the expression's input cannot be written as JSON: {error}") from error
    if len(document) > LARGEST_INPUT:
        raise ExpressionFailed(f"the expression's input has more than {LARGEST_INPUT >> 20} MiB: give it less")
    return document


def _value(outputs: bytes) -> Any:
    try:
        values = _decode(b"[%b]" % outputs)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ExpressionFailed(f"the expression's output cannot be read as JSON: {error}") from error
    if len(values) > 1:
        return values
    return values[0] if values else None


def _stopping() -> ExpressionFailed:
    return ExpressionFailed("the server stops: run it again")
