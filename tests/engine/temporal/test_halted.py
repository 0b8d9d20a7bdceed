"""A worker that is halted for seconds, as machines do that are busy, or moved: it goes on where it was."""

import time
from typing import Any

import pytest

from penstock.engine.temporal.host import TemporalHost
from tests.conftest import Serve
from tests.engine.embedded.shop import Shop
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_TASKS = "do: [{print: {run: {shell: {command: echo done}}}}]"
_HALTED = 2.5  # seconds; after two, Temporal's package takes a walk for stuck


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
async def test_a_walk_that_was_halted_goes_on_and_is_not_broken_off_and_its_worker_ends_when_it_is_told_to(
    serve: Serve, database_url: str, on_temporal: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    was_halted, goes_on = False, False

    async def halted(self: TemporalHost, *given: Any, performs: Any = TemporalHost.perform) -> Any:
        nonlocal was_halted, goes_on
        if not was_halted:
            was_halted = True
            time.sleep(_HALTED)
            goes_on = True
        return await performs(self, *given)

    monkeypatch.setattr(TemporalHost, "perform", halted)
    async with serve(processes=["shell"], **on_temporal) as client, working(database=database_url, **on_temporal):
        here = Shop(await set_up(client))
        ended = await here.run(await here.workflow("halted", _TASKS))
        assert ended["status"] == "completed", ended
        assert goes_on
