"""The example workflows: valid, explained, and each with cases in a data file of its name."""

import json
from pathlib import Path

import pytest

from penstock.dsl.check import check

EXAMPLES = Path(__file__).parents[2] / "examples"
WORKFLOWS = sorted(EXAMPLES.glob("*.yaml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_example_is_valid_and_explained(path: Path) -> None:
    text = path.read_text("utf-8")
    assert check(text) == []
    assert text.startswith("# ")
    assert f"]({path.name})" in (EXAMPLES / "README.md").read_text("utf-8")


def test_every_example_is_run_by_a_case() -> None:
    run = set()
    for file in Path(__file__).parent.glob("*.json"):
        for case in json.loads(file.read_text("utf-8")):
            run |= {f"{file.stem}.yaml", *case.get("beside", [])}
    assert run == {path.name for path in WORKFLOWS}
