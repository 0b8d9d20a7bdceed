"""The suite through the API, on a Temporal cluster with one worker."""

import asyncio

import pytest

from tests.conformance.api import ApiRunner
from tests.conformance.case import Case, cases, expect
from tests.conformance.stand_in import StandIn


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case: Case, runner: asyncio.Runner, on_temporal: ApiRunner, services: StandIn) -> None:
    expect(case, runner.run(asyncio.wait_for(on_temporal.run(case, services.for_run()), 60)))
