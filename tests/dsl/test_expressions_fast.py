"""Expressions without jq: exactly what jq gives, or nothing; never at a price that others would feel."""

import copy
from typing import Any

import pytest

from penstock.dsl.expressions import NeedsJq, program
from tests.dsl.expression_cases import Writer, by_jq, same

CASES = 1500


def test_generated_programs_give_what_jq_gives() -> None:
    write = Writer(20261115)
    given = 0
    for _ in range(CASES):
        text = write.program()
        fast = program(text).fast
        if fast is None:
            continue
        for _ in range(4):
            dot, variables = write.data(), {"x": write.data(), "y": write.data()}
            before = copy.deepcopy((dot, variables))
            try:
                value = fast(dot, variables)
            except NeedsJq:
                continue
            given += 1
            assert same(value, by_jq(text, dot, variables)), (text, dot, variables)
            assert same([dot, variables], list(before)), text
    assert given > CASES
