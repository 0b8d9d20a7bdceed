"""Expressions without jq: exactly what jq gives, or nothing; never at a price that others would feel."""

import copy
import random
from typing import Any

import pytest

from penstock.dsl.expressions import NeedsJq, program
from tests.dsl.expression_cases import TYPICAL, WORDS, Writer, by_jq, same

PROGRAMS = 1200
SOUPS = 3000
ORDER: dict[str, Any] = {
    "id": 9007199254740993,
    "customer": {"name": "Ada", "email": "ada@example.com", "address": None, "tags": ["vip", "eu"]},
    "items": [
        {"sku": "b-2", "price": 2.5, "count": 4, "gift": False},
        {"sku": "a-1", "price": 10, "count": 1, "gift": True},
        {"sku": "c-3", "price": 0.1, "count": 3},
    ],
    "note": None,
    "total": 20.3,
    "status": "open",
    "error": {"status": 503, "title": "Unavailable"},
}


def agrees(text: str, dot: Any, variables: dict[str, Any]) -> bool:
    """Whether it was answered at all; what is answered is what jq answers, and nothing that came in has changed."""
    fast = program(text).fast
    if fast is None:
        return False
    before = copy.deepcopy((dot, variables))
    try:
        value = fast(dot, variables)
    except NeedsJq:
        return False
    assert same(value, by_jq(text, dot, variables)), (text, dot, variables)
    assert same([dot, variables], list(before)), text
    return True


def test_generated_programs_give_what_jq_gives() -> None:
    write = Writer(20261115)
    given = 0
    for _ in range(PROGRAMS):
        text = write.program()
        given += sum(agrees(text, write.data(), {"x": write.data(), "y": write.data()}) for _ in range(3))
    assert given > PROGRAMS // 2


def test_random_words_are_read_as_jq_reads_them() -> None:
    rnd = random.Random(20261116)
    given = 0
    for _ in range(SOUPS):
        text = "".join(rnd.choice(["", "", " "]) + rnd.choice(WORDS) for _ in range(rnd.randrange(1, 8)))
        given += sum(agrees(text, dot, {"x": {"a": [1]}}) for dot in ({"a": [1, 2]}, [1, {"a": 3}], None))
    assert given > SOUPS // 20


@pytest.mark.parametrize("text", TYPICAL)
def test_what_workflows_mostly_write_needs_no_jq(text: str) -> None:
    assert agrees(text, ORDER, {"context": {"limit": 10, "seen": ["a-1"]}, "input": ORDER, "item": ORDER["items"][0]})


@pytest.mark.parametrize(
    ("text", "dot"),
    [
        ("|".join(["[.,.]"] * 50), 1),
        ("|".join([".+."] * 50), ["x"]),
        ("|".join([".+."] * 50), "x"),
        ("|".join(["tojson"] * 40), '"'),
        ("|".join(["{a:.,b:.}"] * 40), 1),
        ("[.[] as $a | .[] as $b | .[] as $c | 1]", list(range(300))),
        ("map($x)", list(range(2000))),
        ('map("' + "y" * 4000 + '")', list(range(2000))),
        ("map(. as $a | [$x[] | . == $a])", list(range(2000))),
        ("[.[] | ascii_downcase | ascii_upcase]", ["x" * 100_000] * 1000),
        ('"' + "\\(.)" * 100 + '"', "x" * 1_000_000),
        ('. / ""', "x" * 1_000_000),
        ("map(trim)", [" " * 100_000 + "x"] * 1000),
        ("map(" + "+".join(["."] * 200) + ")", list(range(2000))),
        (". - .", [[number] for number in range(2000)]),
        ("unique", [{"a": [number]} for number in range(5000)]),
        ('.[0] * 1000000000 | . + "x"', ["x"]),
        (".[1000000000] = 1", []),
    ],
)
def test_what_would_take_long_or_grow_large_is_left_to_jq(text: str, dot: Any) -> None:
    fast = program(text).fast
    assert fast is not None
    with pytest.raises(NeedsJq):
        fast(dot, {"x": list(range(2000))})


def test_data_of_any_depth_is_left_to_jq_or_answered() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    for text in (". == .", "tojson", "flatten", "contains(.)", "sort"):
        fast = program(text).fast
        assert fast is not None
        with pytest.raises(NeedsJq):
            fast(deep, {})


@pytest.mark.parametrize(
    "text",
    [
        "def f: f; f",
        "repeat(.)",
        "range(10)",
        "[limit(3; .[])]",
        "reduce .[] as $x (0; . + $x)",
        "..",
        'test("a")',
        "now",
        "@base64",
        "try .a catch .",
        ". as [$a] | $a",
        "env",
        "input",
        "nonsense",
        ".a b",
    ],
)
def test_what_loops_or_is_not_known_here_is_left_to_jq(text: str) -> None:
    assert program(text).fast is None


def test_an_error_is_left_to_jq_for_its_words() -> None:
    for text in (".a.b", "error", 'error("no")', '.a + "x"', "$unknown", ".[]"):
        fast = program(text).fast
        assert fast is not None
        with pytest.raises(NeedsJq):
            fast({"a": 5} if text != ".[]" else 5, {})


def test_numbers_keep_the_digits_that_they_came_with() -> None:
    large = 100000000000000000001
    for text in (".", ".[0]", "[.[]]", "{a: .[0]}", "map(.)"):
        assert agrees(text, [large, 1.0, 2**53 + 1], {})
    fast = program(".[0] + 1").fast
    assert fast is not None
    with pytest.raises(NeedsJq):
        fast([large], {})


def test_variables_are_those_that_a_program_may_ask_for() -> None:
    assert program("$input.a + .b").variables == {"input"}
    assert program(". as $x | $x + $context").variables == {"context"}
    assert program('"\\($task.name) $secrets"').variables == {"task"}
    assert program("reduce $input[] as $x (0; . + $x)").variables >= {"input"}
    assert program(".a").variables == frozenset()


def test_a_program_is_made_once() -> None:
    assert program(".a.once") is program(".a.once")
