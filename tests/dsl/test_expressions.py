"""jq expressions of people who are not all friends."""

import contextlib
import random
import time

import jq
import pytest

from penstock.dsl.expressions import LONGEST, NotAnExpression, require_expression


@pytest.mark.parametrize(
    "text",
    [
        ".",
        ".a.b[0]",
        ".env",
        ".a.input",
        '."env"',
        '"env and $ENV"',
        '"\\\\(env)"',
        "{input: 1, env: .b}",
        "{a: 1,\n env : 2}",
        ". | {id, input, startedAt}",
        ".a as {env: $x} | $x",
        ".a # env is only mentioned",
        "[.[] | select(.debug == true)]",
        '@base64 "x\\(.a)"',
        "reduce .[] as $x (0; . + $x)",
        "$__loc__",
        ".inputs_of_mine",
    ],
)
def test_an_expression_is_taken(text: str) -> None:
    require_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "env",
        "env.PATH",
        "$ENV",
        "$ENV.PATH",
        "$ ENV",
        "$#\nENV",
        '"\\(env)"',
        '"a\\("b\\($ENV)")"',
        '@json "\\(env)"',
        "{a: if . then 1, env, 2 else 3 end}",
        "{a: [1, env], b: 1}",
        "[{a: 1}, env, 1]",
        "{$ENV}",
        "{$ENV: 1}",
        "{(env.A): 1}",
        "{a: env}",
        ".[0, env: 2]",
        ".[env:]",
        "[.a, input]",
        "def f: env; f",
        "def env: 1; env",
        "input",
        "inputs",
        "[inputs]",
        "debug",
        'debug("x")',
        "stderr",
        "halt",
        '"x" | halt_error',
        "input_filename",
        "input_line_number",
        "get_search_list",
        '"a" | modulemeta',
        'import "a" as a; .',
        'include "a"; .',
        "a::b",
        ". env",
        "1env",
        "..|env",
        '# \\\n" \nenv #"',
        "# x\renv",
        '"#" | env #"',
    ],
)
def test_what_reaches_beyond_its_input_is_refused(text: str) -> None:
    with pytest.raises(NotAnExpression):
        require_expression(text)


@pytest.mark.parametrize("text", ["", "  ", "(", "a", "$x", '"', "{", ". . .", "\0", ".\0", "\ud800", "?//", "# only"])
def test_what_is_no_expression_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(NotAnExpression) as caught:
        require_expression(text)
    assert str(caught.value)


def test_variables_are_known_when_they_are_named() -> None:
    require_expression("$context.a + $input", ["context", "input"])
    with pytest.raises(NotAnExpression, match=r"\$other is not defined at <top-level>, line 1, column 6$"):
        require_expression(".a + $other", ["context", "input"])
    with pytest.raises(NotAnExpression, match="line 2, column 1"):
        require_expression(".a |\nnonsense", ["context"])


def test_an_expression_has_8_kib_at_most() -> None:
    require_expression("." + " " * (LONGEST - 1))
    with pytest.raises(NotAnExpression, match="8 KiB"):
        require_expression("." + " " * LONGEST)
    with pytest.raises(NotAnExpression, match="8 KiB"):
        require_expression('"' + "é" * (LONGEST // 2) + '"')


@pytest.mark.parametrize(
    "piece", ["(", "[", "{", '"\\(', "-", ".|", "try ", "if ", ".a", "..", "?", "def f: ", "1+", ".[", "$a|"]
)
def test_one_piece_repeated_up_to_the_limit_is_answered_soon(piece: str) -> None:
    started = time.process_time()
    with contextlib.suppress(NotAnExpression):
        require_expression((piece * LONGEST)[:LONGEST])
    assert time.process_time() - started < 5


def test_whatever_passes_shows_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_CANARY", "tweet")
    rnd = random.Random(20261115)
    pieces = ["env", "$ENV", "input", ".", "[", "]", "{", "}", "(", ")", '"', "\\(", ":", ",", "|", "#", "\n", "\\",
              "a", ".a", "$", "1", " ", "\r", "as $x", ";", "def f:", "?", "//", "@json "]  # fmt: skip
    passed = 0
    for _ in range(4000):
        text = "".join(rnd.choice(pieces) for _ in range(rnd.randrange(1, 7)))
        try:
            require_expression(text)
        except NotAnExpression:
            continue
        passed += 1
        try:
            shown = jq.compile(text).input_value({"a": 1}).all()
        except ValueError:
            continue
        assert "tweet" not in str(shown), text
    assert passed > 50
