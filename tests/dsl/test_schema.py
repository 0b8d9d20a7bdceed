"""The JSON Schema for editors: it describes everything, and says of shapes exactly what the checker says."""

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from penstock.dsl.check.finding import Finding, Findings
from penstock.dsl.check.walk import Scope, Walk
from penstock.dsl.grammar import WORKFLOW
from penstock.dsl.parse import Parsed
from penstock.dsl.schema import json_schema
from tests.dsl.mutations import DEFINITIONS, data_of, mutations

# What the walk says of names and unfinished expressions is no matter of shape.
NO_SHAPE = {"task-name", "expression"}


@pytest.fixture(scope="module")
def validator() -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(json_schema(), offline=True)


# In loose mode, a text may stand for anything.
STRICT = [data_of(path) for path in DEFINITIONS if path.stem != "loose"]


def wrong_shapes(definition: Any) -> list[Finding]:
    findings = Findings(Parsed(definition, {}))
    Walk(findings).visit(WORKFLOW, definition, (), Scope())
    return [one for one in findings.by_line() if one.severity == "error" and one.code not in NO_SHAPE]


@pytest.mark.parametrize("definition", STRICT, ids=lambda definition: definition["document"]["name"])
def test_definitions_of_the_whole_language_fit(definition: Any, validator: jsonschema_rs.Validator) -> None:
    assert [error.message for error in validator.iter_errors(definition)] == []


def test_it_refuses_exactly_what_the_checker_finds_wrong_in_shape(validator: jsonschema_rs.Validator) -> None:
    refused = 0
    for mutated in mutations(STRICT, seed=5, count=1000):
        wrong = wrong_shapes(mutated)
        assert validator.is_valid(mutated) == (not wrong), (wrong, mutated)
        refused += bool(wrong)
    assert 300 < refused < 950


def test_every_member_is_described() -> None:
    for where, schema in _records(json_schema(), "#"):
        assert schema["description"].endswith("."), where
        for name, member in schema["properties"].items():
            assert member["description"], f"{where}/{name}"


def _records(schema: Any, where: str) -> Iterator[tuple[str, Any]]:
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and "additionalProperties" in schema:
            yield where, schema
        for name, inner in schema.items():
            yield from _records(inner, f"{where}/{name}")
    elif isinstance(schema, list):
        for number, inner in enumerate(schema):
            yield from _records(inner, f"{where}/{number}")
