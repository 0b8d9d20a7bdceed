"""A worker that was taken for lost, and comes to what it was given when another has done it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from structlog.testing import capture_logs
from temporalio import activity
from temporalio.client import Client

from penstock.engine.temporal import calls, wanted
from penstock.engine.temporal.performing import Far
from tests.conftest import Serve
from tests.engine.embedded.shop import Shop
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio


class Stalled:
    """The first attempt at a call is taken, and nothing is heard of it until it goes on."""

    def __init__(self) -> None:
        self.taken, self.goes_on, self.ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.token = b""

    async def is_given_up(self, cluster: Client) -> None:
        """As Temporal does of itself when it has heard nothing for long: whoever comes with this token is refused."""
        await self.taken.wait()
        await cluster.get_async_activity_handle(task_token=self.token).fail(RuntimeError("nothing was heard of it"))

    async def go_on(self) -> None:
        self.goes_on.set()
        async with asyncio.timeout(180):
            await self.ended.wait()


@contextmanager
def stalled() -> Iterator[Stalled]:
    first, works = Stalled(), Far._work

    @asynccontextmanager
    async def work(far: Far, asked: Any) -> AsyncIterator[Any]:
        if activity.info().attempt > 1:
            async with works(far, asked) as found:
                yield found
            return
        first.token = activity.info().task_token
        first.taken.set()
        await first.goes_on.wait()
        try:
            async with works(far, asked) as found:
                yield found
        finally:
            first.ended.set()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Far, "_work", work)
        # However busy the machine is, nothing is taken for lost by itself; and everything counts as late.
        patch.setattr(calls, "LOST_AFTER", timedelta(minutes=10))
        patch.setattr(wanted, "_LATE", timedelta(0))
        yield first


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_worker_that_comes_late_to_a_call_does_not_begin_what_another_has_done_or_nobody_wants(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    asked: list[str] = []

    async def answer(request: Request) -> Any:
        asked.append(request.url.path)
        return JSONResponse({})

    with served(Starlette(routes=[Route("/{path:path}", answer)])) as url:
        async with serve(**on_temporal) as client, working(database=database_url, **on_temporal) as cluster:
            here = Shop(await set_up(client))
            tasks = f"do: [{{ask: {{call: http, with: {{method: get, endpoint: '{url}/NAME'}}}}}}]"
            done = await here.workflow("done", tasks.replace("NAME", "done"))
            unwanted = await here.workflow("unwanted", tasks.replace("NAME", "unwanted"))
            with stalled() as first, capture_logs() as logs:
                execution = await here.trigger(done)
                await first.is_given_up(cluster)
                assert (await here.ended(execution))["status"] == "completed"  # by another
                await first.go_on()
            said = [entry["event"] for entry in logs]
            assert said.count("performed again, as nothing was heard of it") == 1
            assert said.count("not performed: it was given to another meanwhile") == 1
            with stalled() as first:
                execution = await here.trigger(unwanted)
                await first.taken.wait()
                assert (await here.post(f"/executions/{execution}/cancel")).json()["status"] == "cancelled"
                await first.go_on()
            assert asked == ["/done"]
