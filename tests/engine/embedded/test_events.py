"""Events: who is told of them, once, also across a restart; and where emitted ones go."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from sqlalchemy import func, select, update
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.engine.embedded import sinks
from penstock.engine.embedded.host import EmbeddedHost
from penstock.engine.embedded.inbox import Inbox
from penstock.engine.embedded.listener import Listener
from penstock.engine.host import Step
from penstock.storage import Statement
from penstock.storage.engine_tables import inbox
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, reopened, shop
from tests.engine.tasks.http_peer import served

pytestmark = pytest.mark.anyio

_ONE = "do: [{ask: {listen: {to: {one: {with: {type: %s}}}}}}]"
_EXPIRE = Statement(update(inbox).values(expires_at=0, received_at=0))
_UNHANDLED = Statement(select(func.count()).select_from(inbox).where(inbox.c.handled.is_(False)))


async def _all_handled(here: Shop) -> bool:
    row = await here.scene.parts.database.one(_UNHANDLED)
    return row is not None and row[0] == 0


async def test_every_listener_gets_an_event_once_and_those_of_other_projects_never(serve: Serve) -> None:
    async with shop(serve) as here:
        company = here.scene.company["id"]
        elsewhere = (await here.owner.made(f"/organizations/{company}/projects", {"name": "Other"}))["id"]
        ask = await here.workflow("ask", _ONE % "placed")
        stranger = await here.workflow("stranger", _ONE % "placed", project=elsewhere)
        emitter = await here.workflow(
            "emitter",
            "do: [{tell: {emit: {event: {with: {source: 'https://x.example', type: placed, data: {n: 1}}}}}}]",
        )
        first, second, other = await here.trigger(ask), await here.trigger(ask), await here.trigger(stranger)
        await here.listens(first, second, other)
        await here.run(emitter)
        assert (await here.ended(first))["output_data"] == [{"n": 1}]
        assert (await here.ended(second))["output_data"] == [{"n": 1}]
        # It was consumed: who listens later waits for the next one.
        third = await here.trigger(ask)
        await here.listens(third)
        await here.send("placed", {"n": 2})
        assert (await here.ended(third))["output_data"] == [{"n": 2}]
        assert (await here.execution(other))["status"] == "running"


async def test_an_event_that_came_first_is_kept_until_it_expires(serve: Serve) -> None:
    async with shop(serve) as here:
        await here.send("early", {"n": 1})
        await here.send("late", {"n": 2})
        await came(lambda: _all_handled(here))
        assert await here.output(await here.workflow("early", _ONE % "early")) == [{"n": 1}]
        async with here.scene.parts.database.transaction() as tx:
            await tx.run(_EXPIRE)
        late = await here.trigger(await here.workflow("late", _ONE % "late"))
        await here.at(late, "ask")
        await here.send("late", {"n": 3})
        assert (await here.ended(late))["output_data"] == [{"n": 3}]


async def test_who_is_back_last_after_a_restart_hears_what_the_others_have_consumed_meanwhile(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    listens, may_listen = Inbox.listen, asyncio.Event()

    @asynccontextmanager
    async def late(self: Inbox, host: EmbeddedHost, step: Step) -> AsyncIterator[Listener]:
        if host.execution.id == second:
            await may_listen.wait()
        async with listens(self, host, step) as found:
            yield found

    async with shop(serve) as here:
        ask = await here.workflow("ask", _ONE % "placed")
        await here.send("placed", {"n": 1}, id="before")
        assert (await here.run(ask))["output_data"] == [{"n": 1}]
        first, second = await here.trigger(ask), await here.trigger(ask)
        await here.listens(first, second)
    monkeypatch.setattr(Inbox, "listen", late)
    async with reopened(serve, here) as there:
        await there.send("placed", {"n": 2}, id="meanwhile")
        assert (await there.ended(first))["output_data"] == [{"n": 2}]
        await came(lambda: _all_handled(there))
        may_listen.set()
        assert (await there.ended(second))["output_data"] == [{"n": 2}]


_ALL = """
do:
  - ask:
      listen:
        to:
          all:
            - with: {type: paid}
              correlate: {order: {from: .data.order}}
            - with: {type: packed}
              correlate: {order: {from: .data.order}}
"""
_MANY = """
do:
  - ask:
      listen:
        to: {any: [{with: {type: item}}], until: {one: {with: {type: done}}}}
      foreach:
        item: event
        do: [{keep: {set: {n: '${ $event.n * 2 }'}}}]
