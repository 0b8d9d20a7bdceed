"""The suite on the host of `penstock run`."""

import asyncio

import pytest

from penstock.dsl.check import check, errors
from tests.conformance.case import PATIENCE, Case, cases, expect, tried
from tests.conformance.local import LocalRunner
from tests.conformance.stand_in import StandIn

CASES = cases()


def test_names_of_cases_are_unique() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, runner: asyncio.Runner, local: LocalRunner, services: StandIn) -> None:
    def holds(case: Case) -> None:
        address = services.for_run()
        for text in (case.text(address), *case.other_texts(address)):
            assert not errors(check(text)), "the definition itself is not valid"
        expect(case, runner.run(asyncio.wait_for(local.run(case, address), PATIENCE)))

    tried(case, holds)
