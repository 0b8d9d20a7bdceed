"""What has the wrong shape in a definition, and where that is said."""

import pytest

from penstock.dsl.check import Finding, check
from tests.dsl.mutations import DEFINITIONS

HEAD = "document: {dsl: 1.0.1, namespace: shop, name: greet, version: 0.1.0}\n"


def findings(text: str) -> list[tuple[str, str]]:
    return [(finding.path, finding.code) for finding in check(text)]


def of_task(task: str) -> list[tuple[str, str]]:
    """Where, below the task, and what."""
    return [(path.removeprefix("/do/0/a"), code) for path, code in findings(f"{HEAD}do:\n- a: {task}")]


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_a_definition_that_uses_the_whole_language_is_valid(path: object) -> None:
    assert hasattr(path, "read_text")
    assert check(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing yet\n",
        HEAD + "do: []",
        HEAD + "do:\n- a: {set: {x: 1}}\n- b: {wait: {seconds: 1}, if: '${ .x }'}",
        HEAD + "do: []\ninput: {}\nuse: {}\noutput: {}",
        HEAD + "do:\n- a: &a {set: {x: '${ .x }'}}\n- b: *a",
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
        (HEAD.replace("1.0.1", "one") + "do: []", [("/document/dsl", "dsl-version")]),
        (HEAD.replace("1.0.1", "0.8.0") + "do: []", [("/document/dsl", "dsl-version")]),
        (HEAD.replace("1.0.1", "2.0.0") + "do: []", [("/document/dsl", "dsl-version")]),
        (HEAD.replace("shop", "-shop") + "do: []", [("/document/namespace", "pattern")]),
        (HEAD.replace("greet", "g" * 64) + "do: []", [("/document/name", "pattern")]),
        (HEAD.replace("0.1.0", "0.1") + "do: []", [("/document/version", "type")]),
        (HEAD.replace("0.1.0", "v0.1.0") + "do: []", [("/document/version", "pattern")]),
        (HEAD.replace("0.1.0", "'0.1.0\n\n'") + "do: []", [("/document/version", "pattern")]),
        (HEAD.replace("0.1.0", "1.0.0-" + "9" * 300) + "do: []", [("/document/version", "too-long")]),
        (HEAD + "do: []\nextra: 1", [("/extra", "unknown")]),
        (HEAD + "do: null", [("/do", "type")]),
        (HEAD + "do: [x]", [("/do/0", "task-item")]),
        (HEAD + "do: [{}]", [("/do/0", "task-item")]),
        (HEAD + "do: [{a: {set: {}}, b: {set: {}}}]", [("/do/0", "task-item")]),
        (HEAD + "do: [{'': {set: {}}}]", [("/do/0/", "task-name")]),
        (HEAD + "do: [{a: {set: {}}}, {a: {set: {}}}]", [("/do/1/a", "task-name")]),
        (HEAD + "do: []\nevaluate: {language: js, mode: lax}",
         [("/evaluate/language", "choice"), ("/evaluate/mode", "choice")]),
        (HEAD + "do: []\nschedule: {}", [("/schedule", "one-of")]),
        (HEAD + "do: []\nschedule: {every: PT1S, cron: 0 0 * * *}", [("/schedule", "one-of")]),
        (HEAD + "do: []\nuse: {secrets: [1], retries: []}", [("/use/secrets/0", "type"), ("/use/retries", "type")]),
        (HEAD + "do: []\nuse: {extensions: [{a: {extend: al}}]}", [("/use/extensions/0/a/extend", "choice")]),
        (
            HEAD + "do: [{a/b: {try: [{c: 1}], catch: {do: [{d: 1}]}}}]",
            [("/do/0/a~1b/try/0/c", "type"), ("/do/0/a~1b/catch/do/0/d", "type")],
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_frame_is_said_where_it_is(text: str, expected: list[tuple[str, str]]) -> None:
    assert findings(text) == expected


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("1", [("", "type")]),
        ("{}", [("", "task-kind")]),
        ("{jump: {}}", [("", "task-kind")]),
        ("{set: {}, wait: PT1S}", [("", "task-kind")]),
        ("{set: {}, with: {}}", [("/with", "unknown")]),
        ("{set: []}", [("/set", "type")]),
        ("{set: {}, if: 1}", [("/if", "type")]),
        ("{set: {}, then: [x]}", [("/then", "type")]),
        ("{set: {}, input: {form: .a}}", [("/input/form", "unknown")]),
        ("{set: {}, output: {schema: {}}}", [("/output/schema", "one-of")]),
        ("{set: {}, output: {schema: {format: avro, document: {}}}}", [("/output/schema/format", "pattern")]),
        ("{for: {in: .x}}", [("", "required")]),
        ("{for: {each: x}, do: []}", [("/for", "required")]),
        ("{try: []}", [("", "required")]),
        ("{try: 1, catch: 1}", [("/try", "type"), ("/catch", "type")]),
        ("{try: [], catch: {errors: {with: {}}}}", [("/catch/errors/with", "empty")]),
        ("{try: [], catch: {retry: {backoff: {}}}}", [("/catch/retry/backoff", "one-of")]),
        ("{fork: {}}", [("/fork", "required")]),
        ("{fork: {branches: [], compete: 1}}", [("/fork/compete", "type")]),
        ("{do: [{b: {}}]}", [("/do/0/b", "task-kind")]),
        ("{switch: []}", [("/switch", "empty")]),
        ("{switch: [{b: {when: .x}}]}", [("/switch/0/b", "required")]),
        ("{switch: [{b: {then: end}, c: {then: end}}]}", [("/switch/0", "item")]),
        ("{wait: 5}", [("/wait", "type")]),
        ("{wait: {}}", [("/wait", "empty")]),
        ("{wait: {weeks: 1}}", [("/wait/weeks", "unknown")]),
        ("{wait: {seconds: -1}}", [("/wait/seconds", "range")]),
        ("{wait: 5 minutes}", [("/wait", "duration")]),
        ("{wait: P}", [("/wait", "duration")]),
        ("{wait: PT}", [("/wait", "duration")]),
        ("{raise: {error: {type: x y, status: a}}}", [("/raise/error/type", "uri"), ("/raise/error/status", "type")]),
        ("{emit: {event: {source: x}}}", [("/emit/event", "required"), ("/emit/event/source", "unknown")]),
        ("{emit: {event: {with: {type: x}}}}", [("/emit/event/with", "required")]),
        ("{emit: {event: {with: {type: x, source: 'http://a', time: noon}}}}", [("/emit/event/with/time", "pattern")]),
        ("{listen: {to: {}}}", [("/listen/to", "one-of")]),
        ("{listen: {to: {one: {with: {}}}}}", [("/listen/to/one/with", "empty")]),
        ("{listen: {to: {one: {with: {type: a}}, until: .x}}}", [("/listen/to/until", "unknown")]),
        ("{listen: {to: {any: [], until: {any: [], until: .x}}}}", [("/listen/to/until/until", "unknown")]),
        ("{listen: {to: {any: []}, read: body}}", [("/listen/read", "choice")]),
        ("{run: {}}", [("/run", "one-of")]),
        ("{run: {shell: {command: ls}, script: {language: js, code: ''}}}", [("/run", "one-of")]),
        ("{run: {script: {language: ruby, code: x}}}", [("/run/script/language", "choice")]),
        ("{run: {script: {language: js}}}", [("/run/script", "one-of")]),
        ("{run: {container: {image: a, lifetime: {cleanup: eventually}}}}", [("/run/container/lifetime", "required")]),
        ("{run: {workflow: {name: a, version: newest}}}", [("/run/workflow/version", "pattern")]),
        ("{call: 5}", [("/call", "type")]),
        ("{call: http}", [("", "required")]),
        ("{call: http, with: {method: get}}", [("/with", "required")]),
        ("{call: http, with: {method: get, uri: 'http://a'}}", [("/with", "required"), ("/with/uri", "unknown")]),
        ("{call: http, with: {method: get, endpoint: a.example}}", [("/with/endpoint", "uri")]),
        ("{call: http, with: {method: g t, endpoint: 'http://a'}}", [("/with/method", "pattern")]),
        ("{call: http, with: {method: get, endpoint: 'http://a', output: all}}", [("/with/output", "choice")]),
        ("{call: http, with: {method: get, endpoint: 'http://a', redirect: 'yes'}}", [("/with/redirect", "type")]),
        ("{call: http, with: {method: get, endpoint: 'http://a', headers: {a: []}}}", [("/with/headers/a", "type")]),
        ("{call: http, with: {method: get, endpoint: {uri: 'http://a', authentication: {}}}}",
         [("/with/endpoint/authentication", "one-of")]),
        ("{call: http, with: {method: get, endpoint: {uri: 'http://a', authentication: {basic: {username: a}}}}}",
         [("/with/endpoint/authentication/basic", "required")]),
        ("{call: a2a, with: {method: message/send}}", [("/with", "required")]),
        ("{call: mcp, with: {method: tools/list, transport: {}}}", [("/with/transport", "one-of")]),
        ("{call: grpc, with: {proto: {endpoint: 'file:///a'}, service: {name: a, host: b, port: 70000}, method: c}}",
         [("/with/service/port", "range")]),
        ("{call: asyncapi, with: {document: {endpoint: 'http://a'}, operation: a, channel: b, message: {}}}",
         [("/with", "one-of")]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_task_is_said_where_it_is(task: str, expected: list[tuple[str, str]]) -> None:
    assert of_task(task) == expected


def test_a_finding_has_the_line_and_column_of_its_value() -> None:
    (finding,) = check(HEAD + "do:\n  - a:\n      set: {}\n  - b:\n      jump: 1\n")
    assert (finding.line, finding.column) == (6, 7)
    assert "set" in finding.message


def test_a_member_that_is_not_known_is_shown_at_its_name_wherever_its_value_begins() -> None:
    found = check(HEAD + "do:\n  - a:\n      set: {}\n      otput:\n        as: .x\n")
    assert [(one.code, one.line, one.column) for one in found] == [("unknown", HEAD.count("\n") + 4, 7)]


def test_findings_come_by_line() -> None:
    lines = [finding.line for finding in check("do:\n- a: 1\n- b: {wait: 1}\nuse: 5\ndocument: {}\nextra: 1\n")]
    assert lines == sorted(lines)
    assert len(set(lines)) == 5


def test_there_are_never_more_than_a_hundred_findings() -> None:
    assert len(check(HEAD + "do:\n" + "- 1\n" * 5000)) == 100


def test_a_number_that_was_meant_as_a_version_gets_a_hint() -> None:
    (finding,) = check(HEAD.replace("0.1.0", "1.0") + "do: []")
    assert "quotes" in finding.message


@pytest.mark.parametrize(
    ("task", "meant"),
    [
        ("{call: http, with: {method: get, endpont: 'http://a'}}", "endpoint"),
        ("{call: htp}", "http"),
        ("{sett: {}}", "set"),
        ("{wait: PT1S, than: end}", "then"),
        ("{listen: {to: {any: []}, read: dat}}", "data"),
    ],
)
def test_what_was_probably_meant_is_said(task: str, meant: str) -> None:
    assert any(f"did you mean {meant}?" in finding.message for finding in check(f"{HEAD}do:\n- a: {task}"))


def test_what_an_author_wrote_is_shown_shortened_and_on_one_line() -> None:
    for finding in check(HEAD + f'do: [{{a: {{wait: PT1S, "{"x" * 500}\\n\\u001b[31m": 1, then: "a\\nb"}}}}]'):
        assert len(finding.message) < 400
        assert "\n" not in finding.message
        assert "\x1b" not in finding.message


def test_a_finding_of_an_earlier_release_is_an_error() -> None:
    import msgspec

    stored = b'{"path":"/do","message":"x","code":"type","line":1,"column":1}'
    assert msgspec.json.decode(stored, type=Finding).severity == "error"
    assert msgspec.json.encode(msgspec.json.decode(stored, type=Finding)) == stored
