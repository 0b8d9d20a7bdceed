"""Definitions by people who are not all friends: the check answers, soon, whatever they write."""

import json
import time

import pytest

from penstock.dsl.build import NotValid, workflow_of
from penstock.dsl.check import check, errors
from penstock.dsl.parse import DEEPEST, LONGEST
from tests.dsl.mutations import DEFINITIONS, data_of, mutations

HEAD = "document: {dsl: 1.0.3, namespace: a, name: b, version: 0.0.0}\n"


def _nested(levels: int) -> str:
    task = "{set: {}}"
    for _ in range(levels):
        task = "{do: [{a: " + task + "}]}"
    return f"{HEAD}do: [{{a: {task}}}]"


def test_no_change_of_a_definition_breaks_the_check_and_what_passes_can_be_built() -> None:
    passed = 0
    for mutated in mutations([data_of(path) for path in DEFINITIONS], seed=20261115, count=600):
        text = json.dumps(mutated)
        findings = check(text)
        for finding in findings:
            assert finding.message
            assert finding.line >= 1
        if not errors(findings):
            passed += 1
            try:
                workflow_of(text)
            except NotValid as error:
                raise AssertionError(f"valid, but not to be built: {text}") from error
    assert passed > 50


@pytest.mark.parametrize(
    "text",
    [
        "do: {1: 2, true: 3, null: 4}\n" + HEAD,
        HEAD + "do: [{a: {set: {}, then: [end]}}, {b: {set: {}, then: {}}}, {c: {switch: [{x: {then: 5}}]}}]",
        HEAD + "do: [{a: {switch: {x: 1}}}, {b: {for: [], do: {}}}, {c: {for: {each: {}, in: []}, do: 5}}]",
        HEAD + "use: []\ndo: [{a: {call: x}}, {b: {raise: {error: y}}}]",
        HEAD + "use: {secrets: {a: 1}, functions: [f], retries: 7}\ndo: [{a: {call: f}}]",
        HEAD + "evaluate: []\ndo: [{a: {set: '${ . }'}}]",
        HEAD + "do: [{a: {wait: {seconds: 99999999999999999999999999999999}}}]",
        HEAD + "do: [{a: {wait: P" + "9" * 500 + "D}}]",
        HEAD + "do: [{a: {try: [], catch: {retry: {jitter: {from: [], to: {days: x}}}}}}]",
        HEAD + "schedule: {cron: '" + "*/1," * 5000 + "1 * * * *'}\ndo: []",
        HEAD + "do: [{a: {call: '" + "a:" * 5000 + "@b'}}]",
        HEAD + "do: [{a: {call: http, with: {method: get, endpoint: 'x://" + "{" * 20000 + "'}}}]",
        HEAD + "do: [{a: {set: {x: '" + "${ " * 20000 + "'}}}]",
        HEAD + "do: [{a: {set: {x: '${ " + "[" * 7000 + " }'}}}]",
        HEAD + "do: [{a: {set: {}, output: {schema: {document: {$ref: '#'}}}}}]",
        HEAD + "do: [{a: {set: {}, output: {schema: {document: {pattern: '(a{1000}){1000}'}}}}}]",
        HEAD.replace("0.0.0", "0.0.0-" + "a." * 3000) + "do: []",
        HEAD + "do:\n" + "".join(f"- t{n}: {{set: {{}}, then: t{(n * 7) % 5000}}}\n" for n in range(5000)),
        HEAD + "do:\n" + "- a: {set: {}}\n" * 10000,
        HEAD + "do: [{a: {" + ", ".join(f"k{n}: 1" for n in range(20000)) + "}}]",
        HEAD + "do: [{a: {fork: {branches: [" + "{b: {wait: PT1S}}," * 8000 + "]}}}]",
        _nested(15),
        _nested(DEEPEST),
        (HEAD + "do: [{a: {set: {x: '" + "x" * LONGEST)[: LONGEST - 5] + "'}}}]",
    ],
    ids=str.__len__,
)
def test_a_hostile_definition_is_answered_soon(text: str) -> None:
    started = time.process_time()
    findings = check(text)
    assert time.process_time() - started < 10
    assert len(findings) <= 100
    assert all(len(finding.message) < 1000 for finding in findings)
