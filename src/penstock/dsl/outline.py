"""What an editor shows of a valid definition beside its text: the graph, the form of its input, when it runs.

All of it is bounded: aliases can make much of a short text.
"""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from penstock.dsl.durations import microseconds
from penstock.dsl.graph import Group, Node, TooManyParts, drawn
from penstock.dsl.parse import LONGEST, Parsed, Path, parse, pointer

MOST_DRAWN = 5_000
Json = dict[str, Any]


class Drawn(msgspec.Struct, frozen=True):
    """A node of the graph, or a group of them. `line` to `end_line` is its text."""

    id: str
    kind: str
    label: str
    reference: str
    parent: str | None
    group: bool
    line: int | None
    end_line: int | None


class Way(msgspec.Struct, frozen=True):
    source: str
    target: str
    label: str
    dashed: bool


class Flow(msgspec.Struct, frozen=True):
    nodes: list[Drawn]
    edges: list[Way]


class Planned(msgspec.Struct, frozen=True):
    """One of `every`, `cron`, `after` and `on`; spans of time in microseconds."""

    kind: Literal["every", "cron", "after", "on"]
    cron: str | None
    microseconds: int | None
    timezone: str


class Outline(msgspec.Struct, frozen=True):
    document: Json | None
    graph: Flow | None
    input_schema: Any
    schedule: Planned | None


def outline_of(text: str) -> Outline:
    """Of a definition that `check` finds valid."""
    parsed = parse(text)
    if parsed is None:
        return Outline(None, _flow(Parsed({"document": {"name": "empty"}, "do": []}, {}), text), None, None)
    data = parsed.data
    return Outline(_if_small(data["document"]), _flow(parsed, text), _if_small(_input_schema(data)), _schedule_of(data))


def _input_schema(data: Json) -> Any:
    schema = (data.get("input") or {}).get("schema") or {}
    return schema.get("document")


def _schedule_of(data: Json) -> Planned | None:
    zone = (data["document"].get("metadata") or {}).get("timezone") or "UTC"
    for kind, what in (data.get("schedule") or {}).items():
        match kind:
            case "cron":
                return Planned("cron", what, None, zone)
            case "every" | "after":
                return Planned(kind, None, microseconds(what), zone)
            case "on":
                return Planned("on", None, None, zone)
    return None


def _flow(parsed: Parsed, text: str) -> Flow | None:
    try:
        graph = drawn(parsed.data, MOST_DRAWN)
    except TooManyParts:
        return None
    places = _Places(parsed, text)
    return Flow(
        list(_nodes(graph.parts, None, places)),
        [Way(edge.source, edge.target, edge.label, edge.dashed) for edge in graph.edges],
    )


def _nodes(parts: list[Node | Group], parent: str | None, places: "_Places") -> Iterator[Drawn]:
    for part in parts:
        line, end_line = places.of(part.reference)
        is_group = isinstance(part, Group)
        yield Drawn(part.id, part.kind, part.label, part.reference, parent, is_group, line, end_line)
        if isinstance(part, Group):
            yield from _nodes(part.parts, part.id, places)


class _Places:
    """On which lines of the text a task stands, its name included."""

    def __init__(self, parsed: Parsed, text: str) -> None:
        self._lines = text.splitlines()
        self._starts = {pointer(path): _start(parsed, path) for path in parsed.positions if path}
        self._last: dict[str, int] = {}
        for path, (line, _) in parsed.positions.items():
            for end in range(1, len(path) + 1):
                above = pointer(path[:end])
                self._last[above] = max(self._last.get(above, 0), line)

    def of(self, reference: str) -> tuple[int | None, int | None]:
        if reference not in self._starts:
            return None, None
        line, column = self._starts[reference]
        end = self._last[reference]
        # A text of several lines begins where it begins; the rest of it is indented.
        while end < len(self._lines) and _indent(self._lines[end]) >= column:
            end += 1
        return line, end


def _start(parsed: Parsed, path: Path) -> tuple[int, int]:
    """Where the item of a list begins that the value is named in; else where the value does."""
    if len(path) > 1 and isinstance(path[-2], int):
        return parsed.positions.get(path[:-1], parsed.positions[path])
    return parsed.positions[path]


def _indent(line: str) -> int:
    """The column from 1 of its first character; none of a blank line."""
    stripped = line.lstrip(" ")
    return len(line) - len(stripped) + 1 if stripped else 0


def _if_small(data: Any) -> Any:
    return data if _size(data, LONGEST) <= LONGEST else None


def _size(data: Any, most: int) -> int:
    """About how many characters it has as JSON; counted no further than `most`."""
    size, waiting = 0, [data]
    while waiting and size <= most:
        value = waiting.pop()
        size += 2
        if isinstance(value, dict):
            size += sum(map(len, value))
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str):
            size += len(value)
    return size
