"""Recorded histories, walked again by the code as it is now: what a worker does that takes over from an older one.

A change that makes one fail would leave executions under way without a worker: make it another way, or have workers of
both builds (`worker_versions`), say so in the CHANGELOG, and record anew (`make histories`).
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.converter import DataConverter
from temporalio.worker import Replayer, WorkflowReplayResult

from penstock.egress import Egress
from penstock.engine.embedded.definitions import Definitions
from penstock.engine.temporal.errand import ErrandWorkflow
from penstock.engine.temporal.host import TemporalHost
from penstock.engine.temporal.parts import Surroundings, surroundings
from penstock.engine.temporal.payloads import Converter
from penstock.engine.temporal.worker import runner
from penstock.engine.temporal.workflow import ExecutionWorkflow
from penstock.engine.tools import performing
from penstock.platform.engine import jq_of, task_limits
from penstock.platform.secrets.vault import Vault
from penstock.settings import load
from penstock.storage import open_database
from tests.engine.temporal.record_histories import HISTORIES, LONGEST

pytestmark = pytest.mark.anyio
_FILES = sorted(HISTORIES.glob("*.json"))
_REPLAYED = "replay-None"  # the task queue, as the SDK says it then


@asynccontextmanager
async def _replayer(folder: Path) -> AsyncIterator[Replayer]:
    settings = load(environ={}, overrides={"database": f"sqlite:///{folder}/penstock.db"}).settings
    database = await open_database(settings.database.reveal())
    async with performing(Egress([], []), task_limits(settings), jq_of(settings)) as performer:
        vault = Vault(settings, b"nobody's secret, and long enough")
        surroundings[_REPLAYED] = Surroundings(vault, performer, Definitions(database), LONGEST)
        yield Replayer(
            workflows=[ExecutionWorkflow, ErrandWorkflow],
            workflow_runner=runner(),
            data_converter=DataConverter(payload_converter_class=Converter),
            debug_mode=True,  # nobody takes a test that is halted for a deadlock
        )
    await database.close()


def _history(file: Path) -> WorkflowHistory:
    document = json.loads(file.read_text())
    begun = document["events"][0]["workflowExecutionStartedEventAttributes"]
    return WorkflowHistory.from_json(begun["workflowId"], document)


async def _replayed(replayer: Replayer, *files: Path) -> list[WorkflowReplayResult]:
    return [await replayer.replay_workflow(_history(file), raise_on_replay_failure=False) for file in files]


async def test_every_recorded_history_is_walked_again_in_the_same_way(tmp_path: Path) -> None:
    async with _replayer(tmp_path) as replayer:
        results = await _replayed(replayer, *_FILES)
    found = zip(_FILES, results, strict=True)
    failures = {file.stem: result.replay_failure for file, result in found if result.replay_failure is not None}
    assert len(results) >= 12
    assert not failures


async def test_a_walk_that_gives_other_commands_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without that, the test above would say nothing."""
    performs = TemporalHost.perform

    async def after_a_moment(self: TemporalHost, *given: Any) -> Any:
        await asyncio.sleep(0.01)
        return await performs(self, *given)

    monkeypatch.setattr(TemporalHost, "perform", after_a_moment)
    async with _replayer(tmp_path) as replayer:
        (result,) = await _replayed(replayer, HISTORIES / "calls-1-1.json")
    assert "Nondeterminism" in str(result.replay_failure)