"""


async def test_what_a_listener_has_consumed_counts_after_a_restart_and_is_not_done_again(serve: Serve) -> None:
    async with shop(serve) as here:
        both = await here.trigger(await here.workflow("both", _ALL))
        many = await here.trigger(await here.workflow("many", _MANY))
        for id_ in (both, many):
            await here.at(id_, "ask")
        await here.send("paid", {"order": 7})
        await here.send("packed", {"order": 8})
        await here.send("item", {"n": 1})
        await came(lambda: _all_handled(here))
    async with reopened(serve, here) as there:
        await there.send("item", {"n": 2}, id="second")
        await there.send("packed", {"order": 7}, id="right")
        await there.send("done")
        assert (await there.ended(both))["output_data"] == [{"order": 7}, {"order": 7}]
        assert (await there.ended(many))["output_data"] == [{"n": 2}, {"n": 4}]
        assert [each["step_name"] for each in await there.steps(many)] == ["ask", "keep", "keep"]


async def test_that_all_has_come_is_told_once_also_by_who_was_at_work_on_the_last_at_a_restart(serve: Serve) -> None:
    inner = "{inner: {listen: {to: {one: {with: {type: last}}}}}}"
    tasks = f"do: [{{outer: {{listen: {{to: {{one: {{with: {{type: first}}}}}}}}, foreach: {{do: [{inner}]}}}}}}]"
    async with shop(serve) as here:
        workflow = await here.workflow("nested", tasks)
        id_ = await here.trigger(workflow)
        await here.listens(id_)
        await here.send("first")
        await here.at(id_, "inner")
    async with reopened(serve, here) as there:
        await there.send("last")
        assert (await there.ended(id_))["status"] == "completed"
        told = (await there.owner.get(f"/workflows/{workflow}/events", params={"page_size": 100})).json()["items"]
        completed = sorted(each["step_name"] for each in told if each["type"] == "workflow.correlation-completed")
        assert completed == ["inner", "outer"]


async def test_a_workflow_starts_when_all_its_events_have_come_once_and_not_again_after_a_restart(serve: Serve) -> None:
    on = "schedule: {on: {all: [{with: {type: a}}, {with: {type: b}}]}}\ndo: [{keep: {set: '${ $workflow.input }'}}]"
    async with shop(serve) as here:
        workflow = await here.workflow("both", on, deploy=True)
        single = await here.workflow(
            "single", "schedule: {on: {one: {with: {type: b}}}}\ndo: [{keep: {set: {x: 1}}}]", deploy=True
        )
        about = "correlate: {order: {from: .data.order}}"
        paired = await here.workflow(
            "paired",
            f"schedule: {{on: {{all: [{{with: {{type: paid}}, {about}}}, {{with: {{type: packed}}, {about}}}]}}}}\n"
            "do: [{keep: {set: {x: 1}}}]",
            deploy=True,
        )
        await here.send("a", 1)
        for number, type_ in enumerate(("paid", "paid", "packed", "paid")):
            await here.send(type_, {"order": (7, 8, 9, 8)[number]}, id=f"{number}")
        await came(lambda: _all_handled(here))
        assert await here.executions(workflow) == []
        assert await here.executions(paired) == []
    async with reopened(serve, here) as there:
        await there.send("b", 2)
        done = (await there.started(workflow))[0]
        assert (done["trigger_type"], done["metadata"]["events"]) == ("event", ["a", "b"])
        assert [each["data"] for each in done["trigger_data"]] == [1, 2]
        # Orders wait side by side, each for its own event: one that never comes keeps nobody else waiting.
        await there.send("packed", {"order": 8}, id="8 packed")
        await there.send("paid", {"order": 9}, id="9 paid")
        await came(lambda: _all_handled(there))
        found = await there.started(paired, 2)
        assert sorted(each["metadata"]["events"] for each in found) == [["1", "8 packed"], ["2", "9 paid"]]
    async with reopened(serve, here) as there:
        await there.send("b", 3, id="again")
        assert len(await there.started(single, 2)) == 2
        await there.send("a", 4, id="again")
        found = await there.started(workflow, 2)
        assert [[each["data"] for each in run["trigger_data"]] for run in found] == [[1, 2], [3, 4]]
        # Stopped, it hears nothing any more.
        assert (await there.post(f"/workflows/{single}/stop")).status_code == 200
        await there.send("b", 5, id="late")
        await came(lambda: _all_handled(there))
        assert len(await there.executions(single)) == 2


class Sink:
    def __init__(self) -> None:
        self.asked = 0
        self.taken: list[Any] = []
        self.url = ""

    async def answer(self, request: Request) -> Response:
        self.asked += 1
        if self.asked == 1:
            return Response(status_code=503)
        assert request.headers["content-type"] == "application/cloudevents+json"
        self.taken.append(await request.json())
        return Response(status_code=204)


@pytest.fixture
def sink() -> Iterator[Sink]:
    made = Sink()
    with served(Starlette(routes=[Route("/", made.answer, methods=["POST"])])) as made.url:
        yield made


async def test_an_emitted_event_goes_to_the_sink_again_when_it_was_not_taken(
    serve: Serve, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sinks, "_FIRST_PAUSE", 0.01)
    async with shop(serve, event_sinks=[f"{sink.url}/"]) as here:
        emit = "do: [{tell: {emit: {event: {with: {source: 'https://x.example', type: told, data: {n: 1}}}}}}]"
        done = await here.run(await here.workflow("emitter", emit))
        await here.send("from outside")
        await came(lambda: _all_handled(here))
        await came(lambda: _has_taken(sink))
        assert sink.taken == [done["output_data"]]
        assert sink.asked == 2
        assert sink.taken[0]["specversion"] == "1.0"


_COUNT = """
do:
  - ask:
      listen: {to: {any: [{with: {type: n}}], until: length >= 500}}
      output: {as: '[first, last, length]'}
"""


async def _has_taken(sink: Sink) -> bool:
    return bool(sink.taken)


async def test_hundreds_of_events_for_one_who_listens_come_in_their_order(serve: Serve) -> None:
    async with shop(serve) as here:
        id_ = await here.trigger(await here.workflow("many", _COUNT))
        batch = {"content-type": "application/cloudevents-batch+json"}
        base = {"specversion": "1.0", "source": "https://x.example", "type": "n"}
        for begin in (0, 250):
            events = [base | {"id": str(number), "data": number} for number in range(begin, begin + 250)]
            await here.owner.post(f"/projects/{here.project}/events", events, headers=batch)
        assert (await here.ended(id_))["output_data"] == [0, 499, 500]
