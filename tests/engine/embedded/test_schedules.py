"""What starts by itself: when it is next, what is made up for, and what ends it. No test waits for a real plan."""

from datetime import UTC, datetime

import pytest
from sqlalchemy import bindparam, select, update

from penstock.engine.embedded import schedules
from penstock.engine.embedded.execution import rfc3339
from penstock.storage import Statement, now
from penstock.storage.engine_tables import workflow_schedules
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, definition, reopened, shop

pytestmark = pytest.mark.anyio
_HOUR = 3_600_000_000
_FORGET = Statement(update(workflow_schedules).values(next_run_at=None))
_STATE = Statement(
    select(workflow_schedules.c.state).where(workflow_schedules.c.workflow_id == bindparam("workflow_id"))
)
_SAY = "do: [{say: {set: {x: 1}}}]"


async def _next(here: Shop, workflow: str) -> str | None:
    planned: str | None = (await here.owner.get(f"/workflows/{workflow}/status")).json()["next_run_at"]
    return planned


async def _planned(here: Shop, workflow: str) -> bool:
    return await _next(here, workflow) is not None


async def _set(here: Shop, plan: Statement) -> None:
    async with here.scene.parts.database.transaction() as tx:
        await tx.run(plan)


async def test_a_deployed_schedule_says_when_it_is_next_until_it_is_replaced_or_stopped(serve: Serve) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow(
            "yearly", f"schedule: {{cron: '@yearly'}}\n{_SAY}", metadata="{timezone: Asia/Tokyo}"
        )
        assert await _next(here, workflow) is None
        await here.deploy(workflow)
        first = await _next(here, workflow)
        assert first is not None
        assert first.endswith("-12-31T15:00:00.000000Z")
        monthly = definition("yearly", f"schedule: {{cron: ' @monthly '}}\n{_SAY}")
        await here.owner.put(f"/workflows/{workflow}", {"config_yaml": monthly})
        assert await _next(here, workflow) == first  # not deployed yet
        await here.deploy(workflow)
        assert (await _next(here, workflow) or "").endswith("-01T00:00:00.000000Z")
        assert (await here.post(f"/workflows/{workflow}/stop")).status_code == 200
        assert await _next(here, workflow) is None
        assert await here.executions(workflow) == []


async def test_runs_that_were_missed_are_made_up_for_once(serve: Serve) -> None:
    async with shop(serve) as here:
        hourly = await here.workflow("hourly", f"schedule: {{every: {{hours: 1}}}}\n{_SAY}", deploy=True)
        # Not in the next half hour.
        minute = (datetime.now(UTC).minute + 45) % 60
        cron = await here.workflow("cron", f"schedule: {{cron: '{minute} * * * *'}}\n{_SAY}", deploy=True)
        assert await here.executions(hourly) == []
        plan = Statement(update(workflow_schedules).values(next_run_at=(missed := now() - 10 * _HOUR - 7)))
        await _set(here, plan)
    async with reopened(serve, here) as there:
        for workflow in (hourly, cron):
            done = (await there.started(workflow))[0]
            assert (done["trigger_type"], done["status"]) == ("schedule", "completed")
            assert done["metadata"]["planned_for"] == rfc3339(missed)
        assert await _next(there, hourly) is not None
        again = await there.workflow("again", _SAY)
        await there.run(again)
        assert [len(await there.executions(each)) for each in (hourly, cron)] == [1, 1]


async def test_the_next_run_counts_from_the_end_of_the_last_however_it_ended(serve: Serve) -> None:
    after = "schedule: {after: {hours: 1}}\n"
    async with shop(serve) as here:
        failing = await here.workflow(
            "failing", f"{after}input: {{schema: {{document: {_SCHEMA}}}}}\n{_SAY}", deploy=True
        )
        napping = await here.workflow("napping", f"{after}do: [{{nap: {{wait: {{hours: 1}}}}}}]", deploy=True)
        failed = (await here.started(failing))[0]
        assert failed["status"] == "failed"
        assert failed["error"]["type"].endswith("/validation")
        await came(lambda: _planned(here, failing))

        async def naps() -> bool:
            return len(await here.executions(napping, status="running")) == 1

        await came(naps)
        assert await _next(here, napping) is None
        await here.post(f"/executions/{(await here.executions(napping))[0]['id']}/cancel")
        assert await _next(here, napping) is not None
        assert len(await here.executions(failing)) == 1


