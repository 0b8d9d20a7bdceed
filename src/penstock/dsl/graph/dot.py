"""A graph in DOT, the language of Graphviz."""

from collections.abc import Iterator

from penstock.dsl.graph.drawing import Edge, Graph, Group, Node

_LONGEST = 80
_SHAPES = {
    "start": "circle",
    "end": "doublecircle",
    "point": "point",
    "call": "component",
    "run": "component",
    "emit": "rarrow",
    "listen": "larrow",
    "loop": "hexagon",
    "switch": "diamond",
    "if": "diamond",
    "raise": "octagon",
    "catch": "house",
    "wait": "oval",
}


def dot(graph: Graph) -> str:
    lines = [
        f"digraph {_quoted(graph.name)} {{",
        '  node [shape=box, fontname="sans-serif"];',
        '  edge [fontname="sans-serif"];',
        *_parts(graph.parts, "  "),
        *(f"  {_edge(edge)}" for edge in graph.edges),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _parts(parts: list[Node | Group], indent: str) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Node):
            yield f"{indent}{part.id} [shape={_SHAPES.get(part.kind, 'box')}, label={_quoted(part.label)}];"
        else:
            yield f"{indent}subgraph cluster_{part.id} {{"
            yield f"{indent}  label={_quoted(part.label)};"
            yield from _parts(part.parts, indent + "  ")
            yield f"{indent}}}"


def _edge(edge: Edge) -> str:
    members = [*([f"label={_quoted(edge.label)}"] if edge.label else []), *(["style=dashed"] if edge.dashed else [])]
    told = f" [{', '.join(members)}]" if members else ""
    return f"{edge.source} -> {edge.target}{told};"


def _quoted(label: str) -> str:
    lines = [" ".join(line.split()) for line in label.split("\n")]
    kept = ["".join(one if one.isprintable() else "·" for one in _short(line)) for line in lines if line]
    return '"' + "\\n".join(line.replace("\\", "\\\\").replace('"', '\\"') for line in kept) + '"'


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
