"""What has the right shape in a definition, and yet means nothing: names, flow, references, expressions, schedules."""

import pytest

from penstock.dsl.check import Finding, check, checking, errors
from penstock.dsl.check.expressions import MOST_COMPILED
from tests.dsl.mutations import DEFINITIONS

HEAD = "document: {dsl: 1.0.3, namespace: shop, name: greet, version: 0.1.0}\n"


def found(text: str) -> list[tuple[str, str]]:
    return [(finding.path, finding.code) for finding in check(HEAD + text)]


def of_task(task: str, use: str = "{}") -> list[tuple[str, str]]:
    """Where, below the task, and what."""
    return [(path.removeprefix("/do/0/a"), code) for path, code in found(f"use: {use}\ndo:\n- a: {task}")]


class TestFlow:
    @pytest.mark.parametrize("then", ["continue", "exit", "end", "b", "a"])
    def test_a_directive_leads_on_or_to_a_task_of_its_own_list(self, then: str) -> None:
        text = f"do: [{{a: {{set: {{}}, if: .x, then: {then}}}}}, {{b: {{set: {{}}}}}}]"
        assert found(text) == []

    def test_a_directive_never_leads_out_of_or_into_a_list(self) -> None:
        text = "do: [{a: {do: [{b: {set: {}, then: c}}], then: b}}, {c: {set: {}}}]"
        assert [code for _, code in found(text) if code == "flow-target"] == ["flow-target"] * 2
        assert ("/do/0/a/do/0/b/then", "flow-target") in found(text)
        assert ("/do/0/a/then", "flow-target") in found(text)

    def test_branches_and_functions_do_not_lead_to_each_other(self) -> None:
        assert of_task("{fork: {branches: [{b: {set: {}, then: c}}, {c: {set: {}, then: exit}}]}}") == [
            ("/fork/branches/0/b/then", "flow-target")
        ]
        assert of_task("{call: f}", "{functions: {f: {set: {}, then: g}, g: {set: {}}}}") == [
            ("/use/functions/f/then", "flow-target")
        ]

    def test_a_case_leads_to_a_task_of_the_list_that_holds_the_switch(self) -> None:
        assert of_task("{switch: [{x: {when: .a, then: nowhere}}, {y: {then: end}}]}") == [
            ("/switch/0/x/then", "flow-target")
        ]

    def test_a_switch_has_one_default(self) -> None:
        assert of_task("{switch: [{x: {then: end}}, {y: {when: .a, then: end}}, {z: {then: exit}}]}") == [
            ("/switch/2/z", "default-case")
        ]

    @pytest.mark.parametrize(
        ("tasks", "unreachable"),
        [
            ("[{a: {set: {}, then: end}}, {b: {set: {}}}]", ["/do/1/b"]),
            ("[{a: {set: {}, then: c}}, {b: {set: {}}}, {c: {set: {}}}]", ["/do/1/b"]),
            ("[{a: {set: {}, then: c}}, {b: {set: {}}}, {c: {set: {}, then: b}}]", []),
            ("[{a: {set: {}, if: .x, then: end}}, {b: {set: {}}}]", []),
            ("[{a: {raise: {error: {type: 'about:blank', status: 400}}}}, {b: {set: {}}}]", ["/do/1/b"]),
            ("[{a: {switch: [{x: {when: .x, then: end}}]}}, {b: {set: {}}}]", []),
            ("[{a: {switch: [{x: {when: .x, then: end}}, {y: {then: c}}]}}, {b: {set: {}}}, {c: {set: {}}}]",
             ["/do/1/b"]),
            ("[{a: {switch: [{x: {when: .x, then: b}}], then: end}}, {b: {set: {}}}]", []),
        ],
    )  # fmt: skip
    def test_a_task_that_nothing_leads_to_is_a_warning(self, tasks: str, unreachable: list[str]) -> None:
        findings = check(f"{HEAD}do: {tasks}")
        assert [(finding.path, finding.code, finding.severity) for finding in findings] == [
            (path, "unreachable", "warning") for path in unreachable
        ]
        assert errors(findings) == []


