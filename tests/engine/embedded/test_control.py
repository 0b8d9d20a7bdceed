"""Cancelling, pausing, going on, and running again."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from penstock.engine.embedded import statements
from penstock.engine.embedded.host import EmbeddedHost
from penstock.engine.embedded.tenure import Tenure
from penstock.storage import Statement
from penstock.storage.platform_tables import steps
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import reopened, shop
from tests.engine.tasks.http_peer import served
from tests.platform.records import database_of

pytestmark = pytest.mark.anyio
_RACE = """
do:
  - both:
      fork:
        compete: COMPETE
        branches:
          - quick: {do: [{warm: {set: {}}}, {hear: {listen: {to: {one: {with: {type: go}}}}, output: {as: OUTPUT}}}]}
          - slow: {do: [{early: {set: {}}}, {rest: {wait: {hours: 1}}}]}
"""
# A moment after all others: what had ended the fork was known, but the other branch was not given up yet.
_BEGAN_LAST = Statement(
    update(steps)
    .where(steps.c.step_name == "rest")
    .values(sequence_num=99, started_at=select(func.max(steps.c.completed_at)).scalar_subquery())
)


class Peer:
    """Counts calls by path; whoever calls `/slow` waits until they leave."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.left = False
        self.url = ""

    async def answer(self, request: Request) -> Any:
        self.calls.append(request.url.path)
        if request.url.path != "/slow":
            return JSONResponse({"calls": len(self.calls)}, 500 if request.url.path == "/broken" else 200)
        return StreamingResponse(self._drip())

    async def _drip(self) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b" "
                await asyncio.sleep(0.02)
        finally:
            self.left = True


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    with served(Starlette(routes=[Route("/{path:path}", made.answer)])) as made.url:
        yield made


def _call(peer: Peer, path: str) -> str:
    return f"{{call: http, with: {{method: get, endpoint: '{peer.url}/{path}'}}}}"


async def test_a_cancelled_call_is_aborted_and_its_step_says_so(serve: Serve, peer: Peer) -> None:
    async with shop(serve) as here:
        workflow = await here.workflow("slow", f"do: [{{first: {{set: {{a: 1}}}}}}, {{fetch: {_call(peer, 'slow')}}}]")
        id_ = await here.trigger(workflow)
        await came(lambda: _so("/slow" in peer.calls))
        answer = await here.post(f"/executions/{id_}/cancel")
        assert answer.status_code == 200
        assert answer.json()["status"] == "cancelled"
        await came(lambda: _so(peer.left))
        assert [each["status"] for each in await here.steps(id_)] == ["completed", "cancelled"]
        assert (await here.post(f"/executions/{id_}/cancel")).status_code == 409


async def _so(it: bool) -> bool:
    return it


_WAITING = {
    "sleeping": "do: [{rest: {wait: {hours: 1}}}]",
    "listening": "do: [{rest: {listen: {to: {one: {with: {type: never}}}}}}]",
    "retrying": """
do:
  - rest:
      try: [{fail: {raise: {error: {type: https://shop.example/oops, status: 500}}}}]
      catch: {retry: {delay: {hours: 1}, limit: {attempt: {count: 5}}}}""",
    "branching": "do: [{rest: {fork: {branches: [{a: {wait: {hours: 1}}}, {b: {wait: {hours: 2}}}]}}}]",
}


async def test_whatever_waits_can_be_cancelled_and_leaves_no_step_open(serve: Serve) -> None:
    async with shop(serve) as here:
        ids = {name: await here.trigger(await here.workflow(name, rest)) for name, rest in _WAITING.items()}
        single = await here.workflow("single", _WAITING["sleeping"], metadata="{concurrency: 1}")
        ids |= {"working": await here.trigger(single), "pending": await here.trigger(single)}
        for name in (*_WAITING, "working"):
            await here.at(ids[name], "rest")
        assert (await here.execution(ids["pending"]))["status"] == "pending"
        assert (await here.post(f"/executions/{ids['sleeping']}/pause")).status_code == 200
        for name in ("pending", *_WAITING, "working"):
            answer = (await here.post(f"/executions/{ids[name]}/cancel")).json()
            assert (answer["status"], answer["error"]) == ("cancelled", None), name
            steps = await here.steps(ids[name])
            assert all(each["completed_at"] <= answer["completed_at"] for each in steps), name
            left = {each["status"] for each in steps} - {"completed", "cancelled", "failed"}
            assert not left, name
        # The place of those that were cancelled is free.
        again = await here.trigger(single)
        await here.at(again, "rest")


