"""Data on its way through a task: expressions evaluated, schemas held against it."""

from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Protocol

import jsonschema_rs
import msgspec

from penstock.dsl.durations import NotADuration, microseconds
from penstock.dsl.expressions import ExpressionFailed, NeedsJq, Program
from penstock.dsl.model import Schema, Shape, Transform
from penstock.dsl.values import Constant, Expression, Items, Joined, Loose, Members, Value, joined
from penstock.engine.faults import Fault, configuration, expression, validation

Load = Callable[[Any], Awaitable[Any]]
"""Fetches a document that a definition names."""
_MOST_SHOWN = 5


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
            try:
                return self._evaluates.evaluate_now(program, dot, variables)
            except NeedsJq:
                return await self._evaluates.evaluate(program, dot, variables)
        except ExpressionFailed as error:
            raise expression("Expression failed", f"{_shown(program.text)}: {error}") from None

    async def holds(self, program: Program, dot: Any, variables: Mapping[str, Any]) -> bool:
        """Whether a condition is met: as in jq, all but false and null is true."""
        answer = await self.ask(program, dot, variables)
        return answer is not None and answer is not False

    async def value(self, value: Value, dot: Any, variables: Mapping[str, Any]) -> Any:
        """The value with its expressions evaluated. Constants are not copied: nobody changes data in place."""
        match value:
            case Constant(data):
                return data
            case Expression(program):
                return await self.ask(program, dot, variables)
            case Members(members):
                return {name: await self.value(item, dot, variables) for name, item in members}
            case Items(items):
                return [await self.value(item, dot, variables) for item in items]
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

    async def validate(self, shape: Shape, data: Any, what: str, load: Load) -> None:
        if shape.schema is not None:
            await self._validate(shape.schema, data, what, load)

    async def _validate(self, schema: Schema, data: Any, what: str, load: Load) -> None:
        document = schema.document if schema.resource is None else await load(schema.resource)
        validator = _validator(msgspec.json.encode(document))
        errors = [_told(error) for error, _ in zip(validator.iter_errors(data), range(_MOST_SHOWN), strict=False)]
        if errors:
            raise validation(f"{what} is not valid", "; ".join(errors))


@lru_cache(maxsize=1_000)
def _validator(document: bytes) -> jsonschema_rs.Validator:
    try:
        return jsonschema_rs.validator_for(msgspec.json.decode(document), retriever=_no_other)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise configuration("Not a JSON Schema", str(error).splitlines()[0]) from None


def _no_other(uri: str) -> Any:
    """A schema reaches nothing but itself: it would be a way out past the egress policy."""
    raise ValueError(f"a schema must not refer to another document ({uri[:200]})")


def _told(error: jsonschema_rs.ValidationError) -> str:
    at = "/".join(str(part) for part in error.instance_path)
    return f"{at or 'it'}: {error.message[:300]}"


def _shown(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"
