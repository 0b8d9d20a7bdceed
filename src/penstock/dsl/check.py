"""What is wrong with a definition: everything at once, each with its place, so that an editor can show it.

For now the frame of the Serverless Workflow DSL 1.0 (document, task lists, kinds of tasks); what stands inside each
task is checked where its kind is understood.
"""

import re
from typing import Any

from penstock.dsl.parse import NotReadable, Parsed, Path, parse, pointer
from penstock.problems import FieldError

_MOST_FINDINGS = 100
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)
_LABEL = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?", re.ASCII)
_LONGEST_VERSION = 255

TOP_MEMBERS = frozenset({"document", "input", "use", "do", "timeout", "output", "schedule"})
DOCUMENT_MEMBERS = frozenset({"dsl", "namespace", "name", "version", "title", "summary", "tags", "metadata"})
TASK_MEMBERS = frozenset({"if", "input", "output", "export", "timeout", "then", "metadata"})
# `for` comes before `do`: a loop has both.
KINDS: dict[str, frozenset[str]] = {
    "call": frozenset({"with"}),
    "emit": frozenset(),
    "for": frozenset({"while", "do"}),
    "fork": frozenset(),
    "listen": frozenset({"foreach"}),
    "raise": frozenset(),
    "run": frozenset(),
    "set": frozenset(),
    "switch": frozenset(),
    "try": frozenset({"catch"}),
    "wait": frozenset(),
    "do": frozenset(),
}


class Finding(FieldError, frozen=True):
    """One thing wrong: where (a JSON pointer, a line and a column from 1), what, and a word for programs."""

    code: str
    line: int
    column: int


def check(text: str) -> list[Finding]:
    """Everything wrong with a definition; nothing when it is valid. An empty one is a workflow of no tasks."""
    try:
        parsed = parse(text)
    except NotReadable as error:
        return [Finding(pointer(error.path), error.message, error.code, error.line, error.column)]
    if parsed is None:
        return []
    check_ = _Check(parsed)
    check_.workflow()
    return check_.findings


class _Check:
    def __init__(self, parsed: Parsed) -> None:
        self._parsed = parsed
        self.findings: list[Finding] = []

    def _add(self, path: Path, message: str, code: str) -> None:
        if len(self.findings) < _MOST_FINDINGS:
            self.findings.append(Finding(pointer(path), message, code, *self._parsed.position(path)))

    def workflow(self) -> None:
        data = self._parsed.data
        if not isinstance(data, dict):
            self._add((), f"a definition is a mapping with document and do, not {_kind(data)}", "type")
            return
        self._unknown((), data, TOP_MEMBERS)
        if self._required((), data, "document"):
            self._document(data["document"])
        if self._required((), data, "do"):
            self._tasks(("do",), data["do"])

    def _document(self, document: Any) -> None:
        at: Path = ("document",)
        if not isinstance(document, dict):
            self._add(at, f"expected a mapping, not {_kind(document)}", "type")
            return
        self._unknown(at, document, DOCUMENT_MEMBERS)
        for name in ("namespace", "name"):
            if (label := self._text(at, document, name)) is not None and not _LABEL.fullmatch(label):
                self._add((*at, name), "expected letters, digits and - (63 at most, no - at either end)", "pattern")
        if (dsl := self._text(at, document, "dsl")) is not None:
            if not _is_semver(dsl):
                self._add((*at, "dsl"), "expected a version such as 1.0.0", "pattern")
            elif not dsl.startswith("1.0."):
                self._add(
                    (*at, "dsl"), f"version {dsl[:50]} of the language is not known here; 1.0.x is", "dsl-version"
                )
        if (version := self._text(at, document, "version")) is not None and not _is_semver(version):
            self._add((*at, "version"), "expected a semantic version such as 1.0.0", "pattern")

    def _tasks(self, at: Path, tasks: Any) -> None:
        if not isinstance(tasks, list):
            self._add(at, f"expected a list of tasks, not {_kind(tasks)}", "type")
            return
        first: dict[str, int] = {}
        for index, item in enumerate(tasks):
            if len(self.findings) >= _MOST_FINDINGS:
                return
            if not isinstance(item, dict) or len(item) != 1:
                had = f"one with {len(item)} members" if isinstance(item, dict) else _kind(item)
                self._add((*at, index), f"expected a mapping of one task name to its task, not {had}", "task-item")
                continue
            name, task = next(iter(item.items()))
            if name in first:
                self._add(
                    (*at, index, name), f"the name {name[:100]!r} is taken by task {first[name] + 1}", "task-name"
                )
            first.setdefault(name, index)
            self._task((*at, index, name), task)

    def _task(self, at: Path, task: Any) -> None:
        if not isinstance(task, dict):
            self._add(at, f"expected a task, not {_kind(task)}", "type")
            return
        kinds = [kind for kind in KINDS if kind in task]
        if "for" in kinds:
            kinds.remove("do") if "do" in kinds else self._required(at, task, "do")
        if len(kinds) != 1:
            told = f"is it {' or '.join(kinds)}?" if kinds else f"expected one of {', '.join(sorted(KINDS))}"
            self._add(at, f"what the task does is not said: {told}", "task-kind")
        else:
            self._unknown(at, task, TASK_MEMBERS | KINDS[kinds[0]] | {kinds[0]})
        self._nested(at, task, kinds)

    def _nested(self, at: Path, task: dict[str, Any], kinds: list[str]) -> None:
        """The lists of tasks inside a task."""
        if "do" in task:
            self._tasks((*at, "do"), task["do"])
        if "try" in kinds:
            self._tasks((*at, "try"), task["try"])
            if self._required(at, task, "catch"):
                self._inner((*at, "catch"), task["catch"], "do", required=False)
        if "fork" in kinds:
            self._inner((*at, "fork"), task["fork"], "branches", required=True)
        if "listen" in kinds and "foreach" in task:
            self._inner((*at, "foreach"), task["foreach"], "do", required=False)

    def _inner(self, at: Path, value: Any, name: str, *, required: bool) -> None:
        if not isinstance(value, dict):
            self._add(at, f"expected a mapping, not {_kind(value)}", "type")
        elif name in value or (required and self._required(at, value, name)):
            self._tasks((*at, name), value[name])

    def _text(self, at: Path, holder: dict[str, Any], name: str) -> str | None:
        if not self._required(at, holder, name):
            return None
        value = holder[name]
        if not isinstance(value, str):
            hint = ": put it in quotes" if isinstance(value, int | float) else ""
            self._add((*at, name), f"expected text, not {_kind(value)}{hint}", "type")
            return None
        return value

    def _required(self, at: Path, holder: dict[str, Any], name: str) -> bool:
        if name in holder:
            return True
        self._add(at, f"{name} is missing", "required")
        return False

    def _unknown(self, at: Path, holder: dict[str, Any], known: frozenset[str]) -> None:
        for name in holder:
            if name not in known:
                self._add(
                    (*at, name), f"there is no {name[:100]!r} here; known are {', '.join(sorted(known))}", "unknown"
                )


def _is_semver(text: str) -> bool:
    return len(text) <= _LONGEST_VERSION and _SEMVER.fullmatch(text) is not None


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"
