"""A new key beside executions under way: what Temporal has of them stays sealed with the old one."""

from typing import Any

import pytest
from sqlalchemy import select
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from penstock.storage import Database, Statement
from penstock.storage.engine_tables import temporal_payloads
from tests.conftest import Serve
from tests.engine.embedded.shop import Shop, reopened
from tests.engine.tasks.http_peer import served
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_KEPT = Statement(select(temporal_payloads.c.payload))
_LARGE = """
do:
  - send:
      call: http
      with: {method: post, endpoint: '%s', body: {large: '${ [range(5000)] | map(tostring) | join("-") }'}}
  - hear: {listen: {to: {one: {with: {type: go}}}}}
  - count: {set: '${ $input | length }'}
"""


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_what_began_under_an_old_key_goes_on_under_a_new_one_and_waits_while_the_old_one_is_missing(
    serve: Serve, database: Database, database_url: str, on_temporal: dict[str, str]
) -> None:
    old = on_temporal | {"secrets_key": "old" * 12}
    new: dict[str, Any] = on_temporal | {"secrets_key": "new" * 12}

    async def answer(_: Request) -> Any:
        return JSONResponse([1, 2, 3])

    with served(Starlette(routes=[Route("/", answer, methods=["POST"])])) as url:
        async with serve(**old) as client, working(database=database_url, **old):
            here = Shop(await set_up(client))
            id_ = await here.trigger(await here.workflow("large", _LARGE % url))
            await here.at(id_, "hear")
            before = {bytes(row[0]) for row in await database.all(_KEPT)}
            assert before
        async with reopened(serve, here, **new) as there, working(database=database_url, **new):
            await there.send("go")
            # One of its own goes by, for which the same worker has computed.
            assert (await there.run(await there.workflow("small", "do: [{a: {set: {b: 1}}}]")))["status"] == "completed"
            assert (await there.execution(id_))["status"] == "running"
        new["secrets_key_previous"] = [old["secrets_key"]]
        async with reopened(serve, here, **new) as there, working(database=database_url, **new):
            assert (await there.ended(id_))["status"] == "completed"
            assert before <= {bytes(row[0]) for row in await database.all(_KEPT)}, "what was sealed is left as it is"
