"""What tests on Temporal share: the settings of a server and its workers."""

import secrets
from datetime import timedelta

import pytest

from penstock.engine.temporal import calls, engine, reach, schedules, standing, wanted


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cancels or pauses is answered when it is done, however busy the machine is; a Temporal that was halted is not
    taken for one that is away, for which nobody waits; and a call of a worker that was halted is not made again."""
    monkeypatch.setattr(engine, "_PATIENCE", 60.0)
    for module in (reach, schedules, standing, wanted):
        monkeypatch.setattr(module, "RPC", timedelta(seconds=60))
    monkeypatch.setattr(calls, "LOST_AFTER", timedelta(seconds=60))


@pytest.fixture
def task_queue() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def on_temporal(temporal_server: str, task_queue: str) -> dict[str, str]:
    return {"engine": "temporal", "temporal_address": temporal_server, "temporal_task_queue": task_queue}
