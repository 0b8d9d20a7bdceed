"""What tests of the interpreter share: one event loop for a module, with a performer whose processes live as long."""

import asyncio
from collections.abc import Iterator

import pytest

from penstock.engine.local import local_performer
from penstock.engine.performing import Performer
from tests.conformance.stand_in import StandIn, stand_in


@pytest.fixture(scope="session")
def services() -> Iterator[StandIn]:
    with stand_in() as running:
        yield running


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def performer(runner: asyncio.Runner) -> Iterator[Performer]:
    performing = local_performer()
    yield runner.run(performing.__aenter__())
    runner.run(performing.__aexit__(None, None, None))