async def test_nothing_begins_while_an_execution_is_paused_not_even_after_a_restart(serve: Serve) -> None:
    tasks = "do: [{ask: {listen: {to: {one: {with: {type: go}}}}}}, {then: {set: {done: true}}}]"
    async with shop(serve) as here:
        workflow = await here.workflow("asking", tasks, metadata="{concurrency: 1}")
        first, second = await here.trigger(workflow), await here.trigger(workflow)
        await here.at(first, "ask")
        for id_ in (first, second):
            answer = await here.post(f"/executions/{id_}/pause")
            assert answer.status_code == 200
            assert "paused_at" in answer.json()["metadata"]
        await here.send("go")
        await came(lambda: _completed(here, first, "ask"))
    async with reopened(serve, here) as there:
        other = await there.workflow("other", "do: [{say: {set: {x: 1}}}]")
        assert await there.output(other) == {"x": 1}  # the engine goes on with others
        assert [each["step_name"] for each in await there.steps(first)] == ["ask"]
        assert (await there.execution(first))["status"] == "running"
        assert (await there.post(f"/executions/{first}/resume")).json()["metadata"] == {}
        assert (await there.ended(first))["output_data"] == {"done": True}
        # The other one has its turn now, and begins nothing.
        assert (await there.post(f"/executions/{second}/cancel")).json()["status"] == "cancelled"
        assert await there.steps(second) == []
        assert (await there.post(f"/executions/{second}/resume")).status_code == 409
        # Whatever is told of them bears the name that the specification gives an execution, also before it has begun.
        told = (await there.owner.get(f"/workflows/{workflow}/events", params={"page_size": 100})).json()["items"]
        names = {each["data"].get("name", each["data"].get("workflow")) for each in told}
        assert names == {f"asking-{first}.shop", f"asking-{second}.shop"}


async def _completed(here: Any, execution: str, step: str) -> bool:
    return any(each["step_name"] == step and each["status"] == "completed" for each in await here.steps(execution))


async def test_who_is_paused_finishes_what_is_under_way_also_after_a_restart(serve: Serve) -> None:
    tasks = "do: [{inside: {do: [{ask: {listen: {to: {one: {with: {type: go}}}}}}, {then: {set: {done: true}}}]}}]"
    async with shop(serve) as here:
        id_ = await here.trigger(await here.workflow("asking", tasks))
        await here.listens(id_)
        assert (await here.post(f"/executions/{id_}/pause")).status_code == 200
    async with reopened(serve, here) as there:
        await there.send("go")
        await came(lambda: _completed(there, id_, "ask"))
        assert [each["step_name"] for each in await there.steps(id_)] == ["inside", "ask"]
        assert (await there.post(f"/executions/{id_}/resume")).status_code == 200
        assert (await there.ended(id_))["output_data"] == {"done": True}


