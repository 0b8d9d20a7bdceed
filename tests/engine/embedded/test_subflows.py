"""run: workflow."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import update

from penstock.engine.embedded import statements
from penstock.engine.embedded.run import Run
from penstock.storage import Statement
from penstock.storage.platform_tables import steps
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, definition, reopened, shop
from tests.platform.records import database_of

pytestmark = pytest.mark.anyio
_HOUR = 3600 * 1_000_000
_AN_HOUR_AGO = Statement(update(steps).values(started_at=steps.c.started_at - _HOUR))
_HALF_AN_HOUR = """
do:
  - attempt:
      try:
        - inTime: {TASK, timeout: {after: {minutes: 30}}}
      catch: {do: [{rest: {wait: {hours: 9}}}]}
"""


def _run(name: str, **members: str) -> str:
    said = ", ".join(f"{key}: {value}" for key, value in ({"namespace": "shop", "name": name} | members).items())
    return f"do: [{{child: {{run: {{workflow: {{{said}}}}}}}}}]"


async def _child(here: Shop, parent: str, workflow: str) -> str:
    """The id of the child's execution, when there is one."""

    async def there() -> bool:
        return bool(await here.executions(workflow))

    await came(there)
    found = (await here.executions(workflow))[0]
    assert found["trigger_type"] == "subflow"
    assert found["metadata"]["parent"]["execution_id"] == parent
    return str(found["id"])


async def test_a_child_is_found_in_the_project_by_its_document(serve: Serve) -> None:
    async with shop(serve) as here:
        double = "do: [{say: {set: {sum: '${ .n + %d }'}}}]"
        child = await here.workflow("adder", double % 1)
        second = definition("adder", double % 2, version="1.1.0")
        await here.owner.put(f"/workflows/{child}", {"config_yaml": second})
        given = "'${ {n: .n} }'"
        old = await here.workflow("old", _run("adder", version="1.0.0", input=given))
        new = await here.workflow("new", _run("adder", input=given))
        assert await here.output(old, {"n": 1}) == {"sum": 2}
        assert await here.output(new, {"n": 1}) == {"sum": 3}

        company = here.scene.company["id"]
        other = (await here.owner.made(f"/organizations/{company}/projects", {"name": "Other"}))["id"]
        stranger = await here.workflow("stranger", _run("adder"), project=other)
        failed = await here.run(stranger)
        assert failed["error"]["type"].endswith("/configuration")
        assert "the project has no workflow shop/adder" in failed["error"]["detail"]


async def test_a_fault_of_the_child_is_the_step_s_fault_and_a_cancelled_child_is_one_too(serve: Serve) -> None:
    async with shop(serve) as here:
        await here.workflow(
            "failing", "do: [{a: {raise: {error: {type: https://x.example/oops, status: 418, title: T}}}}]"
        )
        failed = await here.run(await here.workflow("parent", _run("failing")))
        error = failed["error"]
        assert (error["type"], error["status"], error["instance"]) == ("https://x.example/oops", 418, "/do/0/child")

        napping = await here.workflow("napping", "do: [{nap: {wait: {hours: 1}}}]")
        parent = await here.trigger(await here.workflow("waiting", _run("napping")))
        child = await _child(here, parent, napping)
        await here.at(child, "nap")
        assert (await here.post(f"/executions/{child}/cancel")).json()["status"] == "cancelled"
        done = await here.ended(parent)
        assert done["status"] == "failed"
        assert "was cancelled" in done["error"]["detail"]


async def test_a_child_ends_with_its_parent_unless_nobody_waits_for_it(serve: Serve) -> None:
    async with shop(serve) as here:
        napping = await here.workflow("napping", "do: [{nap: {wait: {hours: 1}}}]")
        parent = await here.trigger(await here.workflow("waiting", _run("napping")))
        child = await _child(here, parent, napping)
    async with reopened(serve, here) as there:
        await there.at(child, "nap")
        assert (await there.post(f"/executions/{parent}/cancel")).json()["status"] == "cancelled"
        assert (await there.execution(child))["status"] == "cancelled"
        assert [each["status"] for each in await there.steps(parent)] == ["cancelled"]

        free = "do: [{child: {run: {await: false, workflow: {namespace: shop, name: napping}}}}]"
        assert await there.output(await there.workflow("careless", free), {"kept": True}) == {"kept": True}
        own = (await there.executions(napping))[-1]
        await there.at(own["id"], "nap")


@pytest.mark.parametrize("around", ["WHAT", "do: [{inside: {do: [{deep: {WHAT}}]}}]"])
async def test_a_child_whose_time_ran_out_while_no_server_ran_is_cancelled(serve: Serve, around: str) -> None:
    what = around.replace("WHAT", "run: {workflow: {namespace: shop, name: napping}}")
    async with shop(serve) as here:
        napping = await here.workflow("napping", "do: [{nap: {wait: {hours: 9}}}]")
        parent = await here.trigger(await here.workflow("waiting", _HALF_AN_HOUR.replace("TASK", what)))
        child = await _child(here, parent, napping)
        await here.at(child, "nap")
        async with database_of(here.scene.client).transaction() as tx:
            await tx.run(_AN_HOUR_AGO)
    async with reopened(serve, here) as there:
        await there.at(parent, "rest")
        assert (await there.ended(child))["status"] == "cancelled"
        statuses = {each["step_name"]: each["status"] for each in await there.steps(parent)}
        assert {statuses.get(name, "cancelled") for name in ("inside", "deep")} == {"cancelled"}
        assert statuses["inTime"] == "failed"


async def test_a_child_whose_steps_are_cancelled_and_that_has_not_ended_is_not_begun_again_by_the_next_engine(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends, goes_on = asyncio.Event(), asyncio.Event()

    async def slow(run: Run, *given: Any, follows: Any = Run._followers) -> Any:
        """All but its end is durable."""
        if run.execution.parent_id is not None:
            await run._parts.writer.flush()
            ends.set()
            await goes_on.wait()
        return await follows(run, *given)

    monkeypatch.setattr(Run, "_followers", slow)
    async with shop(serve) as here:
        napping = await here.workflow("napping", "do: [{nap: {wait: {hours: 9}}}]")
        child = "{child: {run: {workflow: {namespace: shop, name: napping}}}}"
        other = "{ask: {listen: {to: {one: {with: {type: go}}}}}}"
        race = f"do: [{{race: {{fork: {{compete: true, branches: [{child}, {other}]}}}}}}]"
        parent = await here.trigger(await here.workflow("racing", race))
        id_ = await _child(here, parent, napping)
        await here.at(id_, "nap")
        await here.send("go")
        await ends.wait()
        # Were this engine killed now, the next would not take it up, but end it.
        row = await database_of(here.scene.client).one(statements.ENDED, id=id_)
        assert row is not None
        assert (row["status"], row["asked"]) == ("running", "cancel")
        assert [each["status"] for each in await here.steps(id_)] == ["cancelled"]
        goes_on.set()
        assert (await here.ended(id_))["status"] == "cancelled"
        assert (await here.ended(parent))["status"] == "completed"


async def test_workflows_that_run_themselves_end_at_a_depth(serve: Serve) -> None:
    async with shop(serve) as here:
        endless = await here.workflow("endless", _run("endless"))
        done = await here.run(endless)
        assert done["status"] == "failed"
        assert done["error"]["title"] == "Too deep"
        assert len(await here.executions(endless)) == 33
