"""Tasks that are not performed, but answer what they are told to: for trying a workflow without what it calls."""

from collections.abc import Mapping
from typing import Any

import msgspec

from penstock.dsl import model
from penstock.dsl.values import Constant

_SHARED = ("name", "reference", "definition", "condition", "input", "output", "export", "timeout", "then", "extends")


class NoSuchTask(Exception):
    """The message names the task that is not there, and those that are."""


def mocked(workflow: model.Workflow, outputs: Mapping[str, Any]) -> model.Workflow:
    """The same workflow, with tasks (by name or reference) that only set their output."""
    if not outputs:
        return workflow
    mocking = _Mocking(outputs)
    changed = msgspec.structs.replace(
        workflow,
        tasks=mocking.tasks(workflow.tasks),
        functions={name: mocking.task(task) for name, task in workflow.functions.items()},
    )
    if missing := outputs.keys() - mocking.used:
        known = ", ".join(sorted(mocking.names)) or "none"
        raise NoSuchTask(f"there is no task {min(missing)!r} to mock; the workflow's tasks are: {known}")
    return changed


class _Mocking:
    def __init__(self, outputs: Mapping[str, Any]) -> None:
        self._outputs = outputs
        self.used: set[str] = set()
        self.names: set[str] = set()

    def tasks(self, tasks: model.Tasks) -> model.Tasks:
        return tuple(self.task(task) for task in tasks)

    def task(self, task: model.Task) -> model.Task:
        self.names.add(task.name)
        for key in (task.reference, task.name):
            if key in self._outputs:
                self.used.add(key)
                shared = {name: getattr(task, name) for name in _SHARED}
                return model.Set(kind="set", data=Constant(self._outputs[key]), **shared)
        return self._inside(task)

    def _inside(self, task: model.Task) -> model.Task:
        match task:
            case model.Do() | model.For():
                return msgspec.structs.replace(task, tasks=self.tasks(task.tasks))
            case model.Fork():
                return msgspec.structs.replace(task, branches=self.tasks(task.branches))
            case model.Try():
                catch = task.catch
                if catch.tasks is not None:
                    catch = msgspec.structs.replace(catch, tasks=self.tasks(catch.tasks))
                return msgspec.structs.replace(task, tasks=self.tasks(task.tasks), catch=catch)
            case model.Listen(foreach=model.Foreach() as foreach):
                changed = msgspec.structs.replace(foreach, tasks=self.tasks(foreach.tasks))
                return msgspec.structs.replace(task, foreach=changed)
            case _:
                return task
