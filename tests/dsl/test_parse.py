"""Reading a definition: YAML 1.2 and nothing dangerous."""

import random
import time
from typing import Any

import pytest

from penstock.dsl.check import check
from penstock.dsl.parse import DEEPEST, LONGEST, NotReadable, parse, pointer


def data_of(text: str) -> Any:
    parsed = parse(text)
    assert parsed is not None
    return parsed.data


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("FALSE", False),
        ("tRUE", "tRUE"),
        ("null", None),
        ("~", None),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("012", 12),
        ("0o14", 12),
        ("0xC", 12),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("12:30:45", "12:30:45"),
        ("2026-01-01", "2026-01-01"),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("1.0.0", "1.0.0"),
        ("'12'", "12"),
        ('"true"', "true"),
        ("=", "="),
        ("[]", []),
        ("{}", {}),
        ("{a: }", {"a": None}),
        ('{"a":1,"b":[true,null,"x\\/y"]}', {"a": 1, "b": [True, None, "x/y"]}),
        ('{\n\t"a":\t1\n}', {"a": 1}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "😀"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("on: 1\n200: 2\nnull: 3\ntrue: 4", {"on": 1, "200": 2, "null": 3, "true": 4}),
        ("<<: {a: 1}", {"<<": {"a": 1}}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
    ],
)
def test_scalars_and_structures_are_read_by_the_core_schema(text: str, value: Any) -> None:
    found = data_of(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["", " \n", "# only a comment\n", "\n\n# a\n"])
def test_no_document_is_none(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: 1\nb: 2\na: 3", "twice"),
        ("{a: 1, 'a': 2}", "twice"),
        ('{"a": 1, "a": 2}', "twice"),
        ("1: a\n'1': b", "twice"),
        ("!!str 1", "tag"),
        ("a: !custom {}", "tag"),
        ("- !!python/object/apply:os.system [id]", "tag"),
        ("! a", "tag"),
        ("a\n---\nb", "documents"),
        ("--- a\n--- a", "documents"),
        ("&a [*a]", "alias"),
        ("&a {b: {c: *a}}", "alias"),
        ("a: *b", "alias"),
        ("? [a]\n: b", "key"),
        ("? {a: b}\n: c", "key"),
        ("a: &x k\n*x : 1", "key"),
        ("a: .inf", "number"),
        ("a: -.INF", "number"),
        ("a: .nan", "number"),
        ("a: 1e999", "number"),
        ("a: " + "9" * 1001, "number"),
        ("a: [", "yaml"),
        ("a: b: c", "yaml"),
        ("\tb", "yaml"),
        ("a: 'b", "yaml"),
        ("a: \x07", "yaml"),
        ("a: \0", "yaml"),
        ("a: @b", "yaml"),
        ('{"a": "\\ud83d"}', "yaml"),
        ("\ud83d", "encoding"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "too-deep"),
        ("- " * 100_000, "too-deep"),
        ("[" * 200_000, "too-deep"),
        ('{"a":' * 50_000, "too-deep"),
        ("#" * (LONGEST + 1), "too-large"),
    ],
)
def test_what_is_dangerous_or_ambiguous_is_refused(text: str, code: str) -> None:
    with pytest.raises(NotReadable) as caught:
        parse(text)
    assert caught.value.code == code
    assert caught.value.line >= 1
    assert caught.value.column >= 1


def test_as_deep_as_allowed_is_read() -> None:
    assert parse("[" * DEEPEST + "]" * DEEPEST) is not None


def test_an_alias_does_not_go_deeper_than_allowed() -> None:
    nested = "a: &a " + "[" * 40 + "]" * 40 + "\nb: " + "[" * 40 + "*a" + "]" * 40
    with pytest.raises(NotReadable, match="levels"):
        parse(nested)


def test_a_few_lines_that_stand_for_a_billion_values_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    started = time.process_time()
    with pytest.raises(NotReadable) as caught:
        parse("\n".join(lines))
    assert caught.value.code == "too-many"
    assert time.process_time() - started < 5


def test_every_value_knows_its_place() -> None:
    parsed = parse("a: 1\nb:\n  - x\n  - c: &x\n      d: 2\ne: *x\n")
    assert parsed is not None
    assert parsed.position(("a",)) == (1, 4)
    assert parsed.position(("b", 1, "c", "d")) == (5, 10)
    # What came by an alias stands where the alias does.
    assert parsed.position(("e", "d")) == (6, 4)
    assert parsed.position(()) == (1, 1)


def test_a_path_becomes_a_json_pointer() -> None:
    assert pointer(("do", 0, "a/b", "c~d", "")) == "/do/0/a~1b/c~0d/"


_PIECES = [
    "a", "b: ", "- ", "[", "]", "{", "}", ",", ":", "? ", "|", ">", "'", '"', "\\", "&a ", "*a", "!t ", "%", "@", "`",
    "#", "\n", "\n  ", "\t", "\r", "---\n", "...\n", "0x", "1e", "~", "<<", "\x85", "\u2028", "é", "😀", "\ufeff", "\0",
    "\x1b", "do:\n", "document:\n", "  - x:\n      set: 1\n", "\\ud83d", "\ud800", ".inf", "on",
]  # fmt: skip


def test_no_text_whatever_breaks_the_check() -> None:
    rnd = random.Random(20261115)
    started = time.process_time()
    for _ in range(3000):
        text = "".join(rnd.choice(_PIECES) for _ in range(rnd.randrange(60)))
        for finding in check(text):
            assert finding.message
            assert finding.line >= 1
            assert finding.column >= 1
    for _ in range(1000):
        check(rnd.randbytes(rnd.randrange(200)).decode("latin-1"))
        check("".join(chr(rnd.randrange(0x110000)) for _ in range(rnd.randrange(50))))
    assert time.process_time() - started < 60


@pytest.mark.parametrize(
    "piece", ["[", "{", "- ", "a: ", "? ", "&a ", "*a ", "'", '"', "|\n ", "a\n", "a:\n", "\n", "- a\n", "{a: 1}, ",
              "[a]: ", "!a ", "%a\n", "---\n", "#", "\\", "a,", "0", "\t", "- - \n", " ", "?\n", "&a a\n", "'\n", ": "],
)  # fmt: skip
def test_one_piece_repeated_up_to_the_limit_is_answered_soon(piece: str) -> None:
    started = time.process_time()
    check((piece * LONGEST)[: LONGEST // 2])
    check("[" + (piece * LONGEST)[: LONGEST // 2])
    check("a:\n - " + (piece * LONGEST)[: LONGEST // 2])
    assert time.process_time() - started < 10
