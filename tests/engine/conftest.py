"""What tests of the interpreter share: a performer whose processes live as long as a module's event loop."""

import asyncio
from collections.abc import Iterator

import pytest

from penstock.engine.local import local_performer
from penstock.engine.performing import Performer


@pytest.fixture(scope="module")
def performer(runner: asyncio.Runner) -> Iterator[Performer]:
    performing = local_performer()
    yield runner.run(performing.__aenter__())
    runner.run(performing.__aexit__(None, None, None))