class TestReferences:
    @pytest.mark.parametrize(
        ("task", "expected"),
        [
            ("{call: nothing}", [("/call", "function-unknown")]),
            ("{call: 'log:1.0.0@nowhere'}", [("/call", "catalog-unknown")]),
            ("{call: 'log:1.0.0'}", [("/call", "function-unknown")]),
            ("{call: '${ .f }'}", [("/call", "function-unknown")]),
            ("{set: {}, timeout: brief}", [("/timeout", "timeout-unknown")]),
            ("{set: {}, timeout: PT5S}", [("/timeout", "timeout-unknown")]),
            ("{raise: {error: wrong}}", [("/raise/error", "error-unknown")]),
            ("{try: [], catch: {retry: often}}", [("/catch/retry", "retry-unknown")]),
            ("{call: http, with: {method: get, endpoint: {uri: 'http://a', authentication: {use: x}}}}",
             [("/with/endpoint/authentication/use", "authentication-unknown")]),
            ("{call: http, with: {method: get, endpoint: {uri: 'http://a', authentication: {basic: {use: x}}}}}",
             [("/with/endpoint/authentication/basic/use", "secret-unknown")]),
            ("{set: {a: '${ $secrets.x }'}}", [("/set/a", "secret-unknown")]),
            ("{set: {a: '${ \"\\($secrets[\"x\"])\" }'}}", [("/set/a", "secret-unknown")]),
            ("{set: {a: '${ $secrets.\"x\" }'}}", [("/set/a", "secret-unknown")]),
            ("{set: {a: '${ \"$secrets.x\" }', b: '${ $secrets[.name] }'}}", []),
        ],
    )  # fmt: skip
    def test_what_is_named_must_be_there(self, task: str, expected: list[tuple[str, str]]) -> None:
        assert of_task(task, "{secrets: [y]}") == expected


