"""What is asked of the jq processes of a server, of which one is kept warm."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.dsl.expressions import ExpressionFailed, NeedsJq, NotAnExpression, Program
from penstock.dsl.expressions.allowed import compile_message, require_allowed, wrapped
from penstock.engine.jq.process import Limits, command
from penstock.engine.jq.processes import Processes
from penstock.engine.jq.worker import SCHEMA

LARGEST_INPUT = 8 * 1024 * 1024
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Jq:
    """Started once per server. Belongs to the event loop that started it."""

    def __init__(self, *, processes: int, seconds: float, megabytes: int, most_output: int) -> None:
        self._processes = Processes(processes, Limits(seconds, megabytes, most_output), command, warm=True)

    async def start(self) -> None:
        await self._processes.start()

    async def stop(self) -> None:
        """Ends the processes. Who still waits for an answer is told that there will be none."""
        await self._processes.stop()

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
            outputs = await self._processes.ask(program.text, wrapped(program.text, names).encode(), document)
        except NotAnExpression as error:
            raise ExpressionFailed(compile_message(str(error), program.text, names)) from error
        return _value(outputs)

    async def violations(self, schema: bytes, data: Any) -> list[str]:
        """What of the data a JSON Schema does not allow; no more than a few. Raises NotAnExpression when it is no
        schema, and ExpressionFailed."""
        document = _document([data])
        found: list[str] = _decode(b"[%b]" % await self._processes.ask("schema", SCHEMA.encode() + schema, document))
        return found

    async def require(self, text: str, variables: Iterable[str] = ()) -> None:
        """As `require_expression`, but nothing stands still while it is compiled. Raises NotAnExpression."""
        require_allowed(text)
        names = tuple(variables)
        try:
            await self._processes.ask(text, wrapped(text, names).encode(), b"")
        except NotAnExpression as error:
            raise NotAnExpression(compile_message(str(error), text, names)) from error
        except ExpressionFailed as error:
            raise NotAnExpression("takes too long to compile: write it shorter") from error


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
