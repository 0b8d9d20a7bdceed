"""One engine runs on a database; another server serves meanwhile, and takes over when the first is gone."""

import asyncio
import math
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from penstock.engine.embedded import lease
from penstock.engine.embedded.lease import Lease, LeaseLost
from penstock.storage import Database, Unavailable, open_database
from penstock.streams import ExecutionChange, append
from tests.acceptance.server import PATIENCE, halt
from tests.engine.embedded.servers import Node, Project, node, project_on, until
from tests.engine.tasks.http_peer import served

pytestmark = pytest.mark.anyio

ROUNDS = 12

LISTENER = "do: [{hear: {listen: {to: {one: {with: {type: test.said}}}}, output: {as: '${ {heard: .[0]} }'}}}]"
SLEEPER = "do: [{sleep: {wait: {hours: 1}}}]"
QUICK = "do: [{one: {set: {n: '${ .n + 1 }'}}}]"
# Calls one after the other, so that there is always exactly one under way.
CALLER = """
do:
  - zero: {set: {n: 1, count: 0}}
  - rounds:
      for: {each: item, in: '${ [range(ROUNDS)] }'}
      do:
        - one:
            call: http
            with: {method: get, endpoint: SERVICE}
            output: {as: '${ $input + {count: ($input.count + 1)} }'}
"""


class Service:
    """Counts calls by their key, and answers the first three; the others wait until it may answer more."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.answers = 3.0
        self.url = ""

    @property
    def calls(self) -> int:
        return len(self.keys)

    @property
    def calls_again(self) -> int:
        return self.calls - len(set(self.keys))

    async def answer(self, request: Request) -> JSONResponse:
        self.keys.append(request.headers["Idempotency-Key"])
        number = self.calls
        while number > self.answers:
            await asyncio.sleep(0.02)
        return JSONResponse({})


@pytest.fixture
def service() -> Iterator[Service]:
    made = Service()
    with served(Starlette(routes=[Route("/", made.answer)])) as made.url:
        yield made
        made.answers = math.inf


def caller(service: Service) -> str:
    return CALLER.replace("SERVICE", service.url).replace("ROUNDS", str(ROUNDS))


@asynccontextmanager
async def pair(tmp_path: Path, database_url: str) -> AsyncIterator[tuple[Node, Node, Project]]:
    """The first one runs the engine."""
    async with node(tmp_path / "one", database_url) as first:
        await until(lambda: first.turns == 1)
        async with node(tmp_path / "two", database_url) as second:
            yield first, second, await project_on(first, second)


async def test_what_is_asked_of_the_server_that_waits_is_done_by_the_one_that_runs(
    tmp_path: Path, database_url: str
) -> None:
    async with pair(tmp_path, database_url) as (first, second, project):
        quick = await project.workflow("quick", QUICK)
        sleeper = await project.workflow("sleeper", SLEEPER)
        listener = await project.workflow("listener", LISTENER)

        async with second.client.stream("GET", f"/workflows/{quick['id']}/events/stream") as stream:
            done = await second.ended(await second.trigger(quick, {"n": 1}))
            assert done["output_data"] == {"n": 2}
            async with asyncio.timeout(PATIENCE):
                async for line in stream.aiter_lines():
                    if line == "event: workflow.completed":
                        break

        asleep = await second.trigger(sleeper)
        await until(lambda: _runs(second, asleep))
        for what, paused in (("pause", True), ("pause", True), ("resume", False)):
            # It answers within seconds, with what there is by then.
            await second.made(f"/executions/{asleep}/{what}", None)
            await until(partial(_is_paused, second, asleep, paused))
        await second.made(f"/executions/{asleep}/cancel", None)
        assert (await second.ended(asleep))["status"] == "cancelled"

        hearing = await second.trigger(listener)
        await until(lambda: _runs(second, hearing))
        event = {"specversion": "1.0", "id": "1", "source": "/test", "type": "test.said", "data": 42}
        headers = {"Content-Type": "application/cloudevents+json"}
        answer = await second.client.post(f"/projects/{project.id}/events", json=event, headers=headers)
        assert answer.status_code == 202, answer.text
        assert (await second.ended(hearing))["output_data"] == {"heard": 42}
        await until(partial(_none_ran_beside_another, first, second))

        assert await first.server.stop() == 0
        await until(lambda: second.turns > 0)
        assert (await second.ended(await second.trigger(quick, {"n": 2})))["output_data"] == {"n": 3}


def _none_ran_beside_another(*nodes: Node) -> bool:
    """Whoever began to run did so when nobody had, or in the place of one that knows. A machine that halts processes
    for seconds makes them follow each other; the tests ask for one such halt, or none."""
    return sum(each.turns for each in nodes) == 1 + sum(each.says("another engine has taken over") for each in nodes)


async def _runs(at: Node, execution_id: str) -> bool:
    return bool((await at.execution(execution_id))["status"] == "running")


async def _is_paused(at: Node, execution_id: str, paused: bool) -> bool:
    return ("paused_at" in (await at.execution(execution_id))["metadata"]) is paused


async def test_one_that_comes_to_a_halt_is_followed_by_the_other_and_writes_nothing_when_it_awakes(
    tmp_path: Path, database_url: str, service: Service
) -> None:
    async with pair(tmp_path, database_url) as (first, second, project):
        quick = await project.workflow("quick", QUICK)
        calls = await first.trigger(await project.workflow("caller", caller(service)))
        await until(lambda: service.calls > 3)
        await halt(first.server, database_url)
        await until(lambda: second.turns > 0)
        # It begins what was under way again, and goes on.
        service.answers = 6
        await until(lambda: service.calls > 6)

        os.kill(first.server.process.pid, signal.SIGCONT)
        await until(lambda: first.says("another engine has taken over") > 0)
        # It serves, and the other one runs what is asked of it.
        assert (await first.ended(await first.trigger(quick, {"n": 1})))["output_data"] == {"n": 2}
        await until(partial(_none_ran_beside_another, first, second))

        await second.server.kill()
        await until(lambda: first.turns > 1)
        service.answers = math.inf
        ended = await first.ended(calls)
        assert (ended["status"], ended["output_data"]) == ("completed", {"n": 1, "count": ROUNDS})
        assert len(set(service.keys)) == ROUNDS
        # What was under way when one followed another: at the halt, and at the death.
        assert service.calls_again <= first.turns + second.turns - 1


async def test_killed_and_started_again_it_goes_on(tmp_path: Path, database_url: str, service: Service) -> None:
    async with node(tmp_path / "one", database_url) as first:
        project = await project_on(first)
        token = first.client.headers["Authorization"]
        calls = await first.trigger(await project.workflow("caller", caller(service)))
        await until(lambda: service.calls == 4)
        await first.server.kill()
    async with node(tmp_path / "one", database_url) as again:
        again.client.headers["Authorization"] = token
        await until(lambda: service.calls == 5)
        service.answers = math.inf
        assert (await again.ended(calls))["output_data"] == {"n": 1, "count": ROUNDS}
    assert (len(set(service.keys)), service.calls_again) == (ROUNDS, 1)


# The lease itself


async def test_who_was_overtaken_cannot_write(database: Database) -> None:
    one, two = Lease(database), Lease(database)
    await one.acquire()
    await one.let_go()
    await two.acquire()
    with pytest.raises(LeaseLost):
        async with database.transaction() as tx:
            await one.require(tx)
    async with database.transaction() as tx:
        assert await two.require(tx) == 1


@pytest.fixture
def nobody_is_ever_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who would wait to see that the holder is gone waits in vain."""
    monkeypatch.setattr(lease, "PATIENCE", 3600.0)


