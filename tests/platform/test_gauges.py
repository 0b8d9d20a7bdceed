"""What the metrics say of the database."""

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.platform import gauges
from penstock.platform.gauges import Gauges
from penstock.storage import now
from tests.conftest import Serve
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_HOUR = 3600


async def numbers(client: httpx.AsyncClient) -> dict[str, float]:
    text = (await client.get("/metrics")).text
    return {
        f"{sample.name} {' '.join(sample.labels.values())}".strip(): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def test_executions_that_do_not_begin_show_with_their_age(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody runs them: this server has no engine.
    async with serve(audit_retention="30m", execution_retention="0s") as client:
        scene = await set_up(client)
        workflow = await scene.workflow()
        assert (await scene.owner.post(f"/workflows/{workflow['id']}/deploy")).status_code == 200
        for _ in range(2):
            assert (await scene.owner.post(f"/workflows/{workflow['id']}/trigger", {})).status_code == 201
        monkeypatch.setattr(gauges, "now", lambda: now() + _HOUR * 1_000_000)
        await Gauges(scene.parts.settings, scene.parts.database).look()
        found = await numbers(client)
    assert found["penstock_executions_unended pending"] == 2
    assert found["penstock_executions_unended running"] == 0
    assert _HOUR <= found["penstock_executions_oldest_pending_seconds"] < 2 * _HOUR
    assert _HOUR / 2 <= found["penstock_retention_overdue_seconds audit"] < _HOUR
    assert found["penstock_retention_overdue_seconds executions"] == 0, "they are kept for ever"
    assert found["penstock_database_bytes"] > 100_000
