"""Triggers, the version that runs, what waits for its turn, and what takes too long."""

import asyncio
from contextlib import ExitStack

import pytest
from sqlalchemy import update

from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.queue import FairQueue
from penstock.engine.embedded.slots import Slots
from penstock.storage import Statement
from penstock.storage.platform_tables import workflow_versions
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import definition, reopened, shop

pytestmark = pytest.mark.anyio
_AGED = Statement(update(workflow_versions).values(config_yaml=definition("aged", "do: [{say: {sing: {x: 1}}}]")))
_ASK = "do: [{ask: {listen: {to: {one: {with: {type: go}}}}}}, {say: {set: {answer: %s}}}]"


async def test_an_execution_runs_the_version_that_it_was_triggered_with_and_once_for_a_key(serve: Serve) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("asking", _ASK % "one", deploy=True)
        key = {"Idempotency-Key": "order-17"}
        place, body = f"/workflows/{workflow}/trigger", {"trigger_data": {"order": 17}}
        first = await here.owner.post(place, body, headers=key)
        assert first.status_code == 201
        id_ = first.json()["id"]
        await here.at(id_, "ask")
        await here.owner.put(f"/workflows/{workflow}", {"config_yaml": definition("asking", _ASK % "two")})
        await here.deploy(workflow)
        await here.send("go")
        done = await here.ended(id_)
        assert (done["version"], done["output_data"]) == (1, {"answer": "one"})
        again = await here.owner.post(place, body, headers=key)
        assert (again.status_code, again.json()["id"]) == (200, id_)
        assert (await here.owner.post(place, {"trigger_data": {}}, headers=key)).status_code == 409
        assert len(await here.executions(workflow)) == 1


async def test_as_many_run_as_the_definition_allows_and_those_who_wait_come_in_their_order(serve: Serve) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("single", _ASK % "'${ $workflow.input.n }'", metadata="{concurrency: 1}")
        ids = [await here.trigger(workflow, {"n": number}) for number in range(3)]
        other = await here.workflow("other", "do: [{say: {set: {x: 1}}}]")
        for number, id_ in enumerate(ids):
            await here.at(id_, "ask")
            assert len(await here.executions(workflow, status="running")) == 1
            assert await here.output(other) == {"x": 1}
            await here.send("go", id=str(number))
            assert (await here.ended(id_))["output_data"] == {"answer": number}


async def test_who_sleeps_listens_or_waits_for_a_child_needs_no_slot(serve: Serve) -> None:
    async with shop(serve, executions_at_once=1) as here:
        nap = await here.workflow("nap", "do: [{a: {fork: {branches: [{b: {wait: PT1H}}, {c: {wait: PT1H}}]}}}]")
        parent = await here.workflow("parent", "do: [{run: {run: {workflow: {namespace: shop, name: nap}}}}]")
        quick = await here.workflow("quick", "do: [{say: {set: {x: 1}}}]")
        await here.at(await here.trigger(nap), "a")
        await here.at(await here.trigger(parent), "run")
        assert await here.output(quick) == {"x": 1}


def test_one_execution_lends_one_slot_however_many_of_its_branches_wait() -> None:
    freed: list[bool] = []
    slots = Slots(2, lambda: freed.append(True))
    slots.take("one", "project")
    with slots.lent("one"), slots.lent("one"):
        for number in range(2):
            slots.take(f"other {number}", "project")
        assert [slots.free_for("project"), len(freed)] == [False, 1]


def test_a_project_has_a_few_slots_whoever_holds_all_of_them() -> None:
    slots = Slots(20, lambda: None)
    for number in range(20):
        slots.take(f"theirs {number}", "theirs")
    assert not slots.free_for("theirs")
    for number in range(10):
        assert slots.free_for("ours")
        slots.take(f"ours {number}", "ours")
    assert not slots.free_for("ours")
    slots.give_back("ours 0")
    assert [slots.free_for("ours"), slots.free_for("theirs")] == [True, False]


def test_a_project_has_no_more_begun_than_it_may_but_for_children_for_whom_others_wait() -> None:
    slots = Slots(20, lambda: None, begun=2)
    for number in range(2):
        slots.take(f"sleeper {number}", "theirs")
    with slots.lent("sleeper 0"), slots.lent("sleeper 1"):
        assert [slots.free_for("theirs"), slots.free_for("theirs", child=True)] == [False, True]
        assert slots.free_for("ours")
    slots.give_back("sleeper 0")
    assert slots.free_for("theirs")


async def test_more_than_may_begin_stay_pending_until_one_ends_and_others_do_not_wait_for_them(serve: Serve) -> None:
    async with shop(serve, executions_begun=1) as here:
        company = here.scene.company["id"]
        elsewhere = (await here.owner.made(f"/organizations/{company}/projects", {"name": "Other"}))["id"]
        nap = await here.workflow("nap", "do: [{a: {wait: {hours: 1}}}]")
        quick = await here.workflow("quick", "do: [{say: {set: {x: 1}}}]")
        other = await here.workflow("other", "do: [{say: {set: {x: 2}}}]", project=elsewhere)
        sleeping = await here.trigger(nap)
        await here.at(sleeping, "a")
        waiting = await here.trigger(quick)
        assert await here.output(other) == {"x": 2}
        assert (await here.execution(waiting))["status"] == "pending"
        await here.post(f"/executions/{sleeping}/cancel")
        assert (await here.ended(waiting))["output_data"] == {"x": 1}


