"""The workflows that a workflow may run, by namespace, name and version."""

import re
from collections.abc import Callable, Iterable

from penstock.dsl.model import Workflow
from penstock.engine.faults import configuration
from penstock.engine.host import ChildOf

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?")


class Library:
    """`others` are looked at when what is wanted is not among those given."""

    def __init__(self, workflows: Iterable[Workflow] = (), others: Callable[[], Iterable[Workflow]] = tuple) -> None:
        self._workflows: dict[tuple[str, str], dict[str, Workflow]] = {}
        self._others: Callable[[], Iterable[Workflow]] | None = others
        self._add(workflows)

    def _add(self, workflows: Iterable[Workflow]) -> None:
        for workflow in workflows:
            document = workflow.document
            versions = self._workflows.setdefault((document.namespace, document.name), {})
            versions.setdefault(document.version, workflow)

    def find(self, wanted: ChildOf) -> Workflow:
        found = self._find(wanted)
        if found is None and self._others is not None:
            self._add(self._others())
            self._others = None
            found = self._find(wanted)
        if found is None:
            place = f"{wanted.namespace}/{wanted.name} {wanted.version}"
            raise configuration("No such workflow", f"there is no workflow {place} among the files given")
        return found

    def _find(self, wanted: ChildOf) -> Workflow | None:
        versions = self._workflows.get((wanted.namespace, wanted.name), {})
        version = max(versions, key=_precedence, default="") if wanted.version == "latest" else wanted.version
        return versions.get(version)


def _precedence(version: str) -> tuple[int, tuple[int, ...], bool, tuple[tuple[bool, int, str], ...]]:
    """Semantic versions in their order; what is none comes before them all."""
    match = _VERSION.match(version)
    if match is None:
        return 0, (), False, ((True, 0, version),)
    numbers = tuple(int(part) for part in match.groups()[:3])
    before = match[4]
    parts = before.split(".") if before else []
    named = tuple((not part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts)
    return 1, numbers, before is None, named
