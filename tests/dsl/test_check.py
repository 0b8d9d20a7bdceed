"""What is wrong with a definition, and where."""

import pytest

from penstock.dsl.check import check

HEAD = "document: {dsl: 1.0.1, namespace: shop, name: greet, version: 0.1.0}\n"


def findings(text: str) -> list[tuple[str, str]]:
    return [(finding.path, finding.code) for finding in check(text)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet\n",
        HEAD + "do: []",
        HEAD + "do:\n- a: {set: {x: 1}}\n- b: {wait: {seconds: 1}, then: end, if: '${ .x }'}",
        HEAD + "do:\n- a: {call: http, with: {method: get, endpoint: 'https://a.example'}}",
        HEAD + "do:\n- a: {for: {each: x, in: .xs}, while: .ok, do: [{b: {set: {}}}]}",
        HEAD + "do:\n- a: {try: [{b: {raise: {error: {}}}}], catch: {do: [{c: {emit: {event: {}}}}]}}",
        HEAD + "do:\n- a: {fork: {branches: [{b: {run: {shell: {command: ls}}}}]}}",
        HEAD + "do:\n- a: {listen: {to: {one: {}}}, foreach: {do: [{b: {set: {}}}]}}",
        HEAD + "do:\n- a: {switch: [{b: {then: end}}]}\n- c: {do: [{a: {set: {}}}]}",
        HEAD + "do: []\nschedule: {on: {one: {}}}\ninput: {}\nuse: {}\ntimeout: {}\noutput: {}",
        '{"document":{"dsl":"1.0.0","namespace":"a","name":"b","version":"1.2.3-rc.1+b"},"do":[{"x":{"set":{}}}]}',
    ],
)
def test_a_definition_with_its_frame_in_order_is_valid(text: str) -> None:
    assert check(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a", [("", "type")]),
        ("text", [("", "type")]),
        ("{}", [("", "required"), ("", "required")]),
        ("document: 1\ndo: x", [("/document", "type"), ("/do", "type")]),
        ("do: []\ndocument: {}", [("/document", "required")] * 4),
        (HEAD.replace("1.0.1", "1") + "do: []", [("/document/dsl", "type")]),
        (HEAD.replace("1.0.1", "one") + "do: []", [("/document/dsl", "pattern")]),
        (HEAD.replace("1.0.1", "0.8.0") + "do: []", [("/document/dsl", "dsl-version")]),
        (HEAD.replace("1.0.1", "2.0.0") + "do: []", [("/document/dsl", "dsl-version")]),
        (HEAD.replace("shop", "-shop") + "do: []", [("/document/namespace", "pattern")]),
        (HEAD.replace("greet", "g" * 64) + "do: []", [("/document/name", "pattern")]),
        (HEAD.replace("0.1.0", "0.1") + "do: []", [("/document/version", "type")]),
        (HEAD.replace("0.1.0", "v0.1.0") + "do: []", [("/document/version", "pattern")]),
        (HEAD.replace("0.1.0", "'0.1.0\n\n'") + "do: []", [("/document/version", "pattern")]),
        (HEAD + "do: []\nextra: 1", [("/extra", "unknown")]),
        (HEAD + "do: null", [("/do", "type")]),
        (HEAD + "do: [x]", [("/do/0", "task-item")]),
        (HEAD + "do: [{}]", [("/do/0", "task-item")]),
        (HEAD + "do: [{a: {set: {}}, b: {set: {}}}]", [("/do/0", "task-item")]),
        (HEAD + "do: [{a: 1}]", [("/do/0/a", "type")]),
        (HEAD + "do: [{a: {}}]", [("/do/0/a", "task-kind")]),
        (HEAD + "do: [{a: {jump: {}}}]", [("/do/0/a", "task-kind")]),
        (HEAD + "do: [{a: {set: {}, wait: {}}}]", [("/do/0/a", "task-kind")]),
        (HEAD + "do: [{a: {set: {}, with: {}}}]", [("/do/0/a/with", "unknown")]),
        (HEAD + "do: [{a: {set: {}}}, {a: {set: {}}}]", [("/do/1/a", "task-name")]),
        (HEAD + "do: [{a: {for: {in: x}}}]", [("/do/0/a", "required")]),
        (HEAD + "do: [{a: {try: []}}]", [("/do/0/a", "required")]),
        (HEAD + "do: [{a: {try: 1, catch: 1}}]", [("/do/0/a/try", "type"), ("/do/0/a/catch", "type")]),
        (HEAD + "do: [{a: {fork: {}}}]", [("/do/0/a/fork", "required")]),
        (HEAD + "do: [{a: {do: [{b: {}}]}}]", [("/do/0/a/do/0/b", "task-kind")]),
        (
            HEAD + "do: [{a/b: {try: [{c: 1}], catch: {do: [{d: 1}]}}}]",
            [("/do/0/a~1b/try/0/c", "type"), ("/do/0/a~1b/catch/do/0/d", "type")],
        ),
    ],
)
def test_what_is_wrong_is_said_where_it_is(text: str, expected: list[tuple[str, str]]) -> None:
    assert findings(text) == expected


def test_a_finding_has_the_line_and_column_of_its_value() -> None:
    (finding,) = check(HEAD + "do:\n  - a:\n      set: {}\n  - b:\n      jump: 1\n")
    assert (finding.line, finding.column) == (6, 7)
    assert "set" in finding.message


def test_there_are_never_more_than_a_hundred_findings() -> None:
    assert len(check(HEAD + "do:\n" + "- 1\n" * 5000)) == 100


def test_a_number_that_was_meant_as_a_version_gets_a_hint() -> None:
    (finding,) = check(HEAD.replace("0.1.0", "1.0") + "do: []")
    assert "quotes" in finding.message
