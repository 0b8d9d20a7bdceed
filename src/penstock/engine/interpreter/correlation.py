"""Which events a listener, or a schedule, consumes, and when it has what it waits for."""

import json
import re
from functools import lru_cache
from typing import Any

from penstock.dsl import model
from penstock.dsl.expressions import Program, program
from penstock.dsl.values import Constant, Expression, Value
from penstock.engine.faults import Fault
from penstock.engine.interpreter.dataflow import DataFlow
from penstock.engine.interpreter.scope import Frame

_NOT_PLAIN = re.compile(r"[\\^$*+?()\[\]{}|]")
_LONGEST_PATTERN = 500
_MISSING = object()


class Correlator:
    """One listener's view of the events that are offered to it."""

    def __init__(self, flow: DataFlow, to: model.Consumption, frame: Frame) -> None:
        self._flow = flow
        self._to = to
        self._frame = frame
        self._filled: set[int] = set()
        self._any = False
        self._ended = False
        self._last_ended = False
        self.keys: dict[str, Any] = {}
        """What the correlations came to; the first event says what the others must have."""
        self._until = Correlator(flow, to.until, frame) if isinstance(to.until, model.Consumption) else None

    async def offer(self, event: dict[str, Any], *, recalled: bool = False) -> bool:
        """Whether it consumes this event."""
        self._last_ended = False
        if self._until is not None and await self._until.offer(event, recalled=recalled):
            self._ended = await self._until.enough([event])
            self._last_ended = True
            return True
        if self._to.kind == "any" and not self._to.filters:
            self._any = True
            return True
        for number, each in enumerate(self._to.filters):
            if self._to.kind == "all" and number in self._filled:
                continue
            if await self._matches(each, event):
                self._filled.add(number)
                self._any = True
                return True
        return False

    def only_ends(self, _event: dict[str, Any]) -> bool:
        """An event that was consumed by `until` alone is no part of the output."""
        return self._last_ended

    async def enough(self, outputs: list[Any]) -> bool:
        match self._to.kind:
            case "all":
                return len(self._filled) == len(self._to.filters)
            case "any" if isinstance(self._to.until, Program):
                return self._any and await self._flow.holds(self._to.until, outputs, self._frame)
            case "any" if self._until is not None:
                return self._ended
            case _:
                return self._any

    async def _matches(self, wanted: model.Filter, event: dict[str, Any]) -> bool:
        for name, value in wanted.attributes:
            if not await self._attribute(value, event.get(name, _MISSING)):
                return False
        return await self._correlates(wanted.correlations, event)

    async def _attribute(self, wanted: Value, given: Any) -> bool:
        if given is _MISSING:
            return False
        match wanted:
            case Constant(str() as text):
                return isinstance(given, str) and (text == given or await self._alike(text, given))
            case Constant(data):
                return bool(data == given)
            case Expression(program):
                # Data that an expression cannot be asked about is not what it looks for.
                try:
                    answer = await self._flow.ask(program, given, self._frame)
                except Fault:
                    return False
                return answer if isinstance(answer, bool) else bool(answer == given)
            case _:
                return bool(await self._flow.value(wanted, given, self._frame) == given)

    async def _alike(self, pattern: str, text: str) -> bool:
        like = _like(pattern)
        try:
            return like is not None and await self._flow.holds(like, text, self._frame)
        except Fault:
            return False

    async def _correlates(self, correlations: tuple[model.Correlation, ...], event: dict[str, Any]) -> bool:
        found: dict[str, Any] = {}
        for each in correlations:
            try:
                value = await self._flow.ask(each.source, event, self._frame)
            except Fault:
                return False
            if value is None:
                return False
            if each.expect is not None:
                expected = await self._flow.value(each.expect, self._frame.input, self._frame)
            else:
                expected = self.keys.get(each.name, value)
            if value != expected:
                return False
            found[each.name] = value
        self.keys |= found
        return True


@lru_cache(maxsize=1_000)
def _like(pattern: str) -> Program | None:
    """Attributes may be given as regular expressions. jq asks them: one that takes for ever ends there, not here."""
    if not _NOT_PLAIN.search(pattern) or len(pattern) > _LONGEST_PATTERN:
        return None
    return program(f"test({json.dumps(f'^(?:{pattern})$')})")