async def test_who_listens_does_not_keep_from_beginning_whom_it_listens_for(serve: Serve) -> None:
    async with shop(serve, executions_begun=1) as here:
        hear = await here.workflow("hear", "do: [{hear: {listen: {to: {one: {with: {type: said}}}}}}]")
        say = await here.workflow("say", "do: [{say: {emit: {event: {with: {source: 'https://a', type: said}}}}}]")
        hearing = await here.trigger(hear)
        await here.at(hearing, "hear")
        assert (await here.run(say))["status"] == "completed"
        assert (await here.ended(hearing))["status"] == "completed"


def test_of_those_who_wait_for_others_a_project_has_as_many_again_as_it_may() -> None:
    slots = Slots(20, lambda: None, begun=2)
    with ExitStack() as listening:
        for number in range(4):
            assert slots.free_for("theirs")
            slots.take(f"listener {number}", "theirs")
            listening.enter_context(slots.lent(f"listener {number}", for_others=True))
            listening.enter_context(slots.lent(f"listener {number}"))
            listening.enter_context(slots.lent(f"listener {number}", for_others=True))
        assert not slots.free_for("theirs")
    assert not slots.free_for("theirs")
    for number in range(3):
        slots.give_back(f"listener {number}")
    assert slots.free_for("theirs")


def test_one_of_another_workflow_does_not_wait_behind_thousands() -> None:
    queue = FairQueue()
    for number in range(5_000):
        queue.put(_execution(f"a{number}", "busy"))
    queue.put(_execution("b", "other"))
    assert [getattr(queue.next(), "id", None) for _ in range(3)] == ["a0", "b", "a1"]
    assert queue.take_out("a2")
    held = queue.next()
    assert held is not None
    assert held.id == "a3"
    queue.hold(held)
    assert queue.next() is None
    queue.put(_execution("a-late", "busy"))
    assert queue.next() is None
    queue.let_go("busy")
    assert getattr(queue.next(), "id", None) == "a3"


def _execution(id_: str, workflow: str) -> Execution:
    return Execution(id_, workflow, "p", 1, "manual", "{}", "pending", 0)


async def test_what_takes_too_long_is_a_fault_with_status_408(serve: Serve) -> None:
    async with shop(serve) as here:
        task = await here.workflow("task", "do: [{nap: {wait: {hours: 1}, timeout: {after: {milliseconds: 50}}}}]")
        whole = await here.workflow("whole", "timeout: {after: {milliseconds: 50}}\ndo: [{nap: {wait: {hours: 1}}}]")
        failed, ended = await asyncio.gather(here.run(task), here.run(whole))
        assert failed["error"]["type"].endswith("/timeout")
        assert (failed["error"]["status"], failed["error"]["instance"]) == (408, "/do/0/nap")
        assert ended["error"]["status"] == 408
        assert [each["status"] for each in await here.steps(failed["id"])] == ["failed"]
        # None, where the time was up before it could begin.
        assert [each["status"] for each in await here.steps(ended["id"])] in (["cancelled"], [])


async def test_a_project_can_be_deleted_from_under_what_runs_in_it(serve: Serve) -> None:
    async with shop(serve) as here:
        company = here.scene.company["id"]
        doomed = (await here.owner.made(f"/organizations/{company}/projects", {"name": "Doomed"}))["id"]
        napping = await here.workflow("nap", "do: [{nap: {wait: {hours: 1}}}]", project=doomed, deploy=True)
        after = "schedule: {after: {seconds: 1}}\ndo: [{say: {set: {x: 1}}}]"
        busy = await here.workflow("busy", after, project=doomed, deploy=True)
        id_ = await here.trigger(napping)
        await here.at(id_, "nap")
        await here.started(busy)
        assert (await here.owner.delete(f"/projects/{doomed}")).status_code == 409
        assert (await here.owner.delete(f"/projects/{doomed}", params={"force": "true"})).status_code == 204
        assert (await here.owner.get(f"/executions/{id_}")).status_code == 404
        # Nobody else notices.
        assert await here.output(await here.workflow("quick", "do: [{say: {set: {x: 1}}}]")) == {"x": 1}

        async def is_ready() -> bool:
            return (await here.scene.client.get("/readyz")).status_code == 200

        await came(is_ready)


async def test_a_definition_that_cannot_run_any_more_fails_its_execution_and_says_so(serve: Serve) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("aged", "do: [{say: {set: {x: 1}}}]", deploy=True)
        async with here.scene.parts.database.transaction() as tx:
            await tx.run(_AGED)
    async with reopened(serve, here) as there:
        done = await there.run(workflow)
        assert done["status"] == "failed"
        assert done["error"]["type"].endswith("/configuration")
        assert done["error"]["title"] == "Not a valid definition"


async def test_metrics_say_what_the_engine_does(serve: Serve) -> None:
    async with shop(serve) as here:
        napping = await here.workflow("nap", "do: [{nap: {wait: {hours: 1}}}]", metadata="{concurrency: 1}")
        first = await here.trigger(napping)
        await here.trigger(napping)
        await here.at(first, "nap")

        async def told() -> bool:
            text = (await here.scene.client.get("/metrics")).text
            lines = ("penstock_engine_running 1.0", "penstock_engine_waiting 1.0", "penstock_engine_lease_held 1.0")
            return all(line in text.splitlines() for line in lines)

        await came(told)
        text = (await here.scene.client.get("/metrics")).text
        assert 'penstock_engine_executions_total{status="completed"}' in text
        assert "penstock_engine_commit_seconds_count" in text
