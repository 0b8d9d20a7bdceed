"""A walk that dies has written more than its history knows of; the one that goes on does it again. None is twice."""

import uuid
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import bindparam, select

from penstock.engine.embedded import inbox, statements
from penstock.engine.temporal import written
from penstock.engine.temporal.hearing import Hearing
from penstock.engine.temporal.once import Naming
from penstock.engine.temporal.passed import Batch, Listen, Look
from penstock.storage import Database, Statement, now
from penstock.storage.platform_tables import workflow_counts
from penstock.streams import ExecutionChange, Level, NewEvent, NewLog
from tests.conftest import Serve
from tests.engine.embedded.shop import Shop
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_PENDING = Statement(
    select(workflow_counts.c.n).where(
        workflow_counts.c.workflow_id == bindparam("workflow_id"), workflow_counts.c.what == "pending"
    )
)
_STEP = "00000000-0000-7000-8000-000000000001"


class Walk:
    """One life of a walk, in one process. Its history does not grow by itself: Temporal hears of nothing."""

    def __init__(self, shop: Shop, workflow: str, execution: str, *, era: int = 0, history: int = 1) -> None:
        self._shop, self._workflow, self._execution = shop, workflow, execution
        self._naming, self._number = Naming(era), era
        self.history = history

    async def begins(self, database: Database, steps: dict[str, int]) -> None:
        """A batch: steps by name, with their numbers."""
        await self.writes(database, [("add_step", self._begun(name, number)) for name, number in steps.items()])

    async def bears(self, database: Database, name: str) -> None:
        """A batch: another execution begins."""
        at = now()
        row = {
            "id": str(uuid.uuid5(uuid.UUID(self._execution), name)), "workflow_id": self._workflow, "version": 1,
            "trigger_type": "subflow", "trigger_data": "{}", "created_at": at, "metadata": "{}", "parent_id": None,
        }  # fmt: skip
        born = ExecutionChange(self._workflow, at, None, "pending")
        await self.writes(database, [("add_execution", row)], changes=[born])

    async def does(self, database: Database, *what: str) -> None:
        """A batch: `a`, or `step:running`."""
        plain = [name for name in what if ":" not in name]
        steps = [name.partition(":")[2] for name in what if ":" in name]
        events = [NewEvent(self._workflow, "task.created", self._execution, name) for name in plain]
        logs = [NewLog(self._workflow, Level.INFO, name, "engine", self._execution) for name in plain]
        writes: Any = [("add_step" if n == 0 else "change_step", self._row(n, steps[n])) for n in range(len(steps))]
        changes = [ExecutionChange(self._workflow, 1, None, "pending") for _ in plain]
        await self.writes(database, writes, events, logs, changes)

    async def writes(
        self, database: Database, writes: Any, events: Any = (), logs: Any = (), changes: Any = ()
    ) -> None:
        self._number += 1
        names = self._naming.of(self.history, writes, events, logs, changes)
        batch = Batch(
            execution_id=self._execution, project_id=self._shop.project, number=self._number,
            writes=writes, events=list(events), logs=list(logs), changes=list(changes), names=names,
        )  # fmt: skip
        await written.write(database, [batch])
        await written.write(database, [batch])  # the answer was lost
        self._naming.written(self.history, names)

    def _begun(self, name: str, number: int) -> tuple[Any, ...]:
        row = list(self._row(0, "running"))
        members = statements.STEP_MEMBERS
        row[members.index("id")] = str(uuid.uuid5(uuid.UUID(self._execution), name))
        row[members.index("step_name")], row[members.index("sequence_num")] = name, number
        return tuple(row)

    def _row(self, n: int, status: str) -> tuple[Any, ...]:
        row = dict.fromkeys(statements.STEP_MEMBERS, None) | {
            "id": _STEP, "execution_id": self._execution, "step_name": "step", "step_type": "set", "reference": "/do/0",
            "sequence_num": 1, "attempt": 1, "status": status, "started_at": now(), "metadata": "{}", "position": "0",
        }  # fmt: skip
        changed = ("id", *statements.CHANGING[1:])
        return tuple(row[name] for name in (changed if n else statements.STEP_MEMBERS))


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        ([["a"], ["b"]], [["a"], ["b"], ["c"]]),
        ([["a"], ["b"]], [["a", "b"], ["c"]]),
        ([["a", "b"]], [["a"], ["b"], ["c"]]),
        ([["a"], ["b"]], [["b", "a", "c"]]),
        ([["a", "step:running"]], [["a", "b", "step:running", "step:completed"], ["c"]]),
        ([["a", "step:running", "step:completed"]], [["step:running"], ["a", "b", "c"]]),
        ([["step:running"], ["a"]], [["step:completed", "a"], ["b", "c"]]),
    ],
)
async def test_what_is_done_again_is_written_once_however_it_is_parted(
    serve: Serve, database: Database, lost: list[list[str]], again: list[list[str]]
) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        execution = await shop.trigger(workflow)
        for batches in (lost, lost[:1], again):
            walk = Walk(shop, workflow, execution)
            for batch in batches:
                await walk.does(database, *batch)
        done = {name for batch in again for name in batch if ":" not in name}
        for what, name in (("events", "step_name"), ("logs", "message")):
            found = (await shop.owner.get(f"/workflows/{workflow}/{what}")).json()["items"]
            assert Counter(each[name] for each in found) == dict.fromkeys(done, 1)
        steps = [each["status"] for each in await shop.steps(execution)]
        assert steps == (["completed"] if any("step:" in name for batch in again for name in batch) else [])


