"""Where tasks lead: directives that lead nowhere, switches with two defaults, tasks that nothing leads to."""

from difflib import get_close_matches
from typing import Any

from penstock.dsl.check.finding import Findings, shown
from penstock.dsl.check.walk import NamedItems, Reference, Seen
from penstock.dsl.parse import Path

DIRECTIVES = frozenset({"continue", "exit", "end"})


def check_flow(seen: Seen, findings: Findings) -> None:
    for reference in seen.references:
        if reference.names == "task":
            _target(reference, findings)
    for path, cases in seen.switches:
        _defaults(path, cases, findings)
    for tasks in seen.task_lists:
        _unreachable(tasks, findings)


def _defaults(path: Path, cases: NamedItems, findings: Findings) -> None:
    """Only the first case without a condition could ever be the default."""
    defaults = [(index, name) for index, name, case in cases if isinstance(case, dict) and "when" not in case]
    for index, name in defaults[1:]:
        message = f"{shown(defaults[0][1])} is the default already: give this case a condition (when), or remove it"
        findings.add((*path, index, name), message, "default-case")


def _target(reference: Reference, findings: Findings) -> None:
    siblings = reference.scope.siblings
    if reference.text in DIRECTIVES or reference.text in siblings:
        return
    close = get_close_matches(reference.text[:50], [*DIRECTIVES, *siblings], 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    message = f"there is no task {shown(reference.text)} in this list, nor is it continue, exit or end{hint}"
    findings.add(reference.path, message, "flow-target")


def _unreachable(tasks: list[tuple[Path, Any]], findings: Findings) -> None:
    names = {str(path[-1]): index for index, (path, _) in enumerate(tasks)}
    reached: set[int] = set()
    waiting = [0]
    while waiting:
        index = waiting.pop()
        if index < len(tasks) and index not in reached:
            reached.add(index)
            waiting += [
                index + 1 if target == "continue" else names[target]
                for target in targets(tasks[index][1])
                if target == "continue" or target in names
            ]
    for index, (path, _) in enumerate(tasks):
        if index not in reached:
            findings.add(
                path, "nothing leads to this task: remove it, or lead to it with then", "unreachable", "warning"
            )


def targets(task: Any) -> set[str]:
    """Every directive that may follow a task. What has the wrong shape may lead anywhere that a good one would."""
    if not isinstance(task, dict):
        return {"continue"}
    then = task.get("then", "continue")
    after = {then} if isinstance(then, str) else {"continue"}
    if "switch" in task:
        after = _of_switch(task["switch"], after)
    elif "raise" in task:
        after = set()
    # A task that is skipped is followed by the next one.
    return after | {"continue"} if "if" in task else after


def _of_switch(cases: Any, otherwise: set[str]) -> set[str]:
    after: set[str] = set()
    has_default = False
    for item in cases if isinstance(cases, list) else []:
        for case in item.values() if isinstance(item, dict) else []:
            if isinstance(case, dict):
                has_default = has_default or "when" not in case
                if isinstance(then := case.get("then"), str):
                    after.add(then)
    return after if has_default else after | otherwise
