"""How a workflow that runs is shown: a tree that grows on a terminal, and else a line for whatever ends."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import rich.tree
from rich.console import Console
from rich.live import Live
from rich.text import Text

from penstock.engine.host import Json, Step
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import LogLevel

_MARKS = {
    "pending": ("·", "dim"),
    "running": ("▸", "cyan"),
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "skipped": ("↷", "dim"),
    "cancelled": ("■", "yellow"),
}
_WAITING = {"wait": "waits", "listen": "listens", "call": "calls", "run": "runs"}
_MOST_SHOWN = 8  # of the steps inside one: a loop has thousands


class Recorder:
    """Keeps the steps of the workflow itself, in their order. What is secret is shown by nobody."""

    def __init__(self, secrets: Secrets) -> None:
        self.secrets = secrets
        self._steps: dict[str, Step] = {}

    @contextmanager
    def shown(self) -> Iterator[None]:
        """While the workflow runs."""
        yield

    def changed(self, step: Step, what: str, within: Step | None) -> None:
        if within is None:
            self._steps[step.id] = step

    def said(self, step: Step | None, level: LogLevel, message: str, fields: Json) -> None:
        """Only what happens is kept, not what is said of it."""

    @property
    def steps(self) -> list[Json]:
        return [self.secrets.mask(_as_data(step)) for step in self._steps.values()]

    def _message(self, step: Step) -> str:
        return "" if step.error is None else self.secrets.mask_text(step.error.message)


class Lines(Recorder):
    """For a file or a pipe: one line for each thing that happens."""

    def changed(self, step: Step, what: str, within: Step | None) -> None:
        super().changed(step, what, within)
        if what == "started":
            if step.task.kind in _WAITING:
                self._say(f"{_WAITING[step.task.kind]:<10}{_name(step)}")
        elif step.completed_at is not None:
            said = f": {self._message(step)}" if step.error is not None else ""
            self._say(f"{step.status:<10}{_name(step)} ({_took(step)}){said}")

    def said(self, step: Step | None, level: LogLevel, message: str, fields: Json) -> None:
        self._say(f"{level:<10}{step.task.name + ': ' if step is not None else ''}{message}")

    def _say(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


class Tree(Recorder):
    """For a terminal: the steps as they nest, with what is said above them."""

    def __init__(self, secrets: Secrets) -> None:
        super().__init__(secrets)
        self._console = Console(stderr=True, highlight=False)
        self._inside: dict[str | None, list[Step]] = {None: []}
        self._places: dict[tuple[str | None, str], str] = {}

    @contextmanager
    def shown(self) -> Iterator[None]:
        with Live(get_renderable=self._tree, console=self._console, refresh_per_second=8, vertical_overflow="crop"):
            yield

    def changed(self, step: Step, what: str, within: Step | None) -> None:
        super().changed(step, what, within)
        if what == "created":
            execution = within.id if within is not None else None
            self._places[execution, step.position] = step.id
            self._inside.setdefault(self._around(execution, step.position), []).append(step)

    def _around(self, execution: str | None, position: str) -> str | None:
        """The step that this place lies in: the nearest that is known."""
        while position := position.rpartition("/")[0]:
            if (around := self._places.get((execution, position))) is not None:
                return around
        return execution

    def said(self, step: Step | None, level: LogLevel, message: str, fields: Json) -> None:
        style = {"debug": "dim", "info": "", "warn": "yellow", "error": "red"}[level]
        name = f"{step.task.name}: " if step is not None else ""
        self._console.print(Text.assemble((name, "dim"), (message, style)))

    def _tree(self) -> rich.tree.Tree:
        tree = rich.tree.Tree("", hide_root=True)
        self._add(tree, None)
        return tree

    def _add(self, tree: rich.tree.Tree, around: str | None) -> None:
        steps = self._inside.get(around, [])
        if (hidden := len(steps) - _MOST_SHOWN) > 0:
            tree.add(Text(f"… {hidden} before", "dim"))
        for step in steps[-_MOST_SHOWN:]:
            self._add(tree.add(self._label(step)), step.id)

    def _label(self, step: Step) -> Text:
        mark, style = _MARKS[step.status]
        label = Text.assemble((f"{mark} ", style), step.task.name, (f" {step.task.kind}", "dim"))
        if step.attempt > 1:
            label.append(f" attempt {step.attempt}", "yellow")
        if step.started_at is not None and step.status != "skipped":
            label.append(f" {_took(step)}", "dim")
        if step.error is not None:
            label.append(f" {self._message(step).splitlines()[0][:200]}", "red")
        return label


def _name(step: Step) -> str:
    again = f", attempt {step.attempt}" if step.attempt > 1 else ""
    return f"{step.task.name} [{step.task.kind}{again}]"


def _took(step: Step) -> str:
    until = step.completed_at if step.completed_at is not None else time.time_ns() // 1_000
    milliseconds = (until - (step.started_at or until)) / 1_000
    return f"{milliseconds:.0f} ms" if milliseconds < 1_000 else f"{milliseconds / 1_000:.1f} s"


def _as_data(step: Step) -> Json:
    data: dict[str, Any] = {
        "name": step.task.name,
        "type": step.task.kind,
        "reference": step.task.reference,
        "attempt": step.attempt,
        "status": step.status,
        "duration_ms": ((step.completed_at or 0) - (step.started_at or 0)) // 1_000,
        "input": step.input,
        "output": step.output,
    }
    return data if step.error is None else data | {"error": step.error.as_data()}
