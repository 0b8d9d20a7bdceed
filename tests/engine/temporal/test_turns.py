"""Where more waits than workers can do, each workflow has its turn."""

import asyncio
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from temporalio.client import Client
from temporalio.service import RPCError

from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_MANY = 60


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_one_execution_of_a_workflow_does_not_wait_for_all_of_another_that_came_before(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    calls: list[str] = []
    all_asked, again = False, False

    async def answer(request: Request) -> Any:
        """Calls are what there are too few hands for. None is answered before all are in line, and those of the other
        workflow not while the one computes between its calls: how long that takes is another matter."""
        whose = request.path_params["whose"]
        calls.append(whose)
        while not all_asked or (whose == "many" and "one" in calls and not again):
            await asyncio.sleep(0.01)
        return JSONResponse({})

    with served(Starlette(routes=[Route("/{whose}", answer)])) as url:

        async def two_calls(name: str) -> str:
            call = f"{{call: http, with: {{method: get, endpoint: '{url}/{name}'}}}}"
            return await here.workflow(name, f"do: [{{first: {call}}}, {{second: {call}}}]")

        scarce = {"worker_workflows": 2, "worker_activities": 1}
        async with serve(**on_temporal) as client, working(database=database_url, **on_temporal, **scarce) as cluster:
            here = Shop(await set_up(client))
            many, one = await two_calls("many"), await two_calls("one")
            for _ in range(_MANY):
                await here.trigger(many)
            late = await here.trigger(one)
            await came(lambda: _is_known(cluster, late))
            all_asked = True
            await came(lambda: _is_in_line(here, cluster, late))
            again = True
            assert (await here.ended(late))["status"] == "completed"
    before = calls[: len(calls) - calls[::-1].index("one")].count("many")
    assert before < _MANY / 2, f"{before} calls of the {2 * _MANY} of the other workflow came before its second"


async def _is_known(cluster: Client, execution: str) -> bool:
    """It waits for its turn, as the others do."""
    try:
        await cluster.get_workflow_handle(execution).describe()
    except RPCError:
        return False
    return True


async def _is_in_line(here: Shop, cluster: Client, execution: str) -> bool:
    """Its second call, which may have been made by now."""
    second = [each["status"] for each in await here.steps(execution) if each["step_name"] == "second"]
    described = await cluster.get_workflow_handle(execution).describe()
    return bool(second) and (second == ["completed"] or len(described.raw_description.pending_activities) == 1)
