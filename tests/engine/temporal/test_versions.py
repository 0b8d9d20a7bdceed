"""Two builds of the code of workers, the second of which gives its commands in another order."""

import shutil
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio.client import Client

import penstock
from penstock.engine.temporal.standing import workers
from tests.acceptance.server import until
from tests.chaos.cluster import Worker
from tests.conftest import Serve
from tests.engine.embedded.running import came
from tests.engine.embedded.shop import Shop, definition
from tests.engine.temporal.workers import working
from tests.platform.scene import set_up

pytestmark = pytest.mark.anyio
_TASKS = """
do:
  - first: {set: {a: 1}}
  - hear: {listen: {to: {one: {with: {type: go}}}}, output: {as: '${ {a: 1} }'}}
  - last: {set: {b: '${ .a + 1 }'}}
"""
_NEWEST = "new executions begin with this build"
_BEGINS = "        found = await self._found(info.workflow_id)"


def _builds(folder: Path) -> tuple[Path, Path]:
    """The second's workflows wait for a moment before they do anything: no history of the first fits."""
    first, second = folder / "first", folder / "second"
    ignored = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(Path(penstock.__file__).parent, first / "penstock", ignore=ignored)
    shutil.copytree(first, second)
    file = second / "penstock" / "engine" / "temporal" / "workflow.py"
    before = file.read_text()
    assert before.count(_BEGINS) == 1
    file.write_text(before.replace(_BEGINS, "        await asyncio.sleep(0.001)\n" + _BEGINS))
    return first, second


@asynccontextmanager
async def _working(worker: Worker) -> AsyncIterator[Worker]:
    try:
        await until(worker.works)
        yield worker
    finally:
        worker.process.kill()
        worker.process.wait()


async def _build_of(client: Client, execution: str) -> str:
    """Empty while Temporal has not heard of a first task that was done."""
    described = await client.get_workflow_handle(execution).describe()
    info = described.raw_description.workflow_execution_info.versioning_info
    return str(info.deployment_version.build_id)


async def test_executions_end_with_the_build_that_began_them_and_new_ones_begin_with_the_newest(
    serve: Serve, database_url: str, on_temporal: dict[str, str], tmp_path: Path
) -> None:
    if database_url.startswith("sqlite"):
        pytest.skip("several workers are for PostgreSQL")
    builds, settings = _builds(tmp_path), {**on_temporal, "worker_versions": "true"}
    temporal = await Client.connect(on_temporal["temporal_address"])
    async with serve(**on_temporal) as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("waiting", _TASKS)
        async with _working(Worker(tmp_path, database_url, settings, builds[0])) as old:
            before = await shop.trigger(workflow)
            await shop.at(before, "hear")

            async def is_pinned() -> bool:
                return bool(await _build_of(temporal, before))

            await came(is_pinned)
            old.process.send_signal(signal.SIGKILL)  # what it had in memory is to be walked again
        async with _working(Worker(tmp_path, database_url, settings, builds[1])) as new:
            await until(lambda: _NEWEST in new.log.read_text())
            async with _working(Worker(tmp_path, database_url, settings, builds[0])) as old:
                after = await shop.trigger(workflow)
                await shop.listens(before, after)
                await shop.send("go")
                for execution in (before, after):
                    assert (await shop.ended(execution))["output_data"] == {"b": 2}
                assert await workers(temporal, on_temporal["temporal_task_queue"]) >= 2
                assert await _build_of(temporal, before) != await _build_of(temporal, after)
                assert await _build_of(temporal, after) in new.log.read_text()
                assert _NEWEST not in old.log.read_text()
                await until(lambda: "no execution needs this build" in old.log.read_text())


async def test_an_execution_ends_with_its_own_version_of_the_workflow_whatever_was_deployed_meanwhile(
    serve: Serve, database_url: str, on_temporal: dict[str, str]
) -> None:
    async with serve(**on_temporal) as client:
        shop = Shop(await set_up(client))
        workflow = await shop.workflow("waiting", _TASKS, deploy=True)
        async with working(database=database_url, **on_temporal):
            before = await shop.trigger(workflow)
            await shop.at(before, "hear")
            changed = definition("waiting", _TASKS.replace(".a + 1", ".a + 10"), version="2.0.0")
            assert (await shop.owner.put(f"/workflows/{workflow}", {"config_yaml": changed})).is_success
            await shop.deploy(workflow)
        async with working(database=database_url, **on_temporal):  # which has nothing in memory
            after = await shop.trigger(workflow)
            await shop.listens(before, after)
            await shop.send("go")
            assert (await shop.ended(before))["output_data"] == {"b": 2}
            assert (await shop.ended(after))["output_data"] == {"b": 11}
