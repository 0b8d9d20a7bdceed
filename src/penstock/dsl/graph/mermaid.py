"""A graph in Mermaid's language, as Markdown pages show it."""

import re
from collections.abc import Iterator

from penstock.dsl.graph.drawing import Edge, Graph, Group, Node

_LONGEST = 80
# Between which signs a label stands tells the shape.
_SHAPES = {
    "start": ("([", "])"),
    "end": ("([", "])"),
    "point": ("((", "))"),
    "call": ("[[", "]]"),
    "run": ("[[", "]]"),
    "emit": (">", "]"),
    "listen": ("{{", "}}"),
    "loop": ("{{", "}}"),
    "switch": ("{", "}"),
    "if": ("{", "}"),
    "raise": ("[/", "\\]"),
    "catch": ("[\\", "/]"),
    "wait": ("([", "])"),
}
_PLAIN = re.compile(r"[^\w \-.,:/=+*?!$]", re.ASCII)


def mermaid(graph: Graph) -> str:
    lines = ["flowchart TD", *_parts(graph.parts, "  "), *(f"  {_edge(edge)}" for edge in graph.edges)]
    return "\n".join(lines) + "\n"


def _parts(parts: list[Node | Group], indent: str) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Node):
            opened, closed = _SHAPES.get(part.kind, ("[", "]"))
            yield f'{indent}{part.id}{opened}"{text(part.label) or " "}"{closed}'
        else:
            yield f'{indent}subgraph {part.id}["{text(part.label)}"]'
            yield from _parts(part.parts, indent + "  ")
            yield f"{indent}end"


def _edge(edge: Edge) -> str:
    arrow = "-.->" if edge.dashed else "-->"
    label = f'|"{text(edge.label)}"|' if edge.label else ""
    return f"{edge.source} {arrow}{label} {edge.target}"


def text(label: str) -> str:
    """A label as Mermaid shows it: whatever could mean something to it is written as its number."""
    lines = [" ".join(line.split()) for line in label.split("\n")]
    return "<br>".join(_PLAIN.sub(_number, _short(line)) for line in lines if line)


def _number(found: re.Match[str]) -> str:
    # Letters of other alphabets mean nothing to it; what cannot be printed is shown to nobody.
    character = found.group()
    if character.isalnum():
        return character
    return f"#{ord(character)};" if character.isprintable() else "·"


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