async def test_who_is_paused_between_two_steps_begins_none_of_them(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shop(serve) as here:
        turns: list[str] = []

        async def paused_meanwhile(host: EmbeddedHost) -> None:
            turns.append(host.execution_id)
            if len(turns) == 2:
                assert (await here.post(f"/executions/{host.execution_id}/pause")).status_code == 200

        monkeypatch.setattr(EmbeddedHost, "_turn_is_long", lambda _: True)
        monkeypatch.setattr(EmbeddedHost, "_breathe", paused_meanwhile)
        workflow = await here.workflow("two", "do: [{one: {set: {n: 1}}}, {other: {set: {n: 2}}}]")
        id_ = await here.trigger(workflow)
        await here.paused(id_)
        assert (await here.post(f"/executions/{id_}/resume")).status_code == 200
        await here.ended(id_)
        told = (await here.owner.get(f"/workflows/{workflow}/events?page_size=100")).json()["items"]
        wanted = {"task.created", "workflow.suspended", "workflow.resumed"}
        types = [each["type"] for each in sorted(told, key=lambda each: each["id"]) if each["type"] in wanted]
        assert types == ["task.created", "workflow.suspended", "workflow.resumed", "task.created"]


async def test_what_was_asked_last_counts_also_when_another_server_asked_before(serve: Serve) -> None:
    async with shop(serve) as here:
        id_ = await here.trigger(await here.workflow("napper", "do: [{nap: {wait: {hours: 1}}}]"))
        await here.at(id_, "nap")
        database = database_of(here.scene.client)
        for before, last in (("pause", "resume"), ("resume", "pause")):
            async with database.transaction() as tx:
                await tx.run(statements.ASK, id_=id_, what=before)
            assert (await here.post(f"/executions/{id_}/{last}")).status_code == 200

            async def seen_to() -> bool:
                row = await database.one(statements.ENDED, id=id_)
                return row is not None and row["asked"] is None

            await came(seen_to)
            assert ("paused_at" in (await here.execution(id_))["metadata"]) == (last == "pause")


async def test_what_is_asked_elsewhere_does_not_wait_for_a_cancellation_that_takes_its_time(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, over, cancel = asyncio.Event(), asyncio.Event(), Tenure.cancel

    async def slowly(self: Tenure, execution_id: str) -> None:
        begun.set()
        await over.wait()
        await cancel(self, execution_id)

    monkeypatch.setattr(Tenure, "cancel", slowly)
    async with shop(serve) as here:
        workflow = await here.workflow("napper", "do: [{nap: {wait: {hours: 1}}}]")
        doomed, other = [await here.trigger(workflow) for _ in range(2)]
        await here.at(doomed, "nap")
        database = database_of(here.scene.client)
        async with database.transaction() as tx:
            await tx.run(statements.ASK, id_=doomed, what="cancel")
        await begun.wait()
        async with database.transaction() as tx:
            await tx.run(statements.ASK, id_=other, what="pause")
        await here.paused(other)
        over.set()
        assert (await here.ended(doomed))["status"] == "cancelled"


async def test_a_rerun_goes_on_from_the_step_and_performs_nothing_before_it_again(serve: Serve, peer: Peer) -> None:
    tasks = f"""
use: {{secrets: [token]}}
do:
  - one: {_call(peer, "one")}
  - hold: {{set: {{token: '${{ $secrets.token }}'}}}}
  - loop:
      for: {{each: item, in: '[1, 2]'}}
      do:
        - two: {_call(peer, "two")}
  - attempt:
      try: [{{three: {_call(peer, "broken")}}}]
      catch: {{do: [{{mend: {{set: {{mended: true, length: '${{ $secrets.token | length }}'}}}}}}]}}
  - both:
      fork: {{branches: [{{left: {_call(peer, "left")}}}, {{right: {_call(peer, "right")}}}]}}
"""
    async with shop(serve) as here:
        await here.secret("token", "open sesame")
        workflow = await here.workflow("paying", tasks)
        old = await here.run(workflow, {"order": 1})
        assert old["status"] == "completed", old
        first = sorted(peer.calls)
        assert first == ["/broken", "/left", "/one", "/right", "/two", "/two"]
        references = {each["step_name"]: each["reference"] for each in await here.steps(old["id"])}

        async def rerun(name: str | None) -> list[str]:
            peer.calls.clear()
            body = None if name is None else {"from": references[name]}
            new = (await here.owner.post(f"/executions/{old['id']}/rerun", body)).json()
            assert new["metadata"]["rerun_of"] == old["id"]
            done = await here.ended(new["id"])
            assert done["status"] == "completed", done
            assert done["trigger_data"] == {"order": 1}
            return sorted(peer.calls)

        assert await rerun(None) == first
        assert await rerun("hold") == ["/broken", "/left", "/right", "/two", "/two"]
        assert await rerun("two") == ["/broken", "/left", "/right", "/two", "/two"]
        assert await rerun("mend") == ["/left", "/right"]
        assert set(await rerun("right")) in ({"/right"}, {"/left", "/right"})

        unknown = await here.post(f"/executions/{old['id']}/rerun", {"from": "/do/9/nothing"})
        assert unknown.status_code == 400
        sleeper = await here.trigger(await here.workflow("sleeper", _WAITING["sleeping"]))
        assert (await here.post(f"/executions/{sleeper}/rerun")).status_code == 409


async def test_a_rerun_from_what_was_done_for_an_event_waits_for_new_events(serve: Serve) -> None:
    tasks = """
do:
  - first: {set: {n: 1}}
  - ask:
      listen: {to: {any: [{with: {type: item}}], until: length == 2}}
      foreach: {item: event, do: [{look: {set: {seen: '${ $event }'}}}, {keep: {set: {got: '${ .seen }'}}}]}
"""
    async with shop(serve) as here:
        workflow = await here.workflow("asking", tasks)
        id_ = await here.trigger(workflow)
        await here.at(id_, "ask")
        for number in (1, 2):
            await here.send("item", number, id=str(number))
        assert (await here.ended(id_))["output_data"] == [{"got": 1}, {"got": 2}]
        reference = next(each["reference"] for each in await here.steps(id_) if each["step_name"] == "keep")
        again = (await here.owner.post(f"/executions/{id_}/rerun", {"from": reference})).json()["id"]
        await here.at(again, "ask")
        for number in (3, 4):
            await here.send("item", number, id=str(number))
        assert (await here.ended(again))["output_data"] == [{"got": 3}, {"got": 4}]


async def test_a_rerun_comes_to_its_step_whatever_another_branch_did_meanwhile(serve: Serve) -> None:
    """It won the race, or failed: both ended the fork in the old execution, and must not end it in the new one."""
    failing = "{raise: {error: {type: 'https://shop.example/broken', status: 500}}}"
    async with shop(serve) as here:
        for name, compete, last in (("racing", "true", "{set: {won: true}}"), ("failing", "false", failing)):
            branches = f"""[
              {{quick: {{do: [{{hear: {{listen: {{to: {{one: {{with: {{type: {name}}}}}}}}}}}}}, {{last: {last}}}]}}}},
              {{slow: {{do: [{{early: {{set: {{}}}}}}, {{rest: {{wait: {{hours: 1}}}}}}]}}}}]"""
            workflow = await here.workflow(
                name, f"do: [{{both: {{fork: {{compete: {compete}, branches: {branches}}}}}}}]"
            )
            old = await here.trigger(workflow)
            await here.at(old, "rest")
            await here.at(old, "hear")
            await here.send(name, 1, id=name)
            await here.ended(old)
            reference = next(each["reference"] for each in await here.steps(old) if each["step_name"] == "rest")
            new = (await here.owner.post(f"/executions/{old}/rerun", {"from": reference})).json()["id"]
            await here.at(new, "rest")
            await here.at(new, "hear")
            steps = {each["step_name"]: each["status"] for each in await here.steps(new)}
            assert steps == {
                "early": "completed", "both": "running", "quick": "running", "slow": "running",
                "rest": "running", "hear": "running",
            }  # fmt: skip
            assert (await here.post(f"/executions/{new}/cancel")).status_code == 200


@pytest.mark.parametrize(("compete", "output"), [("true", "."), ("false", "error")], ids=["won", "failed"])
async def test_a_rerun_comes_to_a_step_that_began_when_another_branch_had_just_ended_the_fork(
    serve: Serve, compete: str, output: str
) -> None:
    async with shop(serve) as here:
        tasks = _RACE.replace("COMPETE", compete).replace("OUTPUT", output)
        old = await here.trigger(await here.workflow("racing", tasks))
        await here.at(old, "rest")
        await here.at(old, "hear")
        await here.send("go")
        await here.ended(old)
        async with database_of(here.scene.client).transaction() as tx:
            await tx.run(_BEGAN_LAST)
        reference = next(each["reference"] for each in await here.steps(old) if each["step_name"] == "rest")
        new = (await here.owner.post(f"/executions/{old}/rerun", {"from": reference})).json()["id"]
        await here.at(new, "rest")
        await here.at(new, "hear")
        ended = {each["step_name"] for each in await here.steps(new) if each["status"] == "completed"}
        assert ended == {"early", "warm"}
