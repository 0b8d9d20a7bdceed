"""A definition beside the grammar: what has the wrong shape is said, and what has a meaning is gathered for later."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

from penstock.dsl.check.codes import Code
from penstock.dsl.check.finding import Findings, kind, shown
from penstock.dsl.expressions import Program, embedded
from penstock.dsl.expressions import Text as EmbeddedText
from penstock.dsl.grammar import NAMED, arguments
from penstock.dsl.grammar.nodes import (
    Binding,
    ByMember,
    ByValue,
    Cases,
    Either,
    Evaluated,
    Free,
    Items,
    Member,
    Named,
    Names,
    Node,
    Record,
    Ref,
    Rule,
    Scalar,
    Text,
    Whole,
    types_of,
)
from penstock.dsl.parse import Path
from penstock.dsl.values import expression_of

NamedItems = list[tuple[int, str, Any]]  # place, name and what is named
_LONGEST_NAME = 255
_HINTED = 3  # members of a task that may be misspelt
_WORDS: dict[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    list: "a list",
    dict: "a mapping",
    float: "a number",
}


@dataclass(frozen=True, slots=True)
class Scope:
    """What can be named from a place: arguments and variables in expressions, tasks in `then`."""

    arguments: frozenset[str] = arguments.TASK
    variables: frozenset[str] = frozenset()
    all_variables: bool = False
    siblings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Expression:
    path: Path
    programs: tuple[Program, ...]
    always: bool
    scope: Scope


@dataclass(frozen=True, slots=True)
class Reference:
    path: Path
    names: Names
    text: str
    scope: Scope


@dataclass(slots=True)
class Seen:
    """What the walk met that has a meaning beyond its shape."""

    expressions: list[Expression] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    rules: list[tuple[Rule, Path, Any]] = field(default_factory=list)
    processes: list[tuple[str, Path]] = field(default_factory=list)
    task_lists: list[list[tuple[Path, Any]]] = field(default_factory=list)
    switches: list[tuple[Path, NamedItems]] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)


class Walk:
    def __init__(self, findings: Findings, *, loose: bool = False) -> None:
        self._findings = findings
        self._is_loose = loose
        self.seen = Seen()

    def visit(self, node: Node, value: Any, path: Path, scope: Scope) -> None:
        """One value beside what it should be."""
        if self._findings.full:
            return
        if isinstance(node, Ref):
            node = NAMED[node.name]
        if isinstance(node, Either):
            chosen = next((option for option in node.options if _takes(option, value)), None)
            if chosen is None:
                self._wrong_type(path, types_of(node, NAMED), value)
            else:
                self.visit(chosen, value, path, scope)
            return
        if not _takes(node, value):
            self._wrong_type(path, types_of(node, NAMED), value)
            return
        self._visit_kind(node, value, path, scope)

    def _visit_kind(self, node: Node, value: Any, path: Path, scope: Scope) -> None:
        match node:
            case Text():
                self._text(node, value, path, scope)
            case Whole():
                self._whole(node, value, path)
            case Scalar(evaluated=evaluated):
                self._free(evaluated, value, path, scope)
            case Free(evaluated=evaluated, rule=rule):
                self._free(evaluated, value, path, scope)
                self._rule(rule, path, value)
            case Items(of=of, fewest=fewest):
                self._enough(path, value, fewest)
                for index, item in enumerate(value):
                    self.visit(of, item, (*path, index), scope)
            case Named(of=of, fewest=fewest):
                self._enough(path, value, fewest)
                for name, item in value.items():
                    self.visit(of, item, (*path, name), replace(scope, siblings=frozenset()))
            case Cases():
                self._cases(node, value, path, scope)
            case Record():
                self._record(node, value, path, scope)
            case ByValue():
                told = value.get(node.member)
                self._record(
                    node.options.get(told, node.otherwise) if isinstance(told, str) else node.otherwise,
                    value,
                    path,
                    scope,
                )
            case ByMember():
                self._by_member(node, value, path, scope)

    def _text(self, node: Text, value: str, path: Path, scope: Scope) -> None:
        # In loose mode a text may be an expression that makes what is expected.
        if self._evaluated(node.evaluated, value, path, scope) or (self._is_loose and node.evaluated != "never"):
            return
        if node.instead_of:
            message = f"expected {node.instead_of}, or an expression in ${{ }} that makes it, not {shown(value)}"
            self._findings.add(path, message, "type")
            return
        if node.choices and value not in node.choices:
            hint = _meant(value, node.choices)
            self._findings.add(path, f"expected {_or(node.choices)}, not {shown(value)}{hint}", "choice")
        elif len(value) < node.shortest:
            self._findings.add(path, "must not be empty", "empty")
        elif node.longest is not None and len(value) > node.longest:
            self._findings.add(path, f"may have {node.longest} characters at most", "too-long")
        elif node.pattern is not None and not node.pattern.matches(value):
            self._findings.add(path, f"{node.pattern.words}; this is {shown(value)}", node.pattern.code)
        else:
            self._rule(node.rule, path, value)
            if node.names is not None:
                self.seen.references.append(Reference(path, node.names, value, scope))

    def _evaluated(self, evaluated: Evaluated, value: str, path: Path, scope: Scope) -> bool:
        """Whether a text is an expression, or has some in it; they are kept for later."""
        if evaluated == "never":
            return False
        if evaluated == "always":
            self.seen.expressions.append(Expression(path, (expression_of(value),), always=True, scope=scope))
            return True
        found = embedded(value)
        if isinstance(found, Program):
            self.seen.expressions.append(Expression(path, (found,), always=False, scope=scope))
        elif isinstance(found, EmbeddedText) and evaluated == "marked":
            programs = tuple(part for part in found.parts if isinstance(part, Program))
            self.seen.expressions.append(Expression(path, programs, always=False, scope=scope))
        elif value.lstrip().startswith("${") and "}" not in value:
            self._findings.add(path, "the expression is not closed: a } is missing at its end", "expression")
        else:
            return False
        return True

    def _whole(self, node: Whole, value: int, path: Path) -> None:
        if node.least is not None and value < node.least:
            self._findings.add(path, f"must be {node.least} or more", "range")
        elif node.most is not None and value > node.most:
            self._findings.add(path, f"must be {node.most} or less", "range")

    def _free(self, evaluated: Evaluated, value: Any, path: Path, scope: Scope) -> None:
        if evaluated == "never":
            return
        if isinstance(value, str):
            self._evaluated(evaluated, value, path, scope)
        elif isinstance(value, dict):
            for name, item in value.items():
                self._free(evaluated, item, (*path, name), scope)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self._free(evaluated, item, (*path, index), scope)

    def _cases(self, node: Cases, value: list[Any], path: Path, scope: Scope) -> None:
        self._enough(path, value, node.fewest)
        code: Code = "task-item" if node.are_tasks else "item"
        named: NamedItems = []
        for index, item in enumerate(value):
            if isinstance(item, dict) and len(item) == 1:
                named.append((index, *next(iter(item.items()))))
            else:
                had = f"one with {len(item)} members" if isinstance(item, dict) else kind(item)
                message = f"expected a mapping of one {node.what}'s name to the {node.what}, not {had}"
                self._findings.add((*path, index), message, code)
        if node.are_tasks:
            scope = self._task_list(node, named, path, scope)
        elif node.what == "case":
            self.seen.switches.append((path, named))
        for index, name, item in named:
            self.visit(node.of, item, (*path, index, name), scope)

    def _task_list(self, node: Cases, named: NamedItems, path: Path, scope: Scope) -> Scope:
        first: dict[str, int] = {}
        for index, name, _ in named:
            at = (*path, index, name)
            if not name.strip() or len(name) > _LONGEST_NAME or any(character < " " for character in name):
                self._findings.add(at, f"a task's name has 1 to {_LONGEST_NAME} characters, on one line", "task-name")
            elif name in first:
                message = f"the name {shown(name)} is taken by task {first[name] + 1} of this list; choose another"
                self._findings.add(at, message, "task-name")
            first.setdefault(name, index)
        if node.concurrent:
            return replace(scope, siblings=frozenset())
        if len(named) > 1 and len(first) == len(named):
            self.seen.task_lists.append([((*path, index, name), task) for index, name, task in named])
        return replace(scope, siblings=frozenset(first))

    def _by_member(self, node: ByMember, value: dict[str, Any], path: Path, scope: Scope) -> None:
        there = [name for name in node.options if name in value]
        # A loop has a list of tasks too: what is a member of another kind does not tell the kind.
        there = [
            name for name in there if not any(name in _members(node.options[other]) for other in there if other != name)
        ]
        if len(there) == 1:
            self._visit_kind(node.options[there[0]], value, path, scope)
        elif node.otherwise is not None and not there:
            self._record(node.otherwise, value, path, scope)
        else:
            told = f"is it {' or '.join(there)}?" if there else f"expected one of {', '.join(sorted(node.options))}"
            hint = "" if there else "".join(_meant(name, node.options) for name in list(value)[:_HINTED])
            self._findings.add(path, f"what the task does is not said: {told}{hint}", "task-kind")

    def _record(self, node: Record, value: dict[str, Any], path: Path, scope: Scope) -> None:
        self._enough(path, value, node.fewest)
        if node.process is not None:
            self.seen.processes.append((node.process, path))
        self._rule(node.rule, path, value)
        self._requirements(node, value, path)
        for name, item in value.items():
            member = node.members.get(name)
            if member is not None:
                self.visit(member.node, item, (*path, name), self._inside(node, member, name, value, scope))
            elif node.extra is not None:
                self.visit(node.extra, item, (*path, name), scope)
            else:
                message = f"there is no {shown(name)} here{_meant(name, node.members) or _known(node)}"
                self._findings.add((*path, name), message, "unknown")

    def _requirements(self, node: Record, value: dict[str, Any], path: Path) -> None:
        missing = [name for name, member in node.members.items() if member.required and name not in value]
        missing += [then for name, wanted, then in node.needs_when if value.get(name) == wanted and then not in value]
        for name in missing:
            self._findings.add(path, f"{name} is missing", "required")
        for group in node.exactly_one:
            there = [name for name in group if name in value]
            if len(there) != 1:
                told = f"{' and '.join(there)} exclude each other: keep one" if there else f"{_or(group)} is missing"
                self._findings.add(path, told, "one-of")
        for group in node.at_least_one:
            if not any(name in value for name in group):
                self._findings.add(path, f"{_or(group)} is missing", "required")
        for name, beside in node.needs.items():
            if name in value and beside not in value:
                message = f"{name} makes sense only beside {beside}: remove it, or use {beside}"
                self._findings.add((*path, name), message, "unknown")
        for name, other, wanted in node.ignored_unless:
            if name in value and value.get(other) != wanted:
                message = f"{name} is ignored unless {other} is {wanted}: remove it, or change {other}"
                self._findings.add((*path, name), message, "ignored", "warning")

    def _inside(self, node: Record, member: Member, name: str, value: dict[str, Any], scope: Scope) -> Scope:
        """What can be named from a member."""
        bound = {_bound(binding, value) for binding in node.bindings if name in binding.within}
        self.seen.variables |= bound
        if bound:
            scope = replace(scope, variables=scope.variables | bound)
        if member.sees is not None:
            scope = replace(scope, arguments=member.sees)
        if member.sees_all_names:
            scope = replace(scope, all_variables=True)
        return scope

    def _enough(self, path: Path, value: list[Any] | dict[str, Any], fewest: int) -> None:
        if len(value) < fewest:
            self._findings.add(path, "must not be empty", "empty")

    def _rule(self, rule: Rule | None, path: Path, value: Any) -> None:
        if rule is not None:
            self.seen.rules.append((rule, path, value))

    def _wrong_type(self, path: Path, types: tuple[type, ...], value: Any) -> None:
        words = list(dict.fromkeys(_WORDS[type_] for type_ in types if type_ in _WORDS))
        hint = ""
        if str in types and isinstance(value, int | float):
            hint = ": put it in quotes"
        elif types == (int,) and isinstance(value, float):
            hint = " with a fraction"
        elif types == (int,) and isinstance(value, str):
            hint = ": write it without quotes"
        self._findings.add(path, f"expected {' or '.join(words)}, not {kind(value)}{hint}", "type")


def _takes(node: Node, value: Any) -> bool:
    types = types_of(node, NAMED)
    if not types:
        return True
    if isinstance(value, bool):
        return bool in types
    return isinstance(value, types)


def _members(node: Record | ByValue) -> Mapping[str, Member]:
    return node.members if isinstance(node, Record) else node.otherwise.members


def _bound(binding: Binding, value: Any) -> str:
    """The variable's name, as the author gives it or leaves it."""
    for step in binding.at:
        value = value.get(step) if isinstance(value, dict) else None
    return value if isinstance(value, str) else binding.default


def _meant(name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    close = get_close_matches(name[:50], list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""


def _known(node: Record) -> str:
    return f"; known are {', '.join(sorted(node.members))}"


def _or(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