_SCHEMA = "{type: object, required: [order]}"


async def test_a_plan_that_was_lost_with_its_execution_is_made_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # At its start only: not in the moment in which we look.
    monkeypatch.setattr(schedules, "_LOOK_FOR_LOST_EVERY", 1_000_000)
    async with shop(serve) as here:
        workflow = await here.workflow("after", f"schedule: {{after: {{hours: 1}}}}\n{_SAY}", deploy=True)
        events = await here.workflow("on", f"schedule: {{on: {{one: {{with: {{type: x}}}}}}}}\n{_SAY}", deploy=True)
        await here.started(workflow)
        await came(lambda: _planned(here, workflow))
        await _set(here, _FORGET)
        assert await _next(here, workflow) is None
    async with reopened(serve, here) as there:
        await came(lambda: _planned(there, workflow))
        assert await _next(there, events) is None
        assert len(await there.executions(workflow)) == 1


async def _nothing(*_: object) -> None:
    """Of a server that dies before it has come to its engine."""


async def test_what_is_said_to_be_active_or_stopped_is_so_when_the_server_died_on_the_way_to_its_engine(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(serve) as here:
        hourly = "schedule: {every: {hours: 1}}\ndo: [{say: {set: {x: 1}}}]"
        stopped = await here.workflow("stopped", hourly, deploy=True)
        monkeypatch.setattr(here.scene.parts.engine, "deploy", _nothing)
        monkeypatch.setattr(here.scene.parts.engine, "stop", _nothing)
        active = await here.workflow("active", hourly, deploy=True)
        plain = await here.workflow("plain", "do: [{say: {set: {x: 1}}}]", deploy=True)
        assert (await here.post(f"/workflows/{stopped}/stop")).status_code == 200
    async with reopened(serve, here) as there:

        async def next_run(workflow: str) -> str | None:
            status: dict[str, str | None] = (await there.owner.get(f"/workflows/{workflow}/status")).json()
            return status["next_run_at"]

        async def is_planned() -> bool:
            return await next_run(active) is not None

        await came(is_planned)
        assert await next_run(stopped) is None
        assert await next_run(plain) is None
        assert await there.output(plain) == {"x": 1}


async def test_deployed_again_as_it_is_a_schedule_keeps_its_plan_and_what_it_has_consumed(serve: Serve) -> None:
    """Whoever deploys on every change of something else is not to put off what runs daily, day by day."""
    both = "schedule: {on: {all: [{with: {type: one}}, {with: {type: other}}]}}"
    async with shop(serve) as here:
        daily = await here.workflow("daily", f"schedule: {{every: {{days: 1}}}}\n{_SAY}", deploy=True)
        resting = "schedule: {after: {days: 1}}\ndo: [{rest: {wait: {days: 1}}}]"
        after = await here.workflow("after", resting, deploy=True)
        paired = await here.workflow("paired", f"{both}\n{_SAY}", deploy=True)
        planned = await _next(here, daily)
        await came(lambda: _has_run(here, after))
        await here.send("one")
        await came(lambda: _has_consumed(here, paired))
        for workflow in (daily, after, paired):
            await here.deploy(workflow)
        assert await _next(here, daily) == planned
        assert await _next(here, after) is None
        await here.send("other")
        await came(lambda: _has_run(here, paired))
        assert len(await here.executions(after)) == 1

        changed = definition("daily", f"schedule: {{every: {{days: 2}}}}\n{_SAY}")
        await here.owner.put(f"/workflows/{daily}", {"config_yaml": changed})
        await here.deploy(daily)
        assert (await _next(here, daily) or "") > (planned or "")


async def _has_run(here: Shop, workflow: str) -> bool:
    return bool(await here.executions(workflow))


async def _has_consumed(here: Shop, workflow: str) -> bool:
    row = await here.scene.parts.database.one(_STATE, workflow_id=workflow)
    return row is not None and row[0] != "{}"
