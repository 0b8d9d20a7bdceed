"""A disk that is full, a file that is locked, a PostgreSQL that is gone, a workflow that was deleted: progress stops,
nothing is lost, `/readyz` says so, and it goes on by itself."""

import asyncio
import secrets
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from typing import Any

import asyncpg
import httpx
import pytest
import structlog
from sqlalchemy import delete, select

from penstock.engine.embedded import statements
from penstock.engine.embedded.engine import EmbeddedEngine
from penstock.engine.embedded.run import Run
from penstock.ids import uuid7
from penstock.settings import load
from penstock.storage import Database, Statement
from penstock.storage.platform_tables import executions, steps, workflow_counts, workflows
from penstock.storage.sqlite import SqliteDatabase
from tests.chaos.peers import Postgresql, SmallDisk, postgresql, small_disk
from tests.conftest import Serve, build, client_of, keep, started
from tests.engine.embedded.running import came, ended, until
from tests.platform.people import Person
from tests.platform.records import database_of
from tests.platform.scene import Scene, set_up

pytestmark = pytest.mark.anyio

# Enough data, also when it is packed, that it cannot be stored where there is no room for it.
NAPPER = """
do:
  - before: {set: {n: '${ .n }'}}
  - nap: {wait: {milliseconds: 100}}
  - after: {set: {n: '${ .n }', much: '${ [range(5000)] | join(",") }'}}
  - last: {set: {n: '${ .n }'}}
"""
BUSY = """
do:
  - rounds:
      for: {each: item, in: '${ [range(5000)] }'}
      do: [{nap: {wait: {milliseconds: 10}}}, {say: {set: {n: '${ $item }'}}}]
"""
SLEEPER = """
do:
  - both:
      fork:
        branches:
          - one: {do: [{sleep: {wait: {hours: 1}}}]}
          - two: {wait: {hours: 1}}
"""
_STEPS = Statement(select(steps.c.execution_id, steps.c.step_name, steps.c.status))
_EXECUTIONS = Statement(select(executions.c.workflow_id, executions.c.status))
_COUNTS = Statement(select(workflow_counts.c.workflow_id, workflow_counts.c.what, workflow_counts.c.n))


@asynccontextmanager
async def application(url: str) -> AsyncIterator[httpx.AsyncClient]:
    edge = build(load(environ={}, overrides={"database": url, "engine": "embedded"}).settings, None)
    async with started(edge) as app, client_of(app) as client:
        client.app = app  # type: ignore[attr-defined]
        yield client
    keep(edge)


async def deployed(scene: Scene, name: str, tasks: str) -> Any:
    head = f"document: {{dsl: '1.0.3', namespace: test, name: {name}, version: '1.0.0'}}"
    workflow = await scene.workflow(name, head + tasks)
    answer = await scene.owner.post(f"/workflows/{workflow['id']}/deploy")
    assert answer.status_code == 200, answer.text
    return workflow


async def triggered(person: Person, workflow: Any, count: int = 1) -> list[str]:
    made = [await person.made(f"/workflows/{workflow['id']}/trigger", {"trigger_data": {"n": n}}) for n in range(count)]
    return [execution["id"] for execution in made]


async def running(person: Person, execution_id: str, step: str) -> None:
    """Until it is at this step."""

    async def is_there() -> bool:
        found = (await person.get(f"/executions/{execution_id}/steps")).json()["items"]
        return any(each["step_name"] == step and each["status"] == "running" for each in found)

    await came(is_there)


async def ready(client: httpx.AsyncClient, status: int) -> None:
    async def says_so() -> bool:
        return (await client.get("/readyz")).status_code == status

    await came(says_so)


async def all_is_well(database: Database, ids: list[str]) -> None:
    """Every one went its way once, and every counter says so."""
    done = Counter((row[0], row[1], row[2]) for row in await database.all(_STEPS))
    assert done == {(id_, name, "completed"): 1 for id_ in ids for name in ("before", "nap", "after", "last")}
    await counters_are_right(database)


async def counters_are_right(database: Database) -> None:
    real = Counter((str(row[0]), str(row[1])) for row in await database.all(_EXECUTIONS))
    statuses = {"pending", "running", "completed", "failed", "cancelled"}
    kept = {(str(row[0]), row[1]): row[2] for row in await database.all(_COUNTS) if row[1] in statuses and row[2]}
    assert kept == real


