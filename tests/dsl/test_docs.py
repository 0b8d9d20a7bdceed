"""docs/dsl.md explains every code, and its examples do what it says."""

import re
from pathlib import Path
from typing import get_args

import pytest

from penstock.dsl.check import PROCESSES, check
from penstock.dsl.check.codes import Meaning, Reading, Shape

PAGE = (Path(__file__).parents[2] / "docs" / "dsl.md").read_text("utf-8")
HEAD = "document: {dsl: 1.0.3, namespace: shop, name: greet, version: 0.1.0}\n"
SECTIONS = {
    code: re.findall(r"```yaml\n(.*?)```", section, re.DOTALL)
    for code, section in re.findall(r"^#### `([a-z-]+)`\n(.*?)(?=^#|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}


def codes(text: str, *refused: str) -> set[str]:
    bare = text.removeprefix("---\n")
    whole = text if text.startswith("document:") else HEAD + bare
    return {finding.code for finding in check(whole, processes=PROCESSES - set(refused))}


def test_every_code_is_explained() -> None:
    assert set(SECTIONS) == {*get_args(Reading), *get_args(Shape), *get_args(Meaning)}


@pytest.mark.parametrize("code", [code for code, examples in SECTIONS.items() if examples])
def test_an_example_has_the_finding_and_its_cure_has_none(code: str) -> None:
    wrong, *cures = SECTIONS[code]
    assert code in codes(wrong, "shell")
    for cure in cures:
        assert codes(cure, "shell") == set()
