"""`penstock graph`, as a person runs it."""

from pathlib import Path

from tests.cli.running import penstock, refused
from tests.cli.test_check import BROKEN, GOOD


def test_a_definition_is_drawn_as_mermaid_or_dot(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    assert penstock("graph", "a.yaml", cwd=tmp_path).stdout.startswith("flowchart TD\n")
    assert penstock("graph", "a.yaml", "--format", "dot", "-o", "a.dot", cwd=tmp_path).stdout == ""
    assert (tmp_path / "a.dot").read_text().startswith('digraph "greet" {\n')


def test_what_is_not_valid_is_not_drawn(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(BROKEN)
    assert refused("graph", "a.yaml", cwd=tmp_path).startswith("a.yaml:4: ")