class TestExpressions:
    @pytest.mark.parametrize(
        ("task", "expected"),
        [
            ("{set: {a: '${ .x | }'}}", [("/set/a", "expression")]),
            ("{set: {a: '${ env.PATH }'}}", [("/set/a", "expression")]),
            ("{set: {a: '${ nosuch }'}}", [("/set/a", "expression")]),
            ("{set: {a: '${  }'}}", [("/set/a", "expression")]),
            ("{set: {a: '${ .x'}}", [("/set/a", "expression")]),
            ("{set: {a: 'x ${ .y + } z'}}", [("/set/a", "expression")]),
            ("{set: {a: .x |, b: 'x/${name}', c: $y}}", []),
            ("{set: {}, if: .x |}", [("/if", "expression")]),
            ("{set: {}, input: {from: '{'}}", [("/input/from", "expression")]),
            ("{set: {}, output: {as: {x: '${ ( }'}}}", [("/output/as/x", "expression")]),
            ("{for: {in: '['}, while: ')', do: []}", [("/for/in", "expression"), ("/while", "expression")]),
            ("{switch: [{x: {when: '==', then: end}}]}", [("/switch/0/x/when", "expression")]),
            ("{listen: {to: {any: [], until: '<'}}}", [("/listen/to/until", "expression")]),
            ("{wait: '${ ( }'}", [("/wait", "expression")]),
            ("{run: {script: {language: js, code: 'x = `${ ( }`'}}}", []),
        ],
    )
    def test_one_that_cannot_be_used_is_said_where_it_stands(self, task: str, expected: list[tuple[str, str]]) -> None:
        assert of_task(task) == expected

    @pytest.mark.parametrize(
        "task",
        [
            "{set: {a: '${ $nothing }'}}",
            "{set: {a: '${ $item }'}}",
            "{set: {a: '${ $output }'}}",
            "{set: {a: '${ def f: $nothing; f }'}}",
            "{set: {}, if: $input.x}",
            "{set: {}, input: {from: $input}}",
            "{set: {}, output: {as: $output}}",
            "{for: {in: $item}, do: []}",
            "{for: {in: .x}, do: [], output: {as: $item}}",
            "{for: {each: x, in: .x}, do: [{b: {set: '${ $item }'}}]}",
            "{try: [{b: {set: '${ $error }'}}], catch: {}}",
            "{try: [], catch: {as: e, do: [{b: {set: '${ $error }'}}]}}",
            "{listen: {to: {any: [], until: $item}}, foreach: {}}",
            "{listen: {to: {any: []}}, foreach: {item: e, output: {as: $item}}}",
        ],
    )
    def test_a_variable_is_known_only_where_it_is_in_scope(self, task: str) -> None:
        assert [code for _, code in of_task(task)] == ["variable-unknown"]

    @pytest.mark.parametrize(
        "task",
        [
            "{set: {a: '${ [.[] as $x | $x] | reduce .[] as $y (0; . + $y) }'}}",
            "{set: {a: '${ . as {$a, b: [$c]} | $a + $c }', b: '${ $__loc__.line }'}}",
            "{set: {}, export: {as: '[$context, $input, $output, $task, $workflow, $runtime, $authorization]'}}",
            "{for: {in: .x}, while: $index < 3, do: [{b: {if: $item, set: '${ [$item, $index] }'}}]}",
            "{for: {in: .x}, do: [{b: {for: {each: y, in: $item}, do: [{c: {set: '${ [$y, $item] }'}}]}}]}",
            "{try: [], catch: {when: $error.status == 5, retry: {when: $error.x}, do: [{b: {set: '${ $error }'}}]}}",
            "{listen: {to: {any: []}}, foreach: {output: {as: '[$item, $index]'}, export: {as: $item}}}",
            "{listen: {to: {any: [], until: false}}, foreach: {do: [{b: {set: '${ $item }'}}]}}",
        ],
    )
    def test_what_is_bound_may_be_used(self, task: str) -> None:
        assert of_task(task) == []

    def test_the_workflow_itself_has_no_task_and_no_output(self) -> None:
        assert found("do: []\ninput: {from: $input}\noutput: {as: $task.name}") == [
            ("/input/from", "variable-unknown"),
            ("/output/as", "variable-unknown"),
        ]

    def test_a_schedule_has_no_secrets_for_it_has_no_execution(self) -> None:
        on = "{one: {with: {type: paid, data: '${ .token == $secrets.token }'}}}"
        assert found(f"use: {{secrets: [token]}}\nschedule: {{on: {on}}}\ndo: []") == [
            ("/schedule/on/one/with/data", "variable-unknown")
        ]

    @pytest.mark.parametrize("name", ["input", "context", "ENV", "1x", "a-b", "", "é", "a b"])
    def test_a_variable_has_a_name_that_an_expression_can_use(self, name: str) -> None:
        assert ("/for/each", "variable-name") in of_task(f"{{for: {{each: '{name}', in: .x}}, do: []}}")

    def test_in_loose_mode_only_members_that_are_expressions_must_compile(self) -> None:
        assert found("evaluate: {mode: loose}\ndo: [{a: {set: {x: '${ ( }', y: '${ $no }'}, if: '('}}]") == [
            ("/do/0/a/if", "expression")
        ]

    @pytest.fixture
    def compiled(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What jq was asked to compile."""
        asked: list[str] = []
        monkeypatch.setattr(checking, "require_expression", lambda text, _: asked.append(text))
        return asked

    def test_of_thousands_of_expressions_hundreds_are_compiled_and_the_bound_is_said(self, compiled: list[str]) -> None:
        many = "".join(f'- a{n}: {{set: {{x: "${{ def f(x): x + {n}; f(.y) }}"}}}}\n' for n in range(4000))
        assert {finding.code for finding in check(f"{HEAD}do:\n{many}")} == {"too-many-expressions"}
        assert len(compiled) == MOST_COMPILED

    def test_the_same_expression_is_compiled_once(self, compiled: list[str]) -> None:
        same = "".join(f'- a{n}: {{set: {{x: "${{ def once_only: 1; once_only }}"}}}}\n' for n in range(50))
        assert check(f"{HEAD}do:\n{same}") == []
        assert compiled == ["def once_only: 1; once_only"]


class TestValues:
    @pytest.mark.parametrize(
        "cron",
        ["0 0 * * *", "*/5 1-3,7 * JAN-mar MON-FRI", "0 0 L * *", "0 9 * * 1#1", "@daily", "@Hourly", "59 23 31 12 7"],
    )  # fmt: skip
    def test_cron_expressions(self, cron: str) -> None:
        assert found(f"do: []\nschedule: {{cron: '{cron}'}}") == []

    @pytest.mark.parametrize(
        "cron",
        ["", "x", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 32 * *", "0 0 30 2 *", "@reboot", "@never",
         "R * * * *", "H * * * *", "*/0 * * * *", "* * * FOO *", "a b c d e", "1,,2 * * * *", "* " * 500],
    )  # fmt: skip
    def test_what_is_no_cron_expression_or_never_comes(self, cron: str) -> None:
        assert found(f"do: []\nschedule: {{cron: '{cron}'}}") == [("/schedule/cron", "cron")]

    @pytest.mark.parametrize("every", ["PT0S", "{milliseconds: 1}", "PT0.9S", "'${ .x }'", "{days: 99999999}"])
    def test_a_schedule_has_a_constant_span_of_a_second_or_more(self, every: str) -> None:
        assert found(f"do: []\nschedule: {{every: {every}}}") == [("/schedule/every", "duration")]

    @pytest.mark.parametrize(
        ("zone", "codes"),
        [("Europe/Berlin", []), ("UTC", []), *((bad, ["timezone"]) for bad in
         ("Mars/Olympus", "", "Europe", "../etc/passwd", "/etc/passwd", "a\\0b", "x" * 5000))],
    )  # fmt: skip
    def test_a_time_zone_exists(self, zone: str, codes: list[str]) -> None:
        text = HEAD.replace("}", f', metadata: {{timezone: "{zone}"}}}}') + "do: []"
        assert [finding.code for finding in check(text)] == codes

    @pytest.mark.parametrize(
        ("limit", "codes"), [("3", []), ("0", ["range"]), ("-1", ["range"]), ("1.5", ["type"]), ("'2'", ["type"])]
    )
    def test_concurrency_is_a_positive_number(self, limit: str, codes: list[str]) -> None:
        text = HEAD.replace("}", f", metadata: {{concurrency: {limit}}}}}") + "do: []"
        assert [finding.code for finding in check(text)] == codes

    @pytest.mark.parametrize(
        ("uri", "codes"),
        [("https://a/{b}/{c.d}?e={f}", []), ("https://a/{+b}", ["uri-template"]), ("https://a/{b,c}", ["uri-template"]),
         ("https://a/{b*}", ["uri-template"]), ("https://a/{}", ["uri-template"]), ("https://a/{b", ["uri-template"]),
         ("https://a/b}", ["uri-template"]), ("https://a b", ["uri"]), ("//a", ["uri"]), ("https://a/${ .b }/c", [])],
    )  # fmt: skip
    def test_an_address_has_only_names_in_braces(self, uri: str, codes: list[str]) -> None:
        task = f"{{call: http, with: {{method: get, endpoint: '{uri}'}}}}"
        assert [code for _, code in of_task(task)] == codes

    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            ("{type: object}", []),
            ("{type: objct}", [("/type", "schema")]),
            ("{properties: {a: {minLength: -1}}}", [("/properties/a/minLength", "schema")]),
            ("{pattern: '('}", [("/pattern", "schema")]),
            ("{$ref: '#/nowhere'}", [("", "schema")]),
            ("{$ref: 'http://127.0.0.1:9/x.json'}", [("", "schema")]),
            ("{$schema: 'http://127.0.0.1:9/x.json'}", [("", "schema")]),
        ],
    )
    def test_a_schema_is_one_and_nothing_is_fetched_to_know(self, schema: str, expected: list[tuple[str, str]]) -> None:
        at = "/output/schema/document"
        found_ = of_task(f"{{set: {{}}, output: {{schema: {{document: {schema}}}}}}}")
        assert [(path.removeprefix(at), code) for path, code in found_] == expected

    def test_the_least_jitter_is_not_more_than_the_most(self) -> None:
        retry = "{jitter: {from: PT2S, to: PT1S}, backoff: {linear: {by: 5}}}"
        findings = check(f"{HEAD}do: [{{a: {{try: [], catch: {{retry: {retry}}}}}}}]")
        assert [(finding.code, finding.severity) for finding in findings] == [
            ("duration", "error"),
            ("ignored", "warning"),
        ]

    def test_a_function_that_a_protocol_hides_is_a_warning(self) -> None:
        (finding,) = check(f"{HEAD}use: {{functions: {{http: {{set: {{}}}}, pay: {{set: {{}}}}}}}}\ndo: []")
        assert (finding.path, finding.code, finding.severity) == ("/use/functions/http", "ignored", "warning")

    def test_what_is_ignored_is_a_warning(self) -> None:
        task = "{run: {container: {image: a, lifetime: {cleanup: always, after: PT1S}}}}"
        (finding,) = check(f"{HEAD}do: [{{a: {task}}}]")
        assert (finding.code, finding.severity) == ("ignored", "warning")


class TestProcesses:
    def refused(self, *allowed: str) -> list[Finding]:
        (path,) = (path for path in DEFINITIONS if path.stem == "processes")
        return check(path.read_text("utf-8"), processes=frozenset(allowed))

    def test_what_would_start_a_process_is_refused_unless_it_is_allowed(self) -> None:
        findings = self.refused()
        assert [finding.code for finding in findings] == ["process-refused"] * 5
        assert [finding.path.rpartition("/")[2] for finding in findings] == [
            "container", "script", "script", "shell", "stdio",
        ]  # fmt: skip
        assert all("setting processes" in finding.message for finding in findings)
        assert [finding.path.rpartition("/")[2] for finding in self.refused("script", "container", "mcp")] == ["shell"]
        assert self.refused("script", "container", "mcp", "shell") == []
