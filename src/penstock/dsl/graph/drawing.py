"""Makes a graph of a valid definition: a node for each task, a group for each task that holds others.

A group has a way in and a way out of its own, so that every edge joins two nodes.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from penstock.dsl.parse import Path, parse, pointer

Json = dict[str, Any]
# `end` is a word of Mermaid's own, and no node can be called so.
_BEGIN, _FINISH = "begin", "finish"
_LONGEST_LABEL = 300  # an alias may repeat a long text in every task
_KINDS = ("for", "try", "call", "emit", "fork", "listen", "raise", "run", "set", "switch", "wait", "do")


@dataclass(frozen=True, slots=True)
class Node:
    id: str
    kind: str  # a kind of task, or start, end, point, if, loop, catch
    label: str
    reference: str = ""  # a JSON pointer to what it is (a part of); a task's, as its steps have it


@dataclass(slots=True)
class Group:
    id: str
    kind: str
    label: str
    reference: str
    parts: list["Node | Group"] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    label: str = ""
    dashed: bool = False


@dataclass(slots=True)
class Graph:
    name: str
    parts: list[Node | Group] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Where one comes in, and where one goes out; who never goes on has no way out."""

    way_in: str
    ways_out: tuple[str, ...]


class TooManyParts(Exception):
    """A drawing that nobody could read, and that costs more than its definition: aliases are followed in it."""


def graph_of(text: str) -> Graph:
    """The graph of a definition that `check` finds valid. An empty one leads from start to end."""
    parsed = parse(text)
    return drawn(parsed.data if parsed is not None else {"document": {"name": "empty"}, "do": []})


def drawn(data: Json, most: int | None = None) -> Graph:
    """The graph of a definition's data. Raises `TooManyParts` when it has more than so many."""
    return _Drawing(str(data["document"]["name"]), most).drawn(data["do"])


class _Drawing:
    def __init__(self, name: str, most: int | None) -> None:
        self._graph = Graph(name)
        self._ids = count(1)
        self._most = most

    def drawn(self, tasks: list[Json]) -> Graph:
        parts = self._graph.parts
        parts.append(Node(_BEGIN, "start", "start"))
        way_in = self._list(tasks, ("do",), parts, _FINISH)
        parts.append(Node(_FINISH, "end", "end"))
        self._edge(_BEGIN, way_in)
        return self._graph

    def _list(self, tasks: list[Json], at: Path, parts: list[Node | Group], way_out: str, first: int = 0) -> str:
        """A list of tasks; where one comes into it. What leads past its last task, or exits, leads to `way_out`."""
        if not tasks:
            return way_out
        named = [next(iter(item.items())) for item in tasks]
        drawn = [self._task((*at, index, name), task, parts) for index, (name, task) in enumerate(named, first)]
        ways_in = {name: one.way_in for (name, _), one in zip(named, drawn, strict=True)}
        following = [*(one.way_in for one in drawn[1:]), way_out]
        for (_, task), one, following_one in zip(named, drawn, following, strict=True):
            directives = {"continue": following_one, "exit": way_out, "end": _FINISH}
            self._lead_on(task, one, ChainMap(directives, ways_in))
        return drawn[0].way_in

    def _lead_on(self, task: Json, drawn: _Drawn, targets: Mapping[str, str]) -> None:
        for way_out in drawn.ways_out:
            for target, label in _directives(task):
                self._edge(way_out, targets[target], label)
        if "if" in task:
            self._edge(drawn.way_in, targets["continue"], "no")

    def _task(self, at: Path, task: Json, parts: list[Node | Group]) -> _Drawn:
        kind = next(kind for kind in _KINDS if kind in task)
        if "if" not in task:
            return self._of_kind(kind, at, task, parts)
        condition = self._node("if", f"if {_text(task['if'])}", at, parts)
        drawn = self._of_kind(kind, at, task, parts)
        self._edge(condition, drawn.way_in, "yes")
        return _Drawn(condition, drawn.ways_out)

    def _of_kind(self, kind: str, at: Path, task: Json, parts: list[Node | Group]) -> _Drawn:
        match kind:
            case "do":
                return self._do(at, task, parts)
            case "for":
                return self._loop("for", _loop_label(task), task["do"], at, (*at, "do"), parts)
            case "fork":
                return self._fork(at, task["fork"], parts)
            case "try":
                return self._try(at, task, parts)
            case "listen" if (task.get("foreach") or {}).get("do"):
                tasks = task["foreach"]["do"]
                return self._loop("listen", _listen_label(task), tasks, at, (*at, "foreach", "do"), parts)
            case _:
                node = self._node(kind, f"{at[-1]}\n{_details(kind, task)}", at, parts)
                return _Drawn(node, () if kind == "raise" else (node,))

    def _do(self, at: Path, task: Json, parts: list[Node | Group]) -> _Drawn:
        group = self._group("do", f"do: {at[-1]}", at, parts)
        way_in = self._node("point", "", at, group.parts)
        way_out = self._node("point", "", at, group.parts)
        self._edge(way_in, self._list(task["do"], (*at, "do"), group.parts, way_out))
        return _Drawn(way_in, (way_out,))

    def _fork(self, at: Path, fork: Json, parts: list[Node | Group]) -> _Drawn:
        competes = fork.get("compete", False)
        group = self._group("fork", f"fork: {at[-1]}{' (the first wins)' if competes else ''}", at, parts)
        way_in, way_out = self._node("point", "", at, group.parts), self._node("point", "", at, group.parts)
        for index, branch in enumerate(fork["branches"]):
            self._edge(way_in, self._list([branch], (*at, "fork", "branches"), group.parts, way_out, index))
        if not fork["branches"]:
            self._edge(way_in, way_out)
        return _Drawn(way_in, (way_out,))

    def _loop(
        self, kind: str, label: str, tasks: list[Json], at: Path, inside: Path, parts: list[Node | Group]
    ) -> _Drawn:
        group = self._group("for", f"{kind}: {at[-1]}", at, parts)
        loop = self._node("loop", label, at, group.parts)
        way_out = self._node("point", "", at, group.parts)
        if tasks:
            self._edge(loop, self._list(tasks, inside, group.parts, loop), "each")
        self._edge(loop, way_out, "done")
        return _Drawn(loop, (way_out,))

    def _try(self, at: Path, task: Json, parts: list[Node | Group]) -> _Drawn:
        catch = task["catch"]
        outer = self._group("try", f"try: {at[-1]}", at, parts)
        way_in, way_out = self._node("point", "", at, outer.parts), self._node("point", "", at, outer.parts)
        self._edge(way_in, self._list(task["try"], (*at, "try"), outer.parts, way_out))
        caught = self._node("catch", f"catch {_caught(catch)}", (*at, "catch"), outer.parts)
        self._edge(way_in, caught, "error", dashed=True)
        if "retry" in catch:
            self._edge(caught, way_in, "retry", dashed=True)
        handler = self._group("do", "catch", (*at, "catch"), outer.parts) if catch.get("do") else None
        handled = way_out
        if handler is not None:
            handled = self._list(catch["do"], (*at, "catch", "do"), handler.parts, way_out)
        self._edge(caught, handled)
        return _Drawn(way_in, (way_out,))

    def _node(self, kind: str, label: str, at: Path, parts: list[Node | Group]) -> str:
        node = Node(self._id("n"), kind, _short(label.strip()), pointer(at))
        parts.append(node)
        return node.id

    def _group(self, kind: str, label: str, at: Path, parts: list[Node | Group]) -> Group:
        group = Group(self._id("g"), kind, _short(label), pointer(at))
        parts.append(group)
        return group

    def _id(self, letter: str) -> str:
        number = next(self._ids)
        if self._most is not None and number > self._most:
            raise TooManyParts
        return f"{letter}{number}"

    def _edge(self, source: str, target: str, label: str = "", *, dashed: bool = False) -> None:
        edge = Edge(source, target, _short(label), dashed)
        if edge not in self._graph.edges[-50:]:
            self._graph.edges.append(edge)


