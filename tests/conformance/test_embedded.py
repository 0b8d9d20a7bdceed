"""The suite through the API, on the engine of the server, on both databases."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from penstock.settings import load
from tests.conformance.api import ApiRunner
from tests.conformance.case import Case, cases, expect
from tests.conformance.stand_in import StandIn
from tests.conftest import build, client_of, keep, started


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        folder: Path = tmp_path_factory.mktemp("conformance")
        shutil.copy(request.getfixturevalue("migrated_file"), folder / "penstock.db")
        yield f"sqlite:///{folder}/penstock.db"
    else:
        with request.getfixturevalue("databases").migrated() as url:
            yield url


@pytest.fixture(scope="module")
def api(runner: asyncio.Runner, database: str) -> Iterator[ApiRunner]:
    serving = _served(database)
    yield runner.run(serving.__aenter__())
    runner.run(serving.__aexit__(None, None, None))


@asynccontextmanager
async def _served(database: str) -> AsyncIterator[ApiRunner]:
    given = {"database": database, "engine": "embedded", "processes": ["script", "shell"]}
    built = build(load(environ={}, overrides=given).settings, None)
    async with started(built) as app, client_of(app) as client:
        client.app = app  # type: ignore[attr-defined]
        yield ApiRunner(client)
    keep(built)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case: Case, runner: asyncio.Runner, api: ApiRunner, services: StandIn) -> None:
    expect(case, runner.run(asyncio.wait_for(api.run(case, services.for_run()), 60)))
