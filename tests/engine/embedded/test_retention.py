"""What has ended long ago goes, and the numbers that people see go with it."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from penstock.engine.embedded.retention import sweep_executions, sweep_inbox
from penstock.platform.retention import Retention
from penstock.settings import Settings
from penstock.storage import Statement, now
from penstock.storage.engine_tables import inbox
from penstock.storage.platform_tables import events, executions, log_entries, steps
from tests.conftest import Serve
from tests.engine.embedded.running import came, ended
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_TABLES = (executions, steps, events, log_entries)


async def _rows(database: Any, *tables: Any) -> list[int]:
    counts = (Statement(select(func.count()).select_from(table)) for table in tables or _TABLES)
    return [(await database.one(count))[0] for count in counts]


async def test_an_ended_execution_goes_with_all_that_was_said_of_it(
    serve: Serve, settings_with: Callable[..., Settings]
) -> None:
    async with serve(engine="embedded") as client:
        scene = await set_up(client)
        workflow = await scene.workflow()
        for _ in range(3):
            execution = (await scene.owner.post(f"/workflows/{workflow['id']}/trigger")).json()
            await ended(scene.owner, execution["id"])
        database = scene.parts.database
        assert min(await _rows(database)) >= 3

        await Retention(settings_with(execution_retention="1h"), database).sweep()
        assert min(await _rows(database)) >= 3

        assert await sweep_executions(database, now() + 1) == 3
        assert await _rows(database) == [0, 0, 0, 0]
        for what in ("executions", "events", "logs"):
            answer = (await scene.owner.get(f"/workflows/{workflow['id']}/{what}")).json()
            assert answer["items"] == []
            assert answer["total"] == 0
        dashboard = (await scene.owner.get(f"/workflows/{workflow['id']}/dashboard")).json()
        assert set(dashboard["execution_counts"].values()) == {0}
        assert set(dashboard["log_counts"].values()) == {0}


async def _swept(database: Any) -> bool:
    """An event that is still being offered stays; that takes a moment."""
    await sweep_inbox(database, at=now() + 61_000_000)
    return await _rows(database, inbox) == [0]


async def test_events_that_nobody_wants_go_when_their_time_is_up(serve: Serve) -> None:
    async with serve(engine="embedded", event_ttl="0s") as client:
        scene = await set_up(client)
        event = {"specversion": "1.0", "id": "1", "source": "https://shop.example", "type": "order.placed"}
        answer = await scene.owner.post(
            f"/projects/{scene.project['id']}/events",
            json=event,
            headers={"content-type": "application/cloudevents+json"},
        )
        assert answer.status_code == 202, answer.text
        database = scene.parts.database
        assert await _rows(database, inbox) == [1]
        await sweep_inbox(database)
        # Whoever is about to consume it gets a minute.
        assert await _rows(database, inbox) == [1]
        await came(lambda: _swept(database))