async def test_on_a_full_disk_executions_wait_for_room(sqlite_url: str) -> None:
    async with application(sqlite_url) as client:
        scene, database = await set_up(client), database_of(client)
        assert isinstance(database, SqliteDatabase)
        napper = await deployed(scene, "napper", NAPPER)
        ids = await triggered(scene.owner, napper, 10)
        pages = database._writer.execute("PRAGMA page_count").fetchone()[0]
        database._writer.execute(f"PRAGMA max_page_count = {pages}")
        await ready(client, 503)
        database._writer.execute("PRAGMA max_page_count = 1000000")
        for id_ in ids:
            assert (await ended(scene.owner, id_))["status"] == "completed"
        await ready(client, 200)
        await all_is_well(database, ids)


async def test_on_a_full_disk_of_postgresql_executions_wait_for_room() -> None:
    with small_disk(megabytes=64) as disk, postgresql() as server:
        async with application(await _database_on(disk, server)) as client:
            scene = await set_up(client)
            napper = await deployed(scene, "napper", NAPPER)
            ids = await triggered(scene.owner, napper, 10)
            disk.fill()
            await ready(client, 503)
            much = {"trigger_data": secrets.token_hex(100_000)}
            assert (await scene.owner.post(f"/workflows/{napper['id']}/trigger", much)).status_code == 503
            disk.make_room()
            for id_ in ids:
                assert (await ended(scene.owner, id_))["status"] == "completed"
            await ready(client, 200)
            await all_is_well(database_of(client), ids)


async def _database_on(disk: SmallDisk, server: Postgresql) -> str:
    """What PostgreSQL writes of it first, its log, is elsewhere, as it should be."""
    connection = await asyncpg.connect(server.url)
    try:
        (disk.folder / "data").mkdir(mode=0o700)
        shutil.chown(disk.folder / "data", disk.folder.owner())
        await connection.execute(f"CREATE TABLESPACE small LOCATION '{disk.folder}/data'")
        await connection.execute("CREATE DATABASE small TABLESPACE small")
    finally:
        await connection.close()
    return server.url.replace("/postgres?", "/small?")


def _rival(url: str) -> sqlite3.Connection:
    return sqlite3.connect(url.removeprefix("sqlite:///"), timeout=60, isolation_level=None, check_same_thread=False)


async def test_behind_the_lock_of_another_process_executions_wait(sqlite_url: str) -> None:
    async with application(sqlite_url) as client:
        scene = await set_up(client)
        napper = await deployed(scene, "napper", NAPPER)
        with closing(_rival(sqlite_url)) as rival:
            ids = await triggered(scene.owner, napper, 10)
            # In a thread: what the application has begun to write, it must be able to finish.
            await asyncio.to_thread(rival.execute, "BEGIN IMMEDIATE")
            await ready(client, 503)
            rival.execute("COMMIT")
        for id_ in ids:
            assert (await ended(scene.owner, id_))["status"] == "completed"
        await ready(client, 200)
        await all_is_well(database_of(client), ids)


async def test_when_postgresql_is_gone_for_a_while_executions_wait_for_it() -> None:
    with postgresql() as server:
        async with application(server.url) as client:
            scene = await set_up(client)
            napper = await deployed(scene, "napper", NAPPER)
            # Some begin now, one is in the middle, and one knows nothing of its definition yet.
            ids = await triggered(scene.owner, napper, 10)
            server.kill()
            await ready(client, 503)
            server.start()
            for id_ in ids:
                assert (await ended(scene.owner, id_))["status"] == "completed"
            await ready(client, 200)
            await all_is_well(database_of(client), ids)
            assert engine_of(client).runs


def engine_of(client: httpx.AsyncClient) -> EmbeddedEngine:
    engine = client.app.app.state.platform.engine  # type: ignore[attr-defined]
    assert isinstance(engine, EmbeddedEngine)
    return engine


async def test_who_was_overtaken_knows_that_and_nothing_else(serve: Serve) -> None:
    """Others who wait for the writer hear of its end in the same moment. What was triggered here is handed over."""
    async with serve(engine="embedded") as client:
        engine = engine_of(client)
        await came(_so(lambda: engine.runs))
        assert engine._tenure is not None
        parts = engine._tenure._parts
        with structlog.testing.capture_logs() as lines:
            async with database_of(client).transaction() as tx:
                await tx.run_text("UPDATE engine_lease SET fence = fence + 1, holder = ''")
            # All of them wait for the same batch.
            parts.writer.of("").writes.append((statements.ANSWERED, {"id_": uuid7(), "what": "start"}))
            parts.inbox.wake()
            parts.schedules.wake()
            await came(_so(lambda: any(line["event"] == "the engine runs" for line in lines)))
        said = [line["event"] for line in lines if line["log_level"] in {"warning", "error"}]
        assert said == ["another engine has taken over; this one waits"]


