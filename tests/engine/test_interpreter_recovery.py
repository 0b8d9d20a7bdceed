"""What recovery rests on: a walk that is cut anywhere and walked again from what was stored comes to the same.

Every definition of the conformance suite is walked once, and then again from every prefix of what that walk stored.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.dsl.build import workflow_of
from penstock.engine.local import Library, local_performer
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from tests.conformance.case import Case, cases
from tests.conformance.stand_in import StandIn, stand_in
from tests.engine.remembering import ENDED, Execution, Life, World

MOST_CUTS = 60


@pytest.fixture(scope="module")
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


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_walked_again_from_anywhere_it_comes_to_the_same(
    case: Case, runner: asyncio.Runner, performer: Performer, services: StandIn
) -> None:
    address = services.for_run()
    world = World(performer, Library(map(workflow_of, case.other_texts(address))), Secrets(case.secrets))
    events = [{"specversion": "1.0", **event} for event in case.events]
    execution = Execution(world, workflow_of(case.text(address)), case.input, events)
    runner.run(_cut_everywhere(execution))


async def _cut_everywhere(execution: Execution) -> None:
    whole = await execution.live()
    stored = len(whole.journal.entries)
    for cut in range(0, stored + 1, max(1, stored // MOST_CUTS)):
        async with asyncio.timeout(10):
            again = await execution.live(whole.journal.before(cut))
        _compare(whole, again, cut)


def _timeless(outcome: Any) -> Any:
    """An event that was not emitted before the cut is emitted at another time."""
    return {**outcome, "time": None} if isinstance(outcome, dict) and "specversion" in outcome else outcome


def _compare(whole: Life, again: Life, cut: int) -> None:
    assert _timeless(again.outcome) == _timeless(whole.outcome), f"cut at {cut}"
    before = whole.journal.before(cut).steps
    finished = {position for position, step in before.items() if step.finished}
    asked_again = [what for what in again.asked if what.split()[0] in finished]
    assert not asked_again, f"performed although finished, cut at {cut}"
    assert set(again.asked) <= set(whole.asked), f"asked for more than without a cut at {cut}"
    assert len(again.asked) == len(set(again.asked))
    left = [step.task.name for step in again.journal.steps.values() if step.status not in ENDED]
    assert not left, f"still under way at the end, cut at {cut}"
