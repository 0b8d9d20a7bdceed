"""Expressions of a definition: whether each compiles where it stands, and uses only what is known there.

Compiling takes jq milliseconds, and hostile texts much longer; a server has processes for it. So this only says what
is to be compiled, and takes the answers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.dsl.check.finding import Findings
from penstock.dsl.check.walk import Scope, Seen
from penstock.dsl.expressions import Program
from penstock.dsl.grammar import arguments
from penstock.dsl.parse import Path

MOST_COMPILED = 500


@dataclass(frozen=True, slots=True)
class Uncompiled:
    """An expression, and the variables that it may use of those that it names."""

    text: str
    variables: tuple[str, ...]


class Expressions:
    def __init__(self, seen: Seen, definition: Any, findings: Findings) -> None:
        self._seen = seen
        self._findings = findings
        self._is_loose = is_loose(definition)
        self._uses: dict[Uncompiled, list[tuple[Path, Scope]]] = {}
        self._gather()

    @property
    def uncompiled(self) -> list[Uncompiled]:
        return list(self._uses)

    def compiled(self, failures: Mapping[Uncompiled, str]) -> None:
        """What did not compile, and why, is said wherever it stands."""
        for uncompiled, why in failures.items():
            for path, scope in self._uses[uncompiled]:
                self._add(path, scope, uncompiled.text, why)

    def _gather(self) -> None:
        for expression in self._seen.expressions:
            # What is no expression is a text, in loose mode.
            if self._is_loose and not expression.always:
                continue
            for program in expression.programs:
                if not self._one(program, expression.path, expression.scope):
                    message = (
                        f"there are more than {MOST_COMPILED} different expressions to compile, and from here on they "
                        "are not checked: split the workflow"
                    )
                    self._findings.add(expression.path, message, "too-many-expressions")
                    return

    def _one(self, program: Program, path: Path, scope: Scope) -> bool:
        if program.refused is not None:
            self._findings.add(path, f"the expression cannot be used: {program.refused}", "expression")
            return True
        known = self._known(scope)
        if program.fast is not None and program.variables <= known:
            return True
        uncompiled = Uncompiled(program.text, tuple(sorted(program.variables & known)))
        if uncompiled not in self._uses and len(self._uses) >= MOST_COMPILED:
            return False
        self._uses.setdefault(uncompiled, []).append((path, scope))
        return True

    def _known(self, scope: Scope) -> frozenset[str]:
        known = scope.arguments | scope.variables
        return known | self._seen.variables if scope.all_variables else known

    def _add(self, path: Path, scope: Scope, text: str, why: str) -> None:
        name = _undefined(why)
        if name is None:
            self._findings.add(path, f"the expression cannot be used: {why}", "expression")
            return
        known = ", ".join(f"${one}" for one in sorted(self._known(scope)))
        if name in arguments.ALL:
            message = f"${name} is not available here; {known} are"
        else:
            message = f"there is no variable ${name} here; there are {known}"
        self._findings.add(path, message, "variable-unknown")


def _undefined(why: str) -> str | None:
    """The variable that jq does not know, where that is its complaint."""
    before, found, _ = why.partition(" is not defined")
    name = before.rpartition("$")[2]
    return name if found and "$" in before and name.isidentifier() else None


def is_loose(definition: Any) -> bool:
    evaluate = definition.get("evaluate") if isinstance(definition, dict) else None
    return isinstance(evaluate, dict) and evaluate.get("mode") == "loose"