def _short(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"


def _directives(task: Json) -> Iterator[tuple[str, str]]:
    """Where a task leads, and under which condition."""
    then = task.get("then", "continue")
    if "switch" not in task:
        yield then, ""
        return
    has_default = False
    for item in task["switch"]:
        name, case = next(iter(item.items()))
        has_default = has_default or "when" not in case
        yield case["then"], f"{name}: {_text(case['when'])}" if "when" in case else name
    if not has_default:
        yield then, "otherwise"


def _text(value: Any) -> str:
    text = str(value).strip() if not isinstance(value, bool) else str(value).lower()
    if text.startswith("${") and text.endswith("}"):
        text = text[2:-1].strip()
    return text


def _loop_label(task: Json) -> str:
    loop = task["for"]
    condition = f"\nwhile {_text(task['while'])}" if "while" in task else ""
    return f"each {loop.get('each', 'item')} in {_text(loop['in'])}{condition}"


def _listen_label(task: Json) -> str:
    return f"each {task['foreach'].get('item', 'item')} of {_details('listen', task)}"


def _caught(catch: Json) -> str:
    wanted = (catch.get("errors") or {}).get("with") or {}
    told = [str(value).rpartition("/")[2] if name == "type" else str(value) for name, value in wanted.items()]
    return " ".join(told) or "any error"


def _details(kind: str, task: Json) -> str:
    match kind, task[kind]:
        case "call", "http":
            endpoint = task["with"]["endpoint"]
            uri = endpoint if isinstance(endpoint, str) else endpoint["uri"]
            return f"http {task['with']['method']} {_text(uri)}"
        case "call", function:
            return str(function)
        case "wait", dict() as parts:
            return " ".join(f"{amount} {unit}" for unit, amount in parts.items())
        case "wait", span:
            return _text(span)
        case "emit", emit:
            return _text(emit["event"]["with"].get("type", ""))
        case "listen", listen:
            return f"{next(iter(listen['to']))}: {', '.join(_events(listen['to'])) or 'every event'}"
        case "raise", {"error": error}:
            return error if isinstance(error, str) else f"{error['status']} {_text(error.get('title', error['type']))}"
        case "run", run:
            process = next(name for name in ("container", "script", "shell", "workflow") if name in run)
            return f"{process} {_text(_what(process, run[process]))}"
        case _:
            return ""


def _what(process: str, of: Json) -> str:
    return str(of[{"container": "image", "script": "language", "shell": "command", "workflow": "name"}[process]])


def _events(to: Json) -> list[str]:
    wanted = next(iter(to.values()))
    return [_text(one["with"].get("type", "…")) for one in (wanted if isinstance(wanted, list) else [wanted])]
