"""The one writer: what cannot be written now is written later, once; what never can be hurts nobody else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import select
from structlog.testing import capture_logs

from penstock.engine.embedded import statements
from penstock.engine.embedded.lease import Lease, LeaseLost
from penstock.engine.embedded.patience import PatientDatabase
from penstock.engine.embedded.writer import Writer, WriterEnded
from penstock.ids import uuid7
from penstock.storage import Database, Statement, Transaction, Unavailable, now
from penstock.storage.platform_tables import events, executions, workflow_counts
from penstock.streams import ExecutionChange, NewEvent
from tests.platform.records import add

pytestmark = pytest.mark.anyio

_EVENTS = Statement(select(events.c.type).order_by(events.c.id))
_COUNTS = Statement(select(workflow_counts.c.what, workflow_counts.c.n))
_EXECUTIONS = Statement(select(executions.c.id))


class Fragile(PatientDatabase):
    """A database that fails in one way or another, as often as it is told to."""

    before = 0
    after = 0

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.seen: list[set[str]] = []
        """The executions that there were after each commit, should it have been the last."""

    def transaction(self) -> AbstractAsyncContextManager[Transaction]:
        return self._fragile()

    @asynccontextmanager
    async def _fragile(self) -> AsyncIterator[Transaction]:
        async with super().transaction() as tx:
            yield tx
            if self.before > 0:
                self.before -= 1
                raise Unavailable("the connection was lost before the COMMIT")
        self.seen.append({str(row[0]) for row in await self.all(_EXECUTIONS)})
        if self.after > 0:
            self.after -= 1
            raise Unavailable("the answer to the COMMIT was lost")


class Scene:
    def __init__(self, fragile: Fragile, writer: Writer, workflow_id: str, dropped: list[str]) -> None:
        self.database, self.writer, self.workflow_id, self.dropped = fragile, writer, workflow_id, dropped

    def put(self, execution_id: str, *, workflow_id: str | None = None, **members: Any) -> None:
        at, workflow_id = now(), workflow_id or self.workflow_id
        row = {
            "id": execution_id,
            "workflow_id": workflow_id,
            "version": 1,
            "trigger_type": "manual",
            "trigger_data": "{}",
            "created_at": at,
            "metadata": "{}",
            "parent_id": None,
        }
        portion = self.writer.of(execution_id)
        portion.writes.append((statements.ADD_EXECUTION, row | members))
        portion.events.append(NewEvent(workflow_id, "workflow.started", execution_id))
        portion.changes.append(ExecutionChange(workflow_id, at, None, "pending"))

    async def stored(self) -> set[str]:
        return {str(row[0]) for row in await self.database.all(_EXECUTIONS)}

    async def counts(self) -> dict[str, int]:
        return {str(what): int(n) for what, n in await self.database.all(_COUNTS)}


@pytest.fixture
async def scene(database: Database) -> AsyncIterator[Scene]:
    fragile, lease, dropped = Fragile(database), Lease(database), list[str]()
    workflow_id = await _workflow(database)
    await lease.acquire()
    writer = Writer(fragile, lease, dropped.append)
    running = asyncio.create_task(writer.run())
    yield Scene(fragile, writer, workflow_id, dropped)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def _workflow(database: Database) -> str:
    account, company, project, workflow = uuid7(), uuid7(), uuid7(), uuid7()
    await add(database, "accounts", id=account, email="ada@example.com", email_verified=True, active=True)
    await add(database, "companies", id=company, owner_id=account)
    await add(database, "projects", id=project, company_id=company)
    await add(database, "workflows", id=workflow, project_id=project, created_by=account, updated_by=account)
    return workflow


async def test_a_commit_whose_answer_was_lost_is_not_made_again(scene: Scene) -> None:
    scene.database.after = 3
    ids = {uuid7(), uuid7()}
    for id_ in ids:
        scene.put(id_)
    await scene.writer.flush()
    assert scene.database.after == 0
    assert await scene.stored() == ids
    assert len(await scene.database.all(_EVENTS)) == 2
    assert await scene.counts() == {"events": 2, "pending": 2}
    assert (scene.dropped, scene.writer.trouble) == ([], None)


async def test_a_commit_that_did_not_come_about_is_made_again(scene: Scene) -> None:
    scene.database.before, scene.database.after = 2, 1
    id_ = uuid7()
    scene.put(id_)
    await scene.writer.flush()
    assert await scene.stored() == {id_}
    assert await scene.counts() == {"events": 1, "pending": 1}


async def test_while_nothing_can_be_written_it_says_so(scene: Scene) -> None:
    scene.database.before = 1_000_000
    id_ = uuid7()
    scene.put(id_)
    waiting = asyncio.create_task(scene.writer.flush())
    while not _troubled(scene):
        await asyncio.sleep(0.01)
    assert not waiting.done()
    scene.database.before = 0
    await waiting
    assert not _troubled(scene)
    assert await scene.stored() == {id_}


def _troubled(scene: Scene) -> bool:
    return scene.writer.trouble is not None


@pytest.mark.parametrize("refused", ["of a workflow that is gone", "with data that cannot be sent"])
async def test_what_can_never_be_written_leaves_all_others_alone(scene: Scene, refused: str) -> None:
    good, bad = [uuid7() for _ in range(20)], uuid7()
    for number, id_ in enumerate(good):
        scene.put(id_)
        if number == 11:
            scene.put(bad, **_bad(refused))
    await scene.writer.flush()
    assert scene.dropped == [bad]
    assert await scene.stored() == set(good)
    assert await scene.counts() == {"events": 20, "pending": 20}


async def test_what_ends_and_what_it_starts_are_one_commit_whatever_else_can_never_be_written(scene: Scene) -> None:
    """A link would be lost for ever if the server died between the two."""
    good = [uuid7() for _ in range(8)]
    for id_ in good:
        scene.put(id_)
    scene.put(uuid7(), workflow_id=uuid7())
    scene.database.after = 1
    await scene.writer.flush()
    assert set(good) in scene.database.seen
    assert all(seen in (set(), set(good)) for seen in scene.database.seen)
    assert len(scene.dropped) == 1
    assert await scene.counts() == {"events": 8, "pending": 8}


def _bad(refused: str) -> dict[str, Any]:
    return {"workflow_id": uuid7()} if "gone" in refused else {"trigger_data": "\ud800"}


async def test_an_execution_that_was_deleted_with_its_workflow_is_no_error(scene: Scene) -> None:
    execution_id = uuid7()
    with capture_logs() as lines:
        scene.put(execution_id, workflow_id=uuid7())
        await scene.writer.flush()
    assert scene.dropped == [execution_id]
    assert {line["log_level"] for line in lines} == {"info"}


async def test_who_waits_for_a_writer_whose_turn_is_over_is_told(scene: Scene, database: Database) -> None:
    usurper = Lease(database)
    async with database.transaction() as tx:
        await tx.run_text("UPDATE engine_lease SET holder = '', fence = fence + 1")
    await usurper.acquire()
    scene.put(uuid7())
    with pytest.raises(WriterEnded):
        await scene.writer.flush()
    scene.put(uuid7())
    with pytest.raises(WriterEnded):
        await scene.writer.flush()
    assert await scene.stored() == set()


async def test_a_writer_that_was_overtaken_ends(database: Database) -> None:
    lease = Lease(database)
    await lease.acquire()
    writer = Writer(database, lease, lambda _: None)
    async with database.transaction() as tx:
        await tx.run_text("UPDATE engine_lease SET fence = fence + 1")
    with pytest.raises(LeaseLost):
        async with asyncio.timeout(60):
            await writer.run()
