"""A definition's text (YAML 1.2 core schema, or JSON, which is YAML) as plain data, with the position of every value.

The tree is built here from libyaml's events: PyYAML's own composer recurses in C (a deep text ends the process),
expands aliases without bound, keeps the last of two equal keys and reads `on` as true. ruamel.yaml knows YAML 1.2, but
parses in Python, and a definition is parsed at every write.
"""

import json
import math
import re
from typing import Any

import msgspec
import yaml

LONGEST = 256 * 1024
DEEPEST = 64
_MOST_NODES = 100_000  # after aliases are followed: nine lines of them can stand for a billion values
_LEAST_PER_VALUE = 8  # characters, in a text without aliases that people wrote
_MOST_DIGITS = 1000

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Path = tuple[str | int, ...]


class NotReadable(Exception):
    """A text that is no definition at all. Lines and columns count from 1."""

    def __init__(self, message: str, code: str, line: int, column: int, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.line = line
        self.column = column
        self.path = path


class Parsed(msgspec.Struct, frozen=True):
    data: Any
    positions: dict[Path, tuple[int, int]]
    keys: dict[Path, tuple[int, int]] = {}
    """Of members, where their names stand."""

    def position(self, path: Path, *, of_name: bool = False) -> tuple[int, int]:
        """Where a value stands, or the name of it. What came by an alias stands where the alias does."""
        if of_name and (found := self.keys.get(path)):
            return found
        for end in range(len(path), -1, -1):
            if found := self.positions.get(path[:end]):
                return found
        return 1, 1


def pointer(path: Path) -> str:
    """A path as a JSON pointer (RFC 6901)."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def parse(text: str) -> Parsed | None:
    """The one document in the text; None when there is none (nothing, or only comments)."""
    return _parsed(text, _DEFINITION)


def parse_document(text: str, longest: int) -> Any:
    """The data of a text that is no definition, and may be longer than one: None when there is nothing in it."""
    found = _parsed(text, _Bounds("a document", longest, longest // _LEAST_PER_VALUE, positions=False))
    return found.data if found is not None else None


def _parsed(text: str, bounds: "_Bounds") -> Parsed | None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        raise NotReadable("half a surrogate pair is no character", "encoding", 1, 1) from error
    if size > bounds.longest:
        raise NotReadable(f"{bounds.what} may have {bounds.longest // 1024} KiB at most", "too-large", 1, 1)
    try:
        return _Builder(text, bounds).parsed()
    except yaml.YAMLError as error:
        # JSON writes a character beyond the first 65,536 as a pair of escapes, which YAML does not know.
        if text.lstrip()[:1] == "{" and (found := _json(text)) is not None:
            return found
        raise _from_yaml(error) from error


def _from_yaml(error: yaml.YAMLError) -> NotReadable:
    mark = getattr(error, "problem_mark", None)
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "it cannot be read"
    context = getattr(error, "context", None)
    return NotReadable(f"not YAML: {f'{context}: ' if context else ''}{problem}", "yaml", line, column)


class _Open:
    """A mapping or a list that has not ended yet."""

    __slots__ = ("anchor", "before", "data", "first_lines", "key", "levels", "path")

    def __init__(self, data: Any, path: Path, anchor: str | None, before: int) -> None:
        self.data: Any = data
        self.path = path
        self.anchor = anchor
        self.before = before
        self.levels = 0  # below this one
        self.key: str | None = None
        self.first_lines: dict[str, int] = {}

    def next_path(self) -> Path:
        return (*self.path, len(self.data) if isinstance(self.data, list) else self.key or "")


class _Bounds(msgspec.Struct, frozen=True):
    what: str
    longest: int
    most_nodes: int
    positions: bool
    """Whether they are kept: they take several times the memory of the data."""


_DEFINITION = _Bounds("a definition", LONGEST, _MOST_NODES, positions=True)


class _Builder:
    def __init__(self, text: str, bounds: _Bounds) -> None:
        self._text = text
        self._bounds = bounds
        self._positions: dict[Path, tuple[int, int]] = {}
        self._keys: dict[Path, tuple[int, int]] = {}
        self._stack: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int, int]] = {}  # value, nodes in it, levels in it
        self._nodes = 0
        self._documents = 0
        self._root: Any = None

    def parsed(self) -> Parsed | None:
        take = {
            yaml.ScalarEvent: self._scalar,
            yaml.MappingStartEvent: self._begin,
            yaml.SequenceStartEvent: self._begin,
            yaml.MappingEndEvent: self._end,
            yaml.SequenceEndEvent: self._end,
            yaml.AliasEvent: self._alias,
            yaml.DocumentStartEvent: self._document,
        }
        for event in yaml.parse(self._text, Loader=_LOADER):
            if (taker := take.get(type(event))) is not None:
                taker(event)
        return Parsed(self._root, self._positions, self._keys) if self._documents else None

    def _document(self, event: Any) -> None:
        self._documents += 1
        if self._documents > 1:
            raise self._at(event, "a definition is one document; this is the second", "documents")

    def _scalar(self, event: Any) -> None:
        self._refuse_tag(event)
        if self._expects_key():
            self._key(event)
            return
        path = self._path()
        value = self._resolve(event) if event.implicit[0] else event.value
        self._place(event, value, path)
        if event.anchor:
            self._anchors[event.anchor] = value, 1, 0

    def _begin(self, event: Any) -> None:
        self._refuse_tag(event)
        if self._expects_key():
            raise self._at(event, "a key must be text", "key")
        if len(self._stack) >= DEEPEST:
            raise self._at(event, f"nested more than {DEEPEST} levels deep", "too-deep")
        path = self._path()
        data: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
        before = self._nodes
        self._place(event, data, path)
        if event.anchor:
            self._anchors.pop(event.anchor, None)  # inside itself it does not exist yet
        self._stack.append(_Open(data, path, event.anchor, before))

    def _end(self, _: Any) -> None:
        ended = self._stack.pop()
        levels = ended.levels + 1
        if self._stack:
            self._stack[-1].levels = max(self._stack[-1].levels, levels)
        if ended.anchor:
            self._anchors[ended.anchor] = ended.data, self._nodes - ended.before, levels

    def _alias(self, event: Any) -> None:
        if self._expects_key():
            raise self._at(event, "a key must be text, not an alias", "key")
        if event.anchor not in self._anchors:
            raise self._at(event, f"the alias *{event.anchor} names no anchor before it", "alias")
        value, nodes, levels = self._anchors[event.anchor]
        if len(self._stack) + levels > DEEPEST:
            raise self._at(event, f"nested more than {DEEPEST} levels deep", "too-deep")
        if self._stack:
            self._stack[-1].levels = max(self._stack[-1].levels, levels)
        self._place(event, value, self._path(), nodes)

    def _place(self, event: Any, value: Any, path: Path, nodes: int = 1) -> None:
        self._nodes += nodes
        if self._nodes > self._bounds.most_nodes:
            raise self._at(event, f"more than {self._bounds.most_nodes:,} values, aliases included", "too-many")
        if self._bounds.positions:
            self._positions[path] = event.start_mark.line + 1, event.start_mark.column + 1
        if not self._stack:
            self._root = value
            return
        inside = self._stack[-1]
        if isinstance(inside.data, list):
            inside.data.append(value)
        else:
            inside.data[inside.key] = value
            inside.key = None

    def _key(self, event: Any) -> None:
        """Keys are text as written: `on`, `200` and `null` too, as JSON knows no other keys."""
        inside, key = self._stack[-1], event.value
        line = event.start_mark.line + 1
        if key in inside.first_lines:
            message = f"the key {key[:100]!r} stands on line {inside.first_lines[key]} already"
            raise self._at(event, message, "twice", (*inside.path, key))
        inside.first_lines[key] = line
        if self._bounds.positions:
            self._keys[*inside.path, key] = line, event.start_mark.column + 1
        inside.key = key
        if event.anchor:
            self._anchors[event.anchor] = key, 1, 0

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].data, dict) and self._stack[-1].key is None

    def _path(self) -> Path:
        return self._stack[-1].next_path() if self._stack else ()

    def _resolve(self, event: Any) -> Any:
        """A plain scalar by YAML 1.2's core schema."""
        text: str = event.value
        if text in _NULL:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if text[0] not in "+-.0123456789":
            return text
        if _INTEGER.fullmatch(text) or _OCTAL_OR_HEX.fullmatch(text):
            if len(text) > _MOST_DIGITS:
                raise self._at(event, f"a number may have {_MOST_DIGITS} digits at most", "number")
            return int(text) if text[:2] not in {"0o", "0x"} else int(text, 0)
        if _NO_NUMBER.fullmatch(text):
            raise self._at(
                event, "infinity and not-a-number cannot be said in JSON; quote it if text is meant", "number"
            )
        if _FLOAT.fullmatch(text):
            value = float(text)
            if math.isinf(value):
                raise self._at(event, "the number is too large", "number")
            return value
        return text

    def _refuse_tag(self, event: Any) -> None:
        if event.tag is not None:
            raise self._at(event, f"tags have no meaning here: {event.tag[:100]}", "tag")

    def _at(self, event: Any, message: str, code: str, path: Path | None = None) -> NotReadable:
        if path is None:
            path = self._stack[-1].path if self._expects_key() else self._path()
        mark = event.start_mark
        return NotReadable(message, code, mark.line + 1, mark.column + 1, path)


def _levels(data: Any) -> int:
    """How deep a value is nested."""
    if isinstance(data, dict):
        return 1 + max(map(_levels, data.values()), default=0)
    if isinstance(data, list):
        return 1 + max(map(_levels, data), default=0)
    return 0


def _json(text: str) -> Parsed | None:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key stands twice")
        return found

    try:
        data = json.loads(text, object_pairs_hook=once, parse_constant=_finite, parse_float=_finite)
        if _levels(data) > DEEPEST:
            return None
        # Half a pair, that is no text anywhere else either.
        json.dumps(data, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    return Parsed(data, {(): (1, 1)})


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError("no number in JSON")
    return value
