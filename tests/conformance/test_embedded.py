"""The suite through the API, on the engine of the server, on both databases."""

import asyncio

import pytest

from tests.conformance.api import ApiRunner
from tests.conformance.case import PATIENCE, Case, cases, expect, tried
from tests.conformance.stand_in import StandIn


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case: Case, runner: asyncio.Runner, api: ApiRunner, services: StandIn) -> None:
    def holds(case: Case) -> None:
        expect(case, runner.run(asyncio.wait_for(api.run(case, services.for_run()), PATIENCE)))

    tried(case, holds)