@pytest.mark.usefixtures("nobody_is_ever_missed")
async def test_who_holds_it_already_or_finds_it_given_back_or_its_holder_s_process_gone_need_not_wait_for_it(
    database: Database,
) -> None:
    one, two, three = Lease(database), Lease(database), Lease(database)
    async with asyncio.timeout(PATIENCE):
        await one.acquire()
        await one.acquire()
        await one.let_go()
        with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
            two._me = f"{lease._this_machine()} {process.pid} {lease._start_of(process.pid)} it"
            await two.acquire()
            process.kill()
        await three.acquire()
    assert (one.fence, two.fence, three.fence) == (3, 4, 5)


async def test_a_halt_of_one_who_tells_does_not_keep_others_from_telling(postgresql_url: str) -> None:
    """A server that was stopped in the middle of a trigger would hold up the engine that took over."""
    halted, other = await open_database(postgresql_url), await open_database(postgresql_url)
    change = ExecutionChange(str(uuid.UUID(int=0)), 0, None, None)

    async def say_nothing_until_another_has_told() -> None:
        async with asyncio.timeout(PATIENCE), halted.transaction() as tx:
            await append(tx, executions=[change])
            async with other.transaction() as its_own:
                await append(its_own, executions=[change])

    try:
        with pytest.raises(Unavailable):
            await say_nothing_until_another_has_told()
    finally:
        await halted.close()
        await other.close()


async def test_a_halt_within_a_transaction_does_not_keep_the_lease_from_others(postgresql_url: str) -> None:
    """PostgreSQL ends the transaction of one that says nothing more, and with it its lock on the lease."""
    halted, other = await open_database(postgresql_url), await open_database(postgresql_url)
    try:
        one = Lease(halted)
        await one.acquire()
        two = Lease(other)

        async def say_nothing_until_it_is_taken() -> None:
            async with asyncio.timeout(PATIENCE), halted.transaction() as tx:
                await one.require(tx)
                await two.acquire()

        with pytest.raises(Unavailable):
            await say_nothing_until_it_is_taken()
        assert two.fence == one.fence + 1
    finally:
        await halted.close()
        await other.close()