async def test_a_cancellation_asked_of_one_that_was_overtaken_is_passed_on(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        [id_] = await triggered(scene.owner, await deployed(scene, "sleeper", SLEEPER))
        await running(scene.owner, id_, "sleep")
        async with database_of(client).transaction() as tx:
            await tx.run_text("UPDATE engine_lease SET fence = fence + 1, holder = ''")
        assert (await scene.owner.post(f"/executions/{id_}/cancel")).json()["status"] == "cancelled"
        assert (await scene.owner.get(f"/executions/{id_}")).json()["status"] == "cancelled"
        await counters_are_right(database_of(client))


@pytest.mark.parametrize("how", ["by the API", "by another server"])
async def test_a_cancellation_that_is_under_way_when_the_engine_leaves_is_seen_to_by_the_next(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    async with serve(engine="embedded") as client:
        scene, engine = await set_up(client), engine_of(client)
        [id_] = await triggered(scene.owner, await deployed(scene, "sleeper", SLEEPER))
        await running(scene.owner, id_, "sleep")
        leaves = asyncio.Event()
        with monkeypatch.context() as slow:
            # What is under way takes its time to end, and the engine is told to leave meanwhile.
            slow.setattr(Run, "cancel", lambda _: leaves.set())
            asked: asyncio.Task[Any] | None = None
            if how == "by the API":
                asked = asyncio.create_task(scene.owner.post(f"/executions/{id_}/cancel"))
            else:
                async with database_of(client).transaction() as tx:
                    await tx.run(statements.ASK, id_=id_, what="cancel")
            await leaves.wait()
            # It would be seen to also if this engine were killed now; and its steps are not begun again before that.
            row = await database_of(client).one(statements.ENDED, id=id_)
            assert row is not None
            assert row["asked"] == "cancel"
            await engine.close()
        monkeypatch.setattr(Run, "_walk", None)
        engine.start()
        if asked is not None:
            assert (await asked).status_code == 200
        assert (await ended(scene.owner, id_))["status"] == "cancelled"
        await counters_are_right(database_of(client))


async def test_nothing_begins_at_an_engine_that_leaves(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(engine="embedded") as client:
        scene, engine = await set_up(client), engine_of(client)
        sleeper = await deployed(scene, "sleeper", SLEEPER)
        [id_] = await triggered(scene.owner, sleeper)
        await running(scene.owner, id_, "sleep")
        tenure, late = engine._tenure, Run.wait
        assert tenure is not None

        async def somebody_triggers(run: Run) -> None:
            """While the engine waits for those that it leaves."""
            [another] = await triggered(scene.owner, sleeper)
            await came(_so(lambda: another in tenure))
            await asyncio.sleep(0)
            await late(run)

        with monkeypatch.context() as busy:
            busy.setattr(Run, "wait", somebody_triggers)
            await engine.close()
        assert tenure.running == 0


def _so(condition: Callable[[], bool]) -> Callable[[], Awaitable[bool]]:
    async def so() -> bool:
        return condition()

    return so


@pytest.mark.parametrize("how", ["by the API", "by another server"])
async def test_a_workflow_that_is_deleted_takes_only_its_own_executions_with_it(serve: Serve, how: str) -> None:
    async with serve(engine="embedded") as client:
        scene, database, engine = await set_up(client), database_of(client), engine_of(client)
        busy, napper = await deployed(scene, "busy", BUSY), await deployed(scene, "napper", NAPPER)
        doomed, tenure = await triggered(scene.owner, busy, 5), engine._tenure
        for id_ in doomed:
            await running(scene.owner, id_, "rounds")
        ids = await triggered(scene.owner, napper, 5)
        if how == "by the API":
            answer = await scene.owner.delete(f"/workflows/{busy['id']}", params={"force": "true"})
            assert answer.status_code == 204, answer.text
        else:
            # The engine hears of it when it next writes.
            async with database.transaction() as tx:
                await tx.run(Statement(delete(workflows).where(workflows.c.id == busy["id"])))
        ids += await triggered(scene.owner, napper, 5)
        for id_ in ids:
            assert (await ended(scene.owner, id_))["status"] == "completed"
        await all_is_well(database, ids)
        assert tenure is not None
        await came(lambda: _is(tenure.running == 0))
        await came(lambda: _is(engine.trouble is None))
        assert engine._tenure is tenure


async def _is(so: bool) -> bool:
    return so


async def test_who_waits_for_a_workflow_that_was_deleted_does_not_wait_for_ever(serve: Serve) -> None:
    parent = "\ndo: [{child: {run: {workflow: {namespace: test, name: busy, version: latest}}}}]"
    async with serve(engine="embedded") as client:
        scene, database = await set_up(client), database_of(client)
        busy = await deployed(scene, "busy", BUSY)
        [waits] = await triggered(scene.owner, await deployed(scene, "parent", parent))
        await running(scene.owner, waits, "child")

        async def child_runs() -> bool:
            page = (await scene.owner.get(f"/workflows/{busy['id']}/executions")).json()
            return any(each["status"] == "running" for each in page["items"])

        await came(child_runs)
        async with database.transaction() as tx:
            await tx.run(Statement(delete(workflows).where(workflows.c.id == busy["id"])))
        done = await ended(scene.owner, waits)
        assert (done["status"], done["error"]["title"]) == ("failed", "Cancelled")


async def test_an_execution_that_cannot_be_stored_ends_as_failed(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene, engine = await set_up(client), engine_of(client)
        [id_] = await triggered(scene.owner, await deployed(scene, "sleeper", SLEEPER))
        await running(scene.owner, id_, "sleep")
        assert engine._tenure is not None
        engine._tenure._drop(id_)
        done = await ended(scene.owner, id_)
        assert (done["status"], done["error"]["title"]) == ("failed", "Not storable")
        found = (await scene.owner.get(f"/executions/{id_}/steps")).json()["items"]
        assert {each["status"] for each in found} == {"cancelled"}
        await counters_are_right(database_of(client))


async def test_cancelled_at_the_very_beginning_nothing_of_it_goes_on(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)

        async def begin_and_end(number: int) -> Any:
            # Each of another workflow, whose definition is not known to the engine yet.
            workflow = await deployed(scene, f"sleeper{number}", SLEEPER)
            [id_] = await triggered(scene.owner, workflow)
            for _ in range(number % 3):
                await asyncio.sleep(0)
            answers = await asyncio.gather(*(scene.owner.post(f"/executions/{id_}/cancel") for _ in range(2)))
            assert {answer.status_code for answer in answers} <= {200, 409}
            return (await scene.owner.get(f"/executions/{id_}")).json()

        for execution in await asyncio.gather(*(begin_and_end(number) for number in range(12))):
            assert execution["status"] == "cancelled"
        assert {row[2] for row in await database_of(client).all(_STEPS)} <= {"cancelled"}
        await counters_are_right(database_of(client))


async def test_cancelled_just_after_a_restart_no_step_stays_running(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        [id_] = await triggered(scene.owner, await deployed(scene, "sleeper", SLEEPER))
        await running(scene.owner, id_, "sleep")
        await running(scene.owner, id_, "two")
        tokens = scene.owner.tokens
    async with serve(engine="embedded") as client:
        owner = Person(client, tokens, "olga@example.com")
        assert (await owner.post(f"/executions/{id_}/cancel")).json()["status"] == "cancelled"
        found = (await owner.get(f"/executions/{id_}/steps")).json()["items"]
        assert Counter(each["step_name"] for each in found) == dict.fromkeys(("both", "one", "two", "sleep"), 1)
        assert {each["status"] for each in found} == {"cancelled"}
        workflow_id = (await owner.get(f"/executions/{id_}")).json()["workflow_id"]
        told = (await owner.get(f"/workflows/{workflow_id}/events")).json()["items"]
        cancelled = Counter(each["step_name"] for each in told if each["type"] == "task.cancelled")
        assert cancelled == dict.fromkeys(("both", "one", "two", "sleep"), 1)
        await counters_are_right(database_of(client))


async def test_what_was_finished_before_an_orderly_end_is_not_done_again(serve: Serve) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        ids = await triggered(scene.owner, await deployed(scene, "napper", NAPPER), 10)
        tokens = scene.owner.tokens
    async with serve(engine="embedded") as client:
        owner = Person(client, tokens, "olga@example.com")
        for id_ in ids:
            assert (await until(owner, id_, lambda each: each["completed_at"]))["status"] == "completed"
        await all_is_well(database_of(client), ids)
