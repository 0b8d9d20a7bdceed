"""What all runs of the suite share: servers on each database and engine, and a performer with its processes."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.engine.local import local_performer
from penstock.settings import load
from tests import SPECIFICATION, postgresql
from tests.conformance.api import ApiRunner
from tests.conformance.case import Json
from tests.conformance.local import LocalRunner
from tests.conftest import build, client_of, keep, started
from tests.engine.temporal.workers import Histories, replayed, working

# The specification's own files are not ours to copy: with a checkout of it, its kit is run, too.
collect_ignore = [] if SPECIFICATION else ["test_specification.py"]


@pytest.fixture(scope="module")
def local(runner: asyncio.Runner) -> Iterator[LocalRunner]:
    performing = local_performer()
    yield LocalRunner(runner.run(performing.__aenter__()))
    runner.run(performing.__aexit__(None, None, None))


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def suite_database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        folder: Path = tmp_path_factory.mktemp("conformance")
        shutil.copy(request.getfixturevalue("migrated_file"), folder / "penstock.db")
        yield f"sqlite:///{folder}/penstock.db"
    else:
        with request.getfixturevalue("databases").migrated() as url:
            yield url


@pytest.fixture(scope="module")
def api(runner: asyncio.Runner, suite_database: str) -> Iterator[ApiRunner]:
    """A whole server, on each database."""
    serving = _served(database=suite_database)
    yield runner.run(serving.__aenter__())
    runner.run(serving.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def temporal_settings(temporal_server: str, databases: postgresql.Databases) -> Iterator[Json]:
    with databases.migrated() as url:
        yield {
            "database": url,
            "engine": "temporal",
            "temporal_address": temporal_server,
            "temporal_task_queue": "conformance",
        }


@pytest.fixture(scope="module")
def on_temporal(runner: asyncio.Runner, temporal_settings: Json) -> Iterator[ApiRunner]:
    """A whole server, and a worker on a Temporal cluster."""
    serving = _served_on_temporal(temporal_settings)
    yield runner.run(serving.__aenter__())
    runner.run(serving.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def histories(temporal_settings: Json) -> Histories:
    return lambda: replayed(temporal_settings)


@asynccontextmanager
async def _served_on_temporal(given: Json) -> AsyncIterator[ApiRunner]:
    async with _served(**given) as served, working(**given):
        yield served


@asynccontextmanager
async def _served(**different: str) -> AsyncIterator[ApiRunner]:
    given = {"engine": "embedded", "processes": ["script", "shell", "container", "mcp"], "expression_time": "60s"}
    built = build(load(environ={}, overrides=given | different).settings, None)
    async with started(built) as app, client_of(app) as client:
        client.app = app  # type: ignore[attr-defined]
        yield ApiRunner(client)
    keep(built)
