"""Data on its way through a task: expressions evaluated."""

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.dsl.durations import NotADuration, microseconds
from penstock.dsl.expressions import ExpressionFailed, NeedsJq, Program
from penstock.dsl.model import Transform
from penstock.dsl.values import Constant, Expression, Items, Joined, Loose, Members, Value, joined
from penstock.engine.faults import Fault, expression


class Evaluates(Protocol):
    """Whoever knows the value of an expression."""

    def evaluate_now(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any: ...

    async def evaluate(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any: ...


class DataFlow:
    def __init__(self, evaluates: Evaluates) -> None:
        self._evaluates = evaluates

    async def ask(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        """The value of an expression."""
        try:
            return self._ask_now(program, dot, variables)
        except NeedsJq:
            pass
        try:
            return await self._evaluates.evaluate(program, dot, variables)
        except ExpressionFailed as error:
            raise _failed(program, error) from None

    def _ask_now(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> Any:
        try:
            return self._evaluates.evaluate_now(program, dot, variables)
        except ExpressionFailed as error:
            raise _failed(program, error) from None

    async def holds(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> bool:
        """Whether a condition is met: as in jq, all but false and null is true."""
        answer = await self.ask(program, dot, variables)
        return answer is not None and answer is not False

    async def value(self, value: Value, dot: Any, variables: Mapping[str, Any]) -> Any:
        """The value with its expressions evaluated. Constants are not copied: nobody changes data in place."""
        try:
            return self._value_now(value, dot, variables)
        except NeedsJq:
            return await self._value(value, dot, variables)

    def _value_now(self, value: Value, dot: Any, variables: Mapping[str, Any]) -> Any:
        """The same, when no expression in it takes longer than microseconds; most are so."""
        if isinstance(value, Constant):
            return value.data
        if isinstance(value, Expression):
            return self._ask_now(value.program, dot, variables)
        if isinstance(value, Members):
            return {name: self._value_now(item, dot, variables) for name, item in value.items}
        if isinstance(value, Items):
            return [self._value_now(item, dot, variables) for item in value.items]
        raise NeedsJq

    async def _value(self, value: Value, dot: Any, variables: Mapping[str, Any]) -> Any:
        match value:
            case Constant(data):
                return data
            case Expression(program):
                return await self.ask(program, dot, variables)
            case Members(members):
                return {name: await self._value(item, dot, variables) for name, item in members}
            case Items(items):
                return [await self._value(item, dot, variables) for item in items]
            case Joined(parts):
                return joined([p if isinstance(p, str) else await self.ask(p, dot, variables) for p in parts])
            case Loose(text, program):
                try:
                    return await self.ask(program, dot, variables)
                except Fault:
                    return text

    async def transform(self, transform: Transform | None, data: Any, variables: Mapping[str, Any]) -> Any:
        if transform is None:
            return data
        if isinstance(transform, Program):
            return await self.ask(transform, data, variables)
        return await self.value(transform, data, variables)

    async def duration(self, value: Value, dot: Any, variables: Mapping[str, Any]) -> int:
        given = await self.value(value, dot, variables)
        try:
            return microseconds(given)
        except NotADuration as error:
            raise expression("Not a duration", str(error)) from None


def _failed(program: Program, error: ExpressionFailed) -> Fault:
    return expression("Expression failed", f"{_shown(program.text)}: {error}")


def _shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"
