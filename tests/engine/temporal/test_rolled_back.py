"""Temporal restored to an older moment than our database: nothing that its steps have is done again; all goes on."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from temporalio.client import Client
from temporalio.service import RPCError

from penstock.engine.temporal import gone
from tests import temporal
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.test_gone import _has_ended
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_LISTENS = "{listen: {to: {one: {with: {type: %s}}}}}"
_PARENT = """
do:
  - work: {run: {workflow: {namespace: shop, name: child}}}
  - last: LAST
  - wait: WAIT
"""


class Peer:
    """Counts what it is asked; whoever asks for `held` waits until it is let go."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.url = ""
        self.is_let_go = False

    async def answer(self, request: Request) -> Any:
        self.calls[request.url.path[1:]] += 1
        while request.url.path.startswith("/held") and not self.is_let_go:
            await asyncio.sleep(0.01)
        return JSONResponse({})

    def call(self, path: str) -> str:
        return f"{{call: http, with: {{method: get, endpoint: '{self.url}/{path}'}}}}"

    def tasks(self, name: str, *others: str) -> str:
        """A call, an event, a call; and others."""
        first = [self.call(f"{name}-1"), _LISTENS % name, self.call(f"{name}-2"), *others]
        return f"do: [{', '.join(f'{{step{number}: {task}}}' for number, task in enumerate(first, 1))}]"


@pytest.fixture
def peer() -> Iterator[Peer]:
    made = Peer()
    with served(Starlette(routes=[Route("/{path:path}", made.answer)])) as made.url:
        yield made


class Cluster:
    """A Temporal server that keeps what it is told, and can be given what an older one knew."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, temporal.free_port()
        self.address = f"127.0.0.1:{self._port}"
        folder.mkdir()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        with temporal.running(self._folder, port=self._port, durable=True):
            yield

    def back_up(self) -> None:
        shutil.copytree(self._folder, self._folder.with_name("backup"))

    def restore(self) -> None:
        shutil.rmtree(self._folder)
        shutil.copytree(self._folder.with_name("backup"), self._folder)


def _tasks(peer: Peer) -> dict[str, str]:
    ask = _LISTENS % "held"
    return {
        "beyond": peer.tasks("beyond", _LISTENS % "more", peer.call("beyond-3")),
        "napping": peer.tasks("napping", "{wait: {seconds: 4}}", peer.call("napping-3")),
        "ended": peer.tasks("ended"),
        "later": peer.tasks("later"),
        "child": peer.tasks("child"),
        "parent": _PARENT.replace("LAST", peer.call("parent-1")).replace("WAIT", _LISTENS % "parent"),
        "held": f"do: [{{call: {peer.call('held')}}}, {{ask: {ask}}}, {{last: {peer.call('after')}}}]",
    }


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
async def test_what_temporal_has_forgotten_goes_on_from_its_steps_and_nothing_that_was_done_is_done_again(
    serve: Serve, database_url: str, task_queue: str, tmp_path: Path, peer: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gone, "_QUIET", 0)
    monkeypatch.setattr(gone, "_CLOCKS_DIFFER", 0)
    may_look = _held_back(monkeypatch)
    cluster = Cluster(tmp_path / "cluster")
    settings = {"engine": "temporal", "temporal_address": cluster.address, "temporal_task_queue": task_queue}
    async with serve(**settings) as client:
        here = Shop(await set_up(client))
        async with cluster.running(), working(database=database_url, **settings):
            workflows = {name: await here.workflow(name, text) for name, text in _tasks(peer).items()}
            ids = {name: await here.trigger(workflows[name]) for name in ("beyond", "napping", "ended", "parent")}
            await here.listens(*(ids[name] for name in ("beyond", "napping", "ended")))
            await came(lambda: _listens(here, workflows["child"]))
            ids["held"] = await here.trigger(workflows["held"])
            await came(lambda: _is(peer.calls["held"] == 1))
        cluster.back_up()
        async with cluster.running(), working(database=database_url, **settings) as known:
            peer.is_let_go = True
            for name in ("beyond", "napping", "ended", "child"):
                await here.send(name)
            ids["later"] = await here.trigger(workflows["later"])
            assert (await here.ended(ids["ended"]))["status"] == "completed"
            await here.at(ids["beyond"], "step4")
            await here.at(ids["parent"], "wait")
            await here.listens(ids["later"], ids["held"])
            await came(lambda: _has_begun(here, ids["napping"], "step4"))
            length = await _length(known, ids["parent"])
        held = peer.calls.pop("held")
        cluster.restore()
        async with cluster.running(), working(database=database_url, **settings) as known:
            await came(lambda: _signalled(known, ids["ended"]))
            for name in ("more", "later", "parent", "held"):
                await here.send(name)
            # However long the histories have become by then, they are those of an older moment.
            while await _length(known, ids["parent"]) <= length:
                await _signalled(known, ids["parent"])
            may_look.set()
            for name, id_ in ids.items():
                ended = await here.ended(id_)
                assert ended["status"] == "completed", (name, ended)
                steps = await here.steps(id_)
                assert {each["status"] for each in steps} == {"completed"}, name
                assert [each["sequence_num"] for each in steps] == list(range(1, len(steps) + 1)), name
            for workflow in workflows.values():
                events = (await here.owner.get(f"/workflows/{workflow}/events?page_size=100")).json()["items"]
                told = Counter((each["type"], each["execution_id"], each["step_name"]) for each in events)
                assert set(told.values()) == {1}, told
            await came(lambda: _has_ended(known, ids["ended"]))
    asked = [f"{name}-{number}" for name in ("beyond", "napping") for number in (1, 2, 3)]
    asked += [f"{name}-{number}" for name in ("ended", "later", "child") for number in (1, 2)]
    assert peer.calls == dict.fromkeys([*asked, "parent-1", "after"], 1)
    # It was under way when its worker ended, and asked once more, with the same key, before the restore.
    assert held <= 2


def _held_back(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Nobody looks for what Temporal has lost before this is set."""
    may_look = asyncio.Event()

    async def held_back(self: gone.Gone, look: Any = gone.Gone.look) -> None:
        if may_look.is_set():
            await look(self)

    monkeypatch.setattr(gone.Gone, "look", held_back)
    return may_look


async def _length(cluster: Client, execution: str) -> int:
    return (await cluster.get_workflow_handle(execution).describe()).history_length


async def _signalled(cluster: Client, execution: str) -> bool:
    """Whatever rings for it."""
    try:
        await cluster.get_workflow_handle(execution).signal("events_came")
    except RPCError:
        return False
    return True


async def _is(so: bool) -> bool:
    return so


async def _listens(here: Shop, workflow: str) -> bool:
    events = (await here.owner.get(f"/workflows/{workflow}/events?page_size=100")).json()["items"]
    return any(each["type"] == "workflow.correlation-started" for each in events)


async def _has_begun(here: Shop, execution: str, step: str) -> bool:
    return any(each["step_name"] == step for each in await here.steps(execution))
