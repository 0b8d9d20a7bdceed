"""The workflows that a workflow may run, by namespace, name and version."""

from collections.abc import Callable, Iterable

from penstock.dsl.model import Workflow
from penstock.dsl.versions import precedence
from penstock.engine.faults import configuration
from penstock.engine.host import ChildOf


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
        version = max(versions, key=precedence, default="") if wanted.version == "latest" else wanted.version
        return versions.get(version)
