"""Dashboards: complete, quick, and never a number off."""

import asyncio
from typing import Any

import httpx
import pytest
from sqlalchemy import text

from penstock.http.times import rfc3339
from penstock.ids import uuid7
from penstock.storage import Statement, now
from penstock.streams import LEVELS, STATUSES, ExecutionChange, Level, NewLog, append
from penstock.streams.journal import HOUR
from tests.platform.people import register
from tests.platform.records import add
from tests.platform.scenes import Scene, set_scene

pytestmark = pytest.mark.anyio


@pytest.fixture
async def scene(client: httpx.AsyncClient) -> Scene:
    return await set_scene(client)


async def dashboard(scene: Scene) -> Any:
    answer = await scene.owner.get(f"{scene.path}/dashboard")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_every_status_and_level_is_there_from_the_start(scene: Scene) -> None:
    before = rfc3339(now() // HOUR * HOUR)
    found = await dashboard(scene)
    assert list(found) == [
        "workflow", "execution_counts", "log_counts", "recent_executions", "hours", "duration_ms",
    ]  # fmt: skip
    assert found["workflow"] == (await scene.owner.get(scene.path)).json()
    assert found["execution_counts"] == dict.fromkeys(STATUSES, 0)
    assert found["log_counts"] == dict.fromkeys(LEVELS, 0)
    assert found["recent_executions"] == []
    assert found["duration_ms"] == {"p50": None, "p95": None}
    assert len(found["hours"]) == 24
    assert before <= found["hours"][-1]["hour"] <= rfc3339(now() // HOUR * HOUR)


async def test_it_counts_what_happened(scene: Scene) -> None:
    made = [await scene.trigger(n) for n in range(12)]
    await scene.owner.post(f"/executions/{made[0]['id']}/cancel")
    await scene.log("a", "b", level=Level.ERROR)
    found = await dashboard(scene)
    assert found["execution_counts"] == dict.fromkeys(STATUSES, 0) | {"pending": 11, "cancelled": 1}
    assert found["log_counts"] == dict.fromkeys(LEVELS, 0) | {"info": 1, "error": 2}
    assert [item["id"] for item in found["recent_executions"]] == [item["id"] for item in reversed(made[2:])]
    in_hours = {status: sum(hour["counts"][status] for hour in found["hours"]) for status in STATUSES}
    assert in_hours == found["execution_counts"]


async def test_durations_are_of_the_last_day_by_nearest_rank(scene: Scene) -> None:
    at = now()
    for milliseconds in [*range(1, 101), 10**9]:
        created = at - (25 * HOUR if milliseconds == 10**9 else HOUR)
        await add(
            scene.database, "executions", id=uuid7(), workflow_id=scene.workflow_id, version=1, trigger_type="manual",
            trigger_data="{}", status="completed", started_at=created, completed_at=created + milliseconds * 1000,
            created_at=created, metadata="{}",
        )  # fmt: skip
    assert (await dashboard(scene))["duration_ms"] == {"p50": 50.0, "p95": 95.0}


async def test_the_system_dashboard_shows_what_one_can_see_a_page_at_a_time(scene: Scene) -> None:
    other = await scene.another_workflow("Other")
    await scene.trigger()
    await scene.log("oops", level=Level.FATAL)
    stranger = await register(scene.client, "stranger")
    assert (await stranger.get("/dashboard")).json() == {"total_workflows": 0, "workflow_summaries": []}
    found = (await scene.owner.get("/dashboard")).json()
    assert found["total_workflows"] == 2
    assert [summary["workflow_id"] for summary in found["workflow_summaries"]] == [other, scene.workflow_id]
    assert found["workflow_summaries"][1] == {
        "workflow_id": scene.workflow_id,
        "workflow_name": "Greet",
        "status": "draft",
        "executions": dict.fromkeys(STATUSES, 0) | {"pending": 1},
        "log_counts": dict.fromkeys(LEVELS, 0) | {"fatal": 1},
    }
    second = (await scene.owner.get("/dashboard?page=2&page_size=1")).json()
    assert (second["total_workflows"], len(second["workflow_summaries"])) == (2, 1)
    assert second["workflow_summaries"][0]["workflow_id"] == scene.workflow_id
    assert (await scene.owner.get("/dashboard?page_size=0")).status_code == 400


async def test_one_permission_on_a_workflow_is_enough_to_see_it_and_only_it(scene: Scene) -> None:
    await scene.another_workflow("Other")
    guest = await register(scene.client, "guest")
    me = (await guest.get("/auth/me")).json()["id"]
    await scene.owner.post(f"{scene.path}/permissions", {"user_id": me, "role": "viewer"})
    found = (await guest.get("/dashboard")).json()
    assert [summary["workflow_id"] for summary in found["workflow_summaries"]] == [scene.workflow_id]


RECOUNT = Statement(
    text(
        "SELECT status AS what, count(*) FROM executions GROUP BY status UNION ALL "
        "SELECT CAST(level AS TEXT), count(*) FROM log_entries GROUP BY level UNION ALL "
        "SELECT 'events', count(*) FROM events HAVING count(*) > 0"
    )
)
COUNTED = Statement(text("SELECT what, sum(n) FROM workflow_counts GROUP BY what HAVING sum(n) <> 0"))
HOURS = Statement(text("SELECT status, sum(n) FROM workflow_hours GROUP BY status HAVING sum(n) <> 0"))


async def test_whatever_happens_at_once_the_counters_equal_a_recount(scene: Scene) -> None:
    other = await scene.another_workflow("Other")

    async def live(number: int) -> None:
        workflow_id = (scene.workflow_id, other)[number % 2]
        answer = await scene.owner.post(f"/workflows/{workflow_id}/trigger")
        async with scene.database.transaction() as tx:
            both = [NewLog(id_, Level(number % 5), f"{number}") for id_ in (other, scene.workflow_id)]
            await append(tx, logs=both if number % 2 else both[::-1])
        if number % 3 == 0:
            await scene.owner.post(f"/executions/{answer.json()['id']}/cancel")

    await asyncio.gather(*(live(number) for number in range(20)))
    await scene.owner.post(f"/workflows/{other}/deploy")
    await scene.owner.post(f"/workflows/{other}/stop", {"cancel_running": True})

    recounted = {row[0]: int(row[1]) for row in await scene.database.all(RECOUNT)}
    named = {LEVELS[int(what)] if what.isdigit() else what: n for what, n in recounted.items()}
    counted = {row[0]: int(row[1]) for row in await scene.database.all(COUNTED)}
    assert counted == named
    in_hours = {row[0]: int(row[1]) for row in await scene.database.all(HOURS)}
    assert in_hours == {what: n for what, n in named.items() if what in STATUSES}


async def test_counters_go_with_their_workflow(scene: Scene) -> None:
    await scene.trigger()
    await scene.log("x")
    await scene.owner.delete(f"{scene.path}?force=true")
    assert list(await scene.database.all(COUNTED)) == []
    assert list(await scene.database.all(HOURS)) == []


async def test_an_execution_that_is_deleted_is_taken_off_the_count(scene: Scene) -> None:
    execution = await scene.trigger()
    async with scene.database.transaction() as tx:
        row = await tx.one(Statement(text("SELECT created_at FROM executions")))
        assert row is not None
        await tx.run(Statement(text("DELETE FROM executions")))
        await append(tx, executions=[ExecutionChange(execution["workflow_id"], row[0], "pending", None)])
    assert (await dashboard(scene))["execution_counts"]["pending"] == 0
