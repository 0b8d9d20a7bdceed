"""The drawing of a definition's flow: every way that an execution may go is an edge, and no text breaks the drawing."""

import json
import re
from pathlib import Path

import pytest

from penstock.dsl.check import check
from penstock.dsl.graph import Graph, Group, Node, graph_of
from penstock.dsl.graph.dot import dot
from penstock.dsl.graph.mermaid import mermaid
from tests.dsl.mutations import DEFINITIONS

HEAD = "document: {dsl: 1.0.3, namespace: shop, name: greet, version: 0.1.0}\n"
# A line of Mermaid that we may write: every label in quotes, in it nothing that means something to Mermaid.
_LABEL = r'"(?:[\w \-.,:/=+*?!$…·]|#\d+;|<br>)*"'
_OPENED, _CLOSED = r"(?:\[\[|\(\[|\(\(|\[/|\[\\|\[|\{\{|\{|>)", r"(?:\]\]|\]\)|\)\)|\\\]|/\]|\]|\}\}|\})"
_LINES = re.compile(
    "|".join(
        [
            r"flowchart TD",
            rf"\s+subgraph g\d+\[{_LABEL}\]",
            r"\s+end",
            rf"\s+(?:n\d+|begin|finish){_OPENED}{_LABEL}{_CLOSED}",
            rf"\s+(?:n\d+|begin) (?:-->|-\.->)(?:\|{_LABEL}\|)? (?:n\d+|finish)",
        ]
    )
)


def ways(tasks: str) -> set[tuple[str, str, str]]:
    """Every edge, by the first lines of what it joins; ways in and out of groups are named by the group."""
    graph = graph_of(f"{HEAD}do: {tasks}")
    names = dict(_names(graph.parts, ""))
    return {(names[edge.source], edge.label, names[edge.target]) for edge in graph.edges}


def _names(parts: list[Node | Group], group: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    points = iter((f"into {group}", f"out of {group}"))
    for part in parts:
        if isinstance(part, Group):
            found += _names(part.parts, part.label)
        else:
            found.append((part.id, part.label.partition("\n")[0] if part.kind != "point" else next(points)))
    return found


def test_tasks_follow_one_another_and_lead_where_they_say() -> None:
    assert ways("[]") == {("start", "", "end")}
    assert ways("[{a: {set: {}, then: c}}, {b: {set: {}, then: end}}, {c: {set: {}, then: b}}]") == {
        ("start", "", "a"),
        ("a", "", "c"),
        ("c", "", "b"),
        ("b", "", "end"),
    }


def test_a_switch_has_an_edge_for_each_case_and_one_for_none_of_them() -> None:
    cases = "[{x: {when: '${ .x }', then: b}}, {y: {when: .y, then: exit}}]"
    assert ways(f"[{{a: {{switch: {cases}, then: end}}}}, {{b: {{set: {{}}}}}}]") == {
        ("start", "", "a"),
        ("a", "x: .x", "b"),
        ("a", "y: .y", "end"),
        ("a", "otherwise", "end"),
        ("b", "", "end"),
    }


def test_a_condition_leads_past_its_task() -> None:
    assert ways("[{a: {if: .x, set: {}, then: end}}, {b: {raise: {error: {type: 'about:blank', status: 1}}}}]") == {
        ("start", "", "if .x"),
        ("if .x", "yes", "a"),
        ("if .x", "no", "b"),
        ("a", "", "end"),
    }


def test_loops_go_round_and_branches_side_by_side() -> None:
    assert ways("[{a: {for: {each: x, in: .xs}, do: [{b: {set: {}}}]}}]") == {
        ("start", "", "each x in .xs"),
        ("each x in .xs", "each", "b"),
        ("b", "", "each x in .xs"),
        ("each x in .xs", "done", "into for: a"),  # its only point
        ("into for: a", "", "end"),
    }
    assert ways("[{a: {fork: {branches: [{b: {set: {}}}, {c: {set: {}, then: end}}]}}}]") == {
        ("start", "", "into fork: a"),
        ("into fork: a", "", "b"),
        ("into fork: a", "", "c"),
        ("b", "", "out of fork: a"),
        ("c", "", "end"),
        ("out of fork: a", "", "end"),
    }


def test_what_is_caught_leads_to_its_handler_and_back() -> None:
    catch = "{errors: {with: {status: 404}}, retry: {}, do: [{c: {set: {}}}]}"
    assert ways(f"[{{a: {{try: [{{b: {{set: {{}}}}}}], catch: {catch}}}}}]") == {
        ("start", "", "into try: a"),
        ("into try: a", "", "b"),
        ("b", "", "out of try: a"),
        ("into try: a", "error", "catch 404"),
        ("catch 404", "retry", "into try: a"),
        ("catch 404", "", "c"),
        ("c", "", "out of try: a"),
        ("out of try: a", "", "end"),
    }


def _drawn(path: Path) -> Graph:
    return graph_of(path.read_text("utf-8"))


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_every_edge_joins_nodes_that_are_drawn(path: Path) -> None:
    graph = _drawn(path)
    ids = [name for name, _ in _names(graph.parts, "")]
    assert len(set(ids)) == len(ids)
    assert {end for edge in graph.edges for end in (edge.source, edge.target)} <= set(ids)


def test_no_text_of_an_author_means_anything_to_the_drawing() -> None:
    names = ['"] --> x["', "subgraph", "`a`", "<script>alert(1)</script>", "%%{init: {}}%%", "a;b", "a#35;b", "té 日本",
             "\\", 'a\\"b', "]]", "}}", '|"|', "click n1 href", "::: x", "\u202eabc", "😀", "a\tb",
             "x" * 200]  # fmt: skip
    tasks = [{name: {"if": f". == {json.dumps(name)}", "do": [{name: {"set": {}}}]}} for name in names]
    text = json.dumps({"document": {"dsl": "1.0.3", "namespace": "a", "name": "b", "version": "0.0.0"}, "do": tasks})
    graph = graph_of(text)
    for line in mermaid(graph).splitlines():
        assert _LINES.fullmatch(line), line
    for line in dot(graph).splitlines():
        # Outside its quoted texts, a line of DOT has only what we put there.
        assert re.fullmatch(r"[\w ={}\[\],;>-]*", re.sub(r'"(?:[^"\\]|\\.)*"', "", line)), line


@pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)
def test_each_definition_is_drawn_in_lines_that_mermaid_knows(path: Path) -> None:
    assert check(path.read_text("utf-8")) == []
    for line in mermaid(_drawn(path)).splitlines():
        assert _LINES.fullmatch(line), line
