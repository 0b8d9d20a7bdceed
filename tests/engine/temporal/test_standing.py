"""What servers and `penstock doctor` say of a cluster without workers, or of none."""

from typing import Any

import httpx
import pytest

from penstock.cli.doctor_temporal import temporal
from penstock.engine.temporal import standing
from penstock.settings import load
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.temporal.workers import working

pytestmark = pytest.mark.anyio


async def _found(**settings: Any) -> tuple[str, str]:
    (finding,) = [each async for each in temporal(load(environ={}, overrides=settings))]
    return finding.level, finding.says + finding.todo


async def _notice(client: httpx.AsyncClient) -> str | None:
    answer = await client.get("/readyz")
    notice: str | None = answer.json().get("notice")
    assert answer.status_code == 200
    return notice


async def _metric(client: httpx.AsyncClient, line: str) -> bool:
    return line in (await client.get("/metrics")).text.splitlines()


async def test_no_worker_is_said_with_what_to_do_until_one_is_there(
    serve: Serve, database_url: str, on_temporal: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standing, "_LOOK_EVERY", 0.05)

    async def is_said() -> bool:
        return "penstock worker" in (await _notice(client) or "")

    async def is_not_said() -> bool:
        return await _notice(client) is None

    async with serve(**on_temporal) as client:
        await came(is_said)
        assert await _metric(client, "penstock_temporal_workers 0.0")
        assert (await _found(**on_temporal))[0] == "warn"
        async with working(database=database_url, **on_temporal):
            await came(is_not_said)
            await came(lambda: _metric(client, "penstock_temporal_workers 1.0"))
            await came(lambda: _metric(client, "penstock_temporal_up 1.0"))
            assert (await _found(**on_temporal))[0] == "ok"


async def test_what_is_wrong_with_a_cluster_is_found(on_temporal: dict[str, str]) -> None:
    level, said = await _found(**(on_temporal | {"temporal_address": "127.0.0.1:1"}))
    assert (level, "does not answer" in said) == ("fail", True)
    level, said = await _found(**(on_temporal | {"temporal_namespace": "elsewhere"}))
    assert (level, "no namespace elsewhere" in said) == ("fail", True)
