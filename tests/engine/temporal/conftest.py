"""What tests on Temporal share: the settings of a server and its workers."""

import secrets

import pytest

from penstock.engine.temporal import engine


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who cancels or pauses is answered when it is done, however busy the machine is."""
    monkeypatch.setattr(engine, "_PATIENCE", 60.0)


@pytest.fixture
def task_queue() -> str:
    return secrets.token_hex(8)


@pytest.fixture
def on_temporal(temporal_server: str, task_queue: str) -> dict[str, str]:
    return {"engine": "temporal", "temporal_address": temporal_server, "temporal_task_queue": task_queue}
