"""Where expressions are in the strings of a definition."""

import time
from typing import Any

import pytest

from penstock.dsl.expressions import Program, Text, embedded


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("${ .a }", ".a"),
        ("${.a}", ".a"),
        ("  ${ .a }\n", ".a"),
        ("${ {a: {b: 1}} }", "{a: {b: 1}}"),
        ('${ "}" }', '"}"'),
        ('${ "\\(.a | "}") ${ x }" }', '"\\(.a | "}") ${ x }"'),
        ("${ .a # }\n }", ".a # }"),
        ("${ .a ] }", ".a ]"),
        ('${ "open }', '"open'),
        ("${}", ""),
    ],
)
def test_a_string_that_is_an_expression(text: str, inside: str) -> None:
    found = embedded(text)
    assert isinstance(found, Program)
    assert found.text == inside


@pytest.mark.parametrize(
    "text", ["", "a", "$a", "{a}", "${name} is set", "echo ${HOME}/${USER}", "cost: $ {a}", "${ .a", "a ${ .b", "}${"]
)
def test_a_string_that_only_looks_like_one(text: str) -> None:
    assert embedded(text) == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("${ .a } and ${ .b }", [("p", ".a"), " and ", ("p", ".b")]),
        ("Hello ${ .name }!", ["Hello ", ("p", ".name"), "!"]),
        ("https://x/${.id}/${name}", ["https://x/", ("p", ".id"), "/${name}"]),
        ("https://x/${ .a }/${b}", ["https://x/", ("p", ".a"), "/${b}"]),
        ('x ${ "}" + "\\("}")" } y', ["x ", ("p", '"}" + "\\("}")"'), " y"]),
        ("${ .a }${ .b }", [("p", ".a"), ("p", ".b")]),
        ("a ${ ${ .b }", ["a ${ ", ("p", ".b")]),
    ],
)
def test_a_text_with_expressions_in_it(text: str, parts: list[Any]) -> None:
    found = embedded(text)
    assert isinstance(found, Text)
    assert [("p", part.text) if isinstance(part, Program) else part for part in found.parts] == parts


def test_the_values_of_a_text_are_joined() -> None:
    found = embedded("a ${ .a } b ${ .b } c ${ .c } d ${ .d }")
    assert isinstance(found, Text)
    assert found.joined(["x", None, {"k": [1, "é"]}, 2.5]) == 'a x b  c {"k":[1,"é"]} d 2.5'


def test_an_expression_that_must_not_run_says_so_and_is_not_run() -> None:
    for text in ("env", "$ENV.PATH", "input", ".a ]", "", '"open'):
        found = embedded(f"${{ {text} }}")
        assert isinstance(found, Program)
        assert found.refused
        assert found.fast is None


@pytest.mark.parametrize("piece", ["${ x ", "${ #", '${ "', "${ (", '${ "\\(', "${ x }} "])
def test_a_long_text_of_openings_is_read_soon(piece: str) -> None:
    text = piece * (256 * 1024 // len(piece))
    started = time.process_time()
    embedded(text)
    assert time.process_time() - started < 10
