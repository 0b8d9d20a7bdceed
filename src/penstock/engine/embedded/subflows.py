"""run: workflow. The child is an execution of its own; its parent waits for its end, across restarts."""

import asyncio
from typing import Any

import msgspec

from penstock.engine.embedded import statements
from penstock.engine.embedded.execution import Execution, encoded
from penstock.engine.embedded.lineage import DEEPEST, MOST_OF_ONE, passed_on
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.sealing import SEAL_INPUT, SEALED, Sealed
from penstock.engine.faults import Error, Fault, configuration, runtime
from penstock.engine.host import ChildOf
from penstock.storage import Row, now
from penstock.streams import ExecutionChange

_DEEPEST = 32


class Ended(msgspec.Struct, frozen=True, gc=False):
    """How an execution ended, for its parent."""

    status: str
    output: Any = None
    error: Error | None = None
    hidden: frozenset[str] = frozenset()


class Subflows:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._waiting: dict[str, asyncio.Future[Ended]] = {}

    async def run(
        self, parent: Execution, sealed: Sealed, id_: str, child: ChildOf, data: Any, *, awaited: bool
    ) -> Any:
        if not awaited:
            if await self._parts.database.one(statements.ENDED, id=id_) is None:
                self.start(parent, sealed, id_, await self.find(parent.project_id, child), data, awaited=False)
                await self._parts.writer.flush()
            return None
        waiting = self._waiting.setdefault(id_, asyncio.get_running_loop().create_future())
        try:
            with self._parts.slots.lent(parent.id, for_others=True):
                stored = await self._parts.database.one(statements.ENDED, id=id_)
                if stored is None:
                    self.start(parent, sealed, id_, await self.find(parent.project_id, child), data, awaited=True)
                elif stored["completed_at"] is not None:
                    # It ended while nobody waited: in the moment of a crash, or before this engine took over.
                    return outcome(await self.read(id_, stored, sealed))
                ended = await waiting
                # What it may have told of its own secrets.
                sealed.learn(ended.hidden)
                return outcome(ended)
        finally:
            self._waiting.pop(id_, None)

    async def read(self, id_: str, stored: Row, sealed: Sealed) -> Ended:
        output = msgspec.json.decode(stored["output_data"] or "null")
        row = await self._parts.database.one(SEALED, id_=id_)
        if row is not None and row["sealed_output"] is not None:
            output = sealed.opened(str(row["sealed_output"]))
        error = msgspec.json.decode(stored["error"], type=Error) if stored["error"] else None
        return Ended(str(stored["status"]), output, error)

    async def find(self, project_id: str, child: ChildOf) -> tuple[str, int]:
        found = await self._parts.definitions.find(project_id, child.namespace, child.name, child.version)
        if found is None:
            wanted = f"{child.namespace}/{child.name} in version {child.version}"
            raise configuration("No such workflow", f"the project has no workflow {wanted}")
        if found.status in {"stopped", "error"}:
            raise configuration("The workflow does not run", f"{child.name} is in status {found.status}; deploy it")
        return found.workflow_id, found.version

    def start(
        self, parent: Execution, sealed: Sealed, id_: str, target: tuple[str, int], data: Any, *, awaited: bool
    ) -> None:
        lineage = passed_on(parent)
        depth = int(lineage.get("depth", 0)) + 1
        if depth > DEEPEST:
            raise runtime("Too deep", f"workflows may run each other {DEEPEST} levels deep")
        text = encoded(sealed.secrets.mask(data))
        if len(text) > self._parts.limits.step_bytes:
            most = self._parts.limits.step_bytes // 1024
            raise runtime("Too much data", f"the input of a workflow may have {most} KiB at most")
        if not self._parts.families.admit(lineage):
            raise runtime("Too many executions", f"of one execution, {MOST_OF_ONE:,} others may come at most")
        workflow_id, version = target
        origin = {"execution_id": parent.id, "workflow_id": parent.workflow_id}
        execution = Execution(
            id_,
            workflow_id,
            parent.project_id,
            version,
            "subflow",
            text,
            "pending",
            now(),
            parent_id=parent.id if awaited else None,
            metadata=encoded(lineage | {"parent": origin, "depth": depth}),
            sealed=sealed.sealed(data),
        )
        born(self._parts, execution)

    def ended(self, id_: str, ended: Ended) -> None:
        """Tell the parent, if there is one that waits."""
        waiting = self._waiting.get(id_)
        if waiting is not None and not waiting.done():
            waiting.set_result(ended)


def outcome(ended: Ended) -> Any:
    if ended.status == "completed":
        return ended.output
    if ended.error is not None:
        # Of this step now: where it came from is in the child's own record.
        raise Fault(msgspec.structs.replace(ended.error, instance=None))
    raise runtime("Cancelled", "the workflow that it ran was cancelled")


def born(parts: EngineParts, execution: Execution) -> None:
    """An execution that another one, a schedule or an event starts: durable with the next batch, and then run."""
    portion = parts.writer.of(execution.id)
    portion.writes.append((statements.ADD_EXECUTION, row_of(execution)))
    if execution.sealed is not None:
        portion.writes.append((SEAL_INPUT, {"id_": execution.id, "sealed": execution.sealed}))
    portion.changes.append(ExecutionChange(execution.workflow_id, execution.created_at, None, "pending"))
    parts.start(execution)


def row_of(execution: Execution) -> dict[str, Any]:
    return {
        "id": execution.id,
        "workflow_id": execution.workflow_id,
        "version": execution.version,
        "trigger_type": execution.trigger_type,
        "trigger_data": execution.trigger_data,
        "created_at": execution.created_at,
        "metadata": execution.metadata,
        "parent_id": execution.parent_id,
    }
