"""The specification's own kit and examples, where `PENSTOCK_SPECIFICATION` says that a checkout of it is."""

import asyncio
from pathlib import Path

import pytest

from penstock.dsl.build import workflow_of
from penstock.dsl.check import check, errors
from tests import SPECIFICATION
from tests.conformance.api import ApiRunner
from tests.conformance.case import PATIENCE, Runner
from tests.conformance.features import Scenario, hold, scenarios
from tests.conformance.local import LocalRunner
from tests.conformance.stand_in import StandIn

FOLDER = Path(SPECIFICATION or "")
SCENARIOS = scenarios(FOLDER / "ctk" / "features")
EXAMPLES = sorted((FOLDER / "examples").glob("*.yaml"))


def test_the_kit_and_the_examples_are_all_there() -> None:
    assert (len(SCENARIOS), len(EXAMPLES)) == (21, 66)
    assert all(scenario.promises for scenario in SCENARIOS)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario_on_the_host_of_penstock_run(
    scenario: Scenario, runner: asyncio.Runner, local: LocalRunner, services: StandIn
) -> None:
    _hold(scenario, runner, local, services)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_scenario_through_the_api(
    scenario: Scenario, runner: asyncio.Runner, api: ApiRunner, services: StandIn
) -> None:
    _hold(scenario, runner, api, services)


def _hold(scenario: Scenario, runner: asyncio.Runner, host: Runner, services: StandIn) -> None:
    outcome = runner.run(asyncio.wait_for(host.run(scenario.case, services.for_run()), PATIENCE))
    for said, argument in scenario.promises:
        hold(said, argument, outcome)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_valid_and_can_be_walked(example: Path) -> None:
    text = example.read_text("utf-8")
    assert not errors(check(text))
    assert workflow_of(text).document.dsl.startswith("1.0")
