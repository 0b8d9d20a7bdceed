"""The suite through the API, on a Temporal cluster with one worker."""

import asyncio

import pytest

from tests.conformance.api import ApiRunner
from tests.conformance.case import PATIENCE, Case, cases, expect, tried
from tests.conformance.stand_in import StandIn
from tests.engine.temporal.workers import Histories


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_case(case: Case, runner: asyncio.Runner, on_temporal: ApiRunner, services: StandIn) -> None:
    def holds(case: Case) -> None:
        expect(case, runner.run(asyncio.wait_for(on_temporal.run(case, services.for_run()), PATIENCE)))

    tried(case, holds)


def test_every_history_is_walked_again_in_the_same_way(
    runner: asyncio.Runner, on_temporal: ApiRunner, services: StandIn, histories: Histories
) -> None:
    """What a worker does that takes over from another: those of the cases that ran before this, and of one more."""
    runner.run(on_temporal.run(cases()[0], services.for_run()))
    replayed = runner.run(asyncio.wait_for(histories(), 10 * PATIENCE))
    assert replayed > 0
