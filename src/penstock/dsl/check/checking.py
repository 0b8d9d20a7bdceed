"""The whole check, in order: can it be read, has it the right shape, does it mean something, do expressions compile."""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from penstock.dsl.check.expressions import Expressions, Uncompiled, is_loose
from penstock.dsl.check.finding import Finding, Findings
from penstock.dsl.check.flow import check_flow
from penstock.dsl.check.references import Used, check_references
from penstock.dsl.check.rules import check_rules
from penstock.dsl.check.walk import Scope, Seen, Walk
from penstock.dsl.expressions import NotAnExpression, require_expression
from penstock.dsl.grammar import WORKFLOW
from penstock.dsl.parse import NotReadable, Parsed, parse, pointer

# What a definition may start on the machine that runs it, where that is allowed.
PROCESSES = frozenset({"script", "shell", "container", "mcp"})
_ALLOWED_WHERE = "add it to the setting processes of the server, or do without"


class Check:
    """A check under way: everything but the compiling of expressions, which whoever has processes for it does there."""

    def __init__(self, text: str, processes: frozenset[str] = PROCESSES) -> None:
        self._unreadable: list[Finding] = []
        self._findings: Findings | None = None
        self._expressions: Expressions | None = None
        try:
            parsed = parse(text)
        except NotReadable as error:
            self._unreadable = [Finding(pointer(error.path), error.message, error.code, error.line, error.column)]
            return
        if parsed is not None:
            self._examine(parsed, processes)

    @property
    def uncompiled(self) -> list[Uncompiled]:
        return self._expressions.uncompiled if self._expressions is not None else []

    def findings(self, failures: Mapping[Uncompiled, str]) -> list[Finding]:
        """Everything to know, by line, given why some expressions did not compile."""
        if self._findings is None or self._expressions is None:
            return self._unreadable
        self._expressions.compiled(failures)
        return self._findings.by_line()

    def _examine(self, parsed: Parsed, processes: frozenset[str]) -> None:
        findings = Findings(parsed)
        walk = Walk(findings, loose=is_loose(parsed.data))
        walk.visit(WORKFLOW, parsed.data, (), Scope())
        _check_processes(walk.seen, processes, findings)
        check_references(walk.seen, Used(parsed.data), findings)
        check_rules(walk.seen, findings)
        check_flow(walk.seen, findings)
        self._findings = findings
        self._expressions = Expressions(walk.seen, parsed.data, findings)


def check(text: str, *, processes: frozenset[str] = PROCESSES) -> list[Finding]:
    """Everything to know about a definition, by line; nothing when all is well. An empty one is a workflow of no tasks.

    Takes milliseconds for each different expression: use a thread. `processes` are those that may be started.
    """
    under_way = Check(text, processes)
    return under_way.findings(failures_of(under_way.uncompiled))


def failures_of(uncompiled: Iterable[Uncompiled]) -> dict[Uncompiled, str]:
    """Why expressions do not compile, asking jq in this process."""
    answers = ((one, _why_not(one)) for one in uncompiled)
    return {one: why for one, why in answers if why is not None}


def errors(findings: Sequence[Finding]) -> list[Finding]:
    """Those that make a definition invalid."""
    return [finding for finding in findings if finding.severity == "error"]


@lru_cache(maxsize=4096)
def _why_not(uncompiled: Uncompiled) -> str | None:
    try:
        require_expression(uncompiled.text, uncompiled.variables)
    except NotAnExpression as error:
        return str(error)
    return None


def _check_processes(seen: Seen, processes: frozenset[str], findings: Findings) -> None:
    for process, path in seen.processes:
        if process not in processes:
            what = "call: mcp over stdio" if process == "mcp" else f"run: {process}"
            findings.add(path, f"{what} is not allowed here: {_ALLOWED_WHERE}", "process-refused")
