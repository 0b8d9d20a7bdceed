"""Executions that are triggered at the same time are written together: one transaction, one fsync, for all of them.

Each has its own line in the audit log and its own answer; what is wrong with one is nothing to the others.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from penstock.platform import audit
from penstock.platform.executions import queries
from penstock.problems import Problem
from penstock.storage import Database, Row
from penstock.streams import ExecutionChange, append

VersionToRun = Callable[[Row | None], int]
"""From the state of the workflow to the version that runs; raises what is to be answered when none may."""


class Unchecked(Exception):
    """A draft is run for the first time as it is."""

    def __init__(self, version: int) -> None:
        super().__init__()
        self.version = version


class Arrival(msgspec.Struct, eq=False):
    id: str
    workflow_id: str
    data: str
    at: int
    by: str
    """The user who triggers it."""
    version_to_run: VersionToRun
    audit_entry: Callable[[int], dict[str, Any]]
    """Its line in the audit log, given the version."""


class Arrivals:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._gathered: list[tuple[Arrival, asyncio.Future[int]]] = []
        self._writing: asyncio.Task[None] | None = None

    async def add(self, arrival: Arrival) -> int:
        """The version that it runs, when it is durable as pending."""
        waiting: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._gathered.append((arrival, waiting))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_gathered())
        return await waiting

    async def _write_gathered(self) -> None:
        while self._gathered:
            batch, self._gathered = self._gathered, []
            try:
                outcomes = await self._write([arrival for arrival, _ in batch])
            except Exception as error:  # noqa: BLE001 - who waits is told
                outcomes = [error] if len(batch) == 1 else await self._write_each(batch)
            for (_, waiting), outcome in zip(batch, outcomes, strict=True):
                if waiting.done():
                    continue
                if isinstance(outcome, int):
                    waiting.set_result(outcome)
                else:
                    waiting.set_exception(outcome)

    async def _write_each(self, batch: Sequence[tuple[Arrival, asyncio.Future[int]]]) -> list[int | Exception]:
        """They cannot be written together: one of them cannot be stored, or nothing can."""
        outcomes: list[int | Exception] = []
        for arrival, _ in batch:
            try:
                outcomes += await self._write([arrival])
            except Exception as own:  # noqa: BLE001 - who waits is told
                outcomes.append(own)
        return outcomes

    async def _write(self, arrivals: Sequence[Arrival]) -> list[int | Exception]:
        outcomes: list[int | Exception] = []
        rows, entries, changes = [], [], []
        async with self._database.transaction() as tx:
            # In one order for everybody, so that no two wait for each other.
            ids = sorted({arrival.workflow_id for arrival in arrivals})
            states = {id_: await tx.one(queries.WORKFLOW, id=id_) for id_ in ids}
            for arrival in arrivals:
                try:
                    version = arrival.version_to_run(states[arrival.workflow_id])
                except (Problem, Unchecked) as refusal:
                    outcomes.append(refusal)
                    continue
                outcomes.append(version)
                rows.append(_row(arrival, version))
                entries.append(arrival.audit_entry(version))
                changes.append(ExecutionChange(arrival.workflow_id, arrival.at, None, "pending"))
            await tx.run_many(queries.ADD_PENDING, rows)
            await tx.run_many(audit.ADD, entries)
            await append(tx, executions=changes)
        return outcomes


def _row(arrival: Arrival, version: int) -> dict[str, Any]:
    return {
        "id": arrival.id,
        "workflow_id": arrival.workflow_id,
        "version": version,
        "trigger_data": arrival.data,
        "now": arrival.at,
        "triggered_by": arrival.by,
    }
