"""Schemas are untrusted, too: whatever one asks for, everybody else goes on."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.dsl.build import workflow_of
from penstock.engine.faults import Fault
from penstock.engine.interpreter.schemas import _is_plain
from penstock.engine.jq import Jq
from penstock.engine.local import LocalEngine
from penstock.engine.performing import Performer

DEFINED = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(9)}


@pytest.fixture(scope="module")
def impatient(runner: asyncio.Runner, performer: Performer) -> Iterator[Performer]:
    jq = Jq(processes=1, seconds=0.5, megabytes=256, most_output=1_000_000)
    runner.run(jq.start())
    yield Performer(performer.tools, jq)
    runner.run(jq.stop())


@pytest.fixture
def held(runner: asyncio.Runner, performer: Performer) -> Any:
    """What comes of holding data against a schema, and how long anything else had to wait meanwhile."""

    async def hold(schema: Any, data: Any, by: Performer) -> tuple[Any, float]:
        definition = {
            "document": {"dsl": "1.0.3", "namespace": "test", "name": "schemas", "version": "1.0.0"},
            "do": [{"one": {"set": "${ . }", "output": {"schema": {"format": "json", "document": schema}}}}],
        }
        running = asyncio.create_task(LocalEngine(by).run(workflow_of(json.dumps(definition)), data))
        longest = 0.0
        while not running.done():
            # In time of the processor: what keeps others waiting here computes, and other processes do not count.
            began = time.thread_time()
            await asyncio.sleep(0.005)
            longest = max(longest, time.thread_time() - began)
        try:
            return await running, longest
        except Fault as fault:
            return fault.error, longest

    return lambda schema, data, by=performer: runner.run(hold(schema, data, by))


def test_a_schema_that_would_take_for_ever_is_a_fault_and_keeps_nobody_waiting(held: Any, impatient: Performer) -> None:
    error, longest = held({"$defs": {**DEFINED, "d9": {"type": "integer"}}, "$ref": "#/$defs/d0"}, "text", impatient)
    assert error.title == "Schema too costly"
    assert error.type.endswith("/configuration")
    assert longest < 0.4


@pytest.mark.parametrize(
    "schema",
    [
        {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}},
        {"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"required": ["b"]}]},
        {"properties": {"a": {"type": "string", "pattern": "^[a-z]+$"}}},
        {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "additionalProperties": False},
    ],
)
def test_every_kind_of_schema_is_held(held: Any, schema: Any) -> None:
    wrong, _ = held(schema, {"a": "A1"})
    assert (wrong.title, wrong.status) == ("The task's output is not valid", 400)
    right = {"a": "abc"} if "pattern" in str(schema) else {"a": 1}
    assert held(schema, right)[0] == right


@pytest.mark.parametrize(
    "schema", [{"$ref": "http://example.com/x"}, {"$ref": "#/nowhere"}, {"type": "nope"}, {"pattern": "("}, 5]
)
def test_what_is_no_schema_is_a_fault(held: Any, schema: Any) -> None:
    error, _ = held(schema, {})
    assert error.title == "Not a JSON Schema"


def test_only_what_meets_each_part_of_the_data_once_is_held_at_once() -> None:
    item = {"type": "array", "items": {"type": "object", "properties": {"a": {"minimum": 1}}, "required": ["a"]}}
    assert _is_plain(item)
    for keyword in ("$ref", "anyOf", "oneOf", "allOf", "not", "pattern", "patternProperties", "uniqueItems", "if"):
        assert not _is_plain({"items": {"properties": {"a": {keyword: True}}}})
    assert not _is_plain({"enum": list(range(1_000))})
