"""Schemas held against data: at once where that takes no longer than the data is large, else where time is bounded."""

from functools import lru_cache
from typing import Any

import jsonschema_rs
import msgspec

from penstock.dsl.expressions import ExpressionFailed, NotAnExpression
from penstock.dsl.model import Schema, Shape
from penstock.engine.faults import configuration, validation
from penstock.engine.host import Host
from penstock.engine.interpreter.addresses import resource
from penstock.engine.interpreter.dataflow import DataFlow
from penstock.engine.interpreter.scope import Frame

# With these alone, each part of the data meets one part of the schema. With `$ref` and `anyOf`, a page of schema can
# ask for a million answers, and a pattern can take its time over every text.
_PLAIN = frozenset(
    {
        "$schema", "title", "description", "default", "examples", "type", "required", "const",
        "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
        "minItems", "maxItems", "minProperties", "maxProperties",
    }
)  # fmt: skip
_LONGEST = 256 * 1024
_MOST_CHOICES = 100
_MOST_SHOWN = 5


class Schemas:
    def __init__(self, host: Host, flow: DataFlow) -> None:
        self._host = host
        self._flow = flow

    async def hold(self, shape: Shape, data: Any, what: str, frame: Frame) -> None:
        """Raises `Fault` when the data is not as its schema says."""
        if shape.schema is not None and (wrong := await self._violations(shape.schema, data, frame)):
            raise validation(f"{what} is not valid", "; ".join(wrong))

    async def _violations(self, schema: Schema, data: Any, frame: Frame) -> list[str]:
        document = schema.document
        if schema.resource is not None:
            document = await self._host.fetch(await resource(self._flow, schema.resource, frame))
        text = msgspec.json.encode(document)
        if len(text) > _LONGEST:
            raise configuration("Schema too large", f"a JSON Schema may have {_LONGEST // 1024} KiB at most")
        if (plain := _plain(text)) is not None:
            return _violations(plain, data)
        try:
            return await self._host.violations(text, data)
        except NotAnExpression as error:
            raise configuration("Not a JSON Schema", str(error)) from None
        except ExpressionFailed:
            raise configuration(
                "Schema too costly",
                "the data could not be held against it in time: use less of $ref, anyOf and pattern",
            ) from None


@lru_cache(maxsize=200)
def _plain(text: bytes) -> jsonschema_rs.Validator | None:
    """A validator, for a schema that never takes long."""
    document = msgspec.json.decode(text)
    if not _is_plain(document):
        return None
    try:
        return jsonschema_rs.validator_for(document)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise configuration("Not a JSON Schema", str(error).splitlines()[0]) from None


def _is_plain(schema: Any) -> bool:
    if not isinstance(schema, dict):
        return isinstance(schema, bool)
    for name, value in schema.items():
        match name:
            case "properties":
                if not isinstance(value, dict) or not all(_is_plain(each) for each in value.values()):
                    return False
            case "items" | "additionalProperties":
                if not _is_plain(value):
                    return False
            case "enum":
                if not isinstance(value, list) or len(value) > _MOST_CHOICES:
                    return False
            case _ if name not in _PLAIN:
                return False
    return True


def _violations(validator: jsonschema_rs.Validator, data: Any) -> list[str]:
    if validator.is_valid(data):
        return []
    return [_told(error) for error, _ in zip(validator.iter_errors(data), range(_MOST_SHOWN), strict=False)]


def _told(error: jsonschema_rs.ValidationError) -> str:
    at = "/".join(str(part) for part in error.instance_path)
    return f"{at or 'it'}: {error.message[:300]}"