@pytest.mark.parametrize(
    ("lost", "again"),
    [
        (["b"], ["a", "b", "c"]),  # b's branch was first, and its number is a's now
        (["b", "a"], ["a", "b", "c"]),
        (["c", "b", "a"], ["a", "b", "c", "d"]),
        (["b"], ["a", "c", "d", "b"]),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
async def test_steps_that_begin_in_another_order_the_second_time_are_counted_as_then(
    serve: Serve, database: Database, lost: list[str], again: list[str], at_once: bool
) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        execution = await shop.trigger(workflow)
        for begun in (lost, again):
            walk = Walk(shop, workflow, execution)
            for batch in [list(enumerate(begun, 1))] if at_once else [[each] for each in enumerate(begun, 1)]:
                await walk.begins(database, {name: number for number, name in batch})
        steps = await shop.steps(execution)
        assert [(each["step_name"], each["sequence_num"]) for each in steps] == [
            (name, number) for number, name in enumerate(again, 1)
        ]


async def test_whoever_was_taken_for_lost_and_goes_on_writes_nothing_more(serve: Serve, database: Database) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        execution = await shop.trigger(workflow)
        hung, other = Walk(shop, workflow, execution), Walk(shop, workflow, execution, history=5)
        await hung.does(database, "a")
        await other.does(database, "a", "b")
        other.history = 9  # it knows that this was done
        await other.does(database, "c")
        with pytest.raises(written.Apart):
            await hung.does(database, "b")
        await other.does(database, "d")
        # Its history was long, and it began another.
        following = Walk(shop, workflow, execution, era=3)
        await following.does(database, "e")
        other.history = 13
        with pytest.raises(written.Apart):
            await other.does(database, "f")
        await following.does(database, "g")
        found = (await shop.owner.get(f"/workflows/{workflow}/events")).json()["items"]
        assert Counter(each["step_name"] for each in found) == dict.fromkeys("abcdeg", 1)


async def test_a_walk_in_a_history_that_was_restored_writes_nothing_however_long_that_has_grown_since(
    serve: Serve, database: Database
) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        execution = await shop.trigger(workflow)
        walk, restored = (Walk(shop, workflow, execution) for _ in range(2))
        for name in "abc":
            await walk.does(database, name)
            walk.history += 4
        restored.history = 100
        with pytest.raises(written.Apart):
            await restored.does(database, "a")
        found = (await shop.owner.get(f"/workflows/{workflow}/events")).json()["items"]
        assert Counter(each["step_name"] for each in found) == dict.fromkeys("abc", 1)


async def test_a_child_that_is_found_and_not_started_again_leaves_its_names_to_nobody_else(
    serve: Serve, database: Database
) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        execution = await shop.trigger(workflow)
        lost, again = Walk(shop, workflow, execution), Walk(shop, workflow, execution)
        await lost.bears(database, "first")
        await again.begins(database, {"a": 1})  # it found the first there
        await again.bears(database, "second")
        row = await database.one(_PENDING, workflow_id=workflow)
        assert row is not None
        assert row[0] == len(await shop.executions(workflow)) == 3


async def test_an_event_that_a_lost_walk_has_consumed_is_found_again_by_the_one_that_goes_on_and_by_nobody_else(
    serve: Serve, database: Database
) -> None:
    async with serve() as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("one", "do: []")
        ids = [await shop.trigger(workflow) for _ in range(2)]
        async with database.transaction() as tx:
            await tx.run_many(inbox.ADD, [inbox.row_of(shop.project, '{"id":"it"}', 3600, emitted=False)])
        hearing = Hearing(database)

        async def found(execution: str) -> list[str]:
            """By one that begins to listen now."""
            asked = {"execution_id": execution, "project_id": shop.project, "position": "0"}
            since = (await hearing.listen(Listen(**asked, earlier=False))).last
            return [event for _, event in await hearing.look(Look(**asked, after=0, since=since))]

        assert await found(ids[0]) == await found(ids[1]) == ['{"id":"it"}']
        consumed = {"execution_id": ids[0], "position": "0", "number": 1, "event": "{}"}
        walk = Walk(shop, workflow, ids[0])
        await walk.writes(database, [("add_consumed", consumed), ("consumed", {"id_": 1})])
        assert await found(ids[0]) == ['{"id":"it"}']
        assert await found(ids[1]) == []
