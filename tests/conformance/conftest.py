"""What all runs of the suite share: the stand-in services, and a performer with its processes."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from penstock.engine.local import local_performer
from tests.conformance.local import LocalRunner
from tests.conformance.stand_in import StandIn, stand_in

# The specification's own files are not ours to copy: with a checkout of it, its kit is run, too.
collect_ignore = [] if "PENSTOCK_SPECIFICATION" in os.environ else ["test_specification.py"]


@pytest.fixture(scope="session")
def services() -> Iterator[StandIn]:
    with stand_in() as running:
        yield running


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for a module: what is started in it (jq, connections) serves all its cases."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def local(runner: asyncio.Runner) -> Iterator[LocalRunner]:
    performing = local_performer()
    yield LocalRunner(runner.run(performing.__aenter__()))
    runner.run(performing.__aexit__(None, None, None))
