"""What recovery rests on: a walk that is cut anywhere and walked again from what was stored comes to the same.

Every definition of the conformance suite is walked once, and then again from every prefix of what that walk stored.
"""

import asyncio
from typing import Any

import pytest

from penstock.dsl.build import workflow_of
from penstock.engine.local import Library
from penstock.engine.performing import Performer
from penstock.engine.tasks.secrets import Secrets
from tests.conformance.case import MOMENTS, Case, cases, tried
from tests.conformance.stand_in import StandIn
from tests.engine.remembering import ENDED, Execution, Life, World

MOST_CUTS = 60
HOUR = 3600 * 1_000_000
RACE = """
document: {dsl: 1.0.3, namespace: test, name: race, version: 1.0.0}
do:
  - race:
      fork:
        compete: COMPETE
        branches:
          - slow: {do: [{nap: {wait: {minutes: 1}}}, {never: {call: http, with: {method: get, endpoint: ADDRESS}}}]}
          - quick: {do: [{nod: {wait: {milliseconds: 5}}}, {last: {set: quick, then: THEN}}]}
"""


# What a broker has handed out it does not hand out again, and what it said is not remembered here.
CASES = [case for case in cases() if "brokers=" not in str(case.definition)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_walked_again_from_anywhere_it_comes_to_the_same(
    case: Case, runner: asyncio.Runner, performer: Performer, services: StandIn
) -> None:
    def holds(case: Case) -> None:
        address = services.for_run()
        world = World(performer, Library(map(workflow_of, case.other_texts(address))), Secrets(case.secrets))
        events = [{"specversion": "1.0", **event} for event in case.events]
        text = case.text(address)
        # The power was off for a second; for what may take only so long, for no time at all.
        pause = 0 if "timeout" in text or "duration" in text else 1_000_000
        runner.run(_cut_everywhere(Execution(world, workflow_of(text), case.input, events), pause))

    tried(case, holds, MOMENTS[:2])


@pytest.mark.parametrize(("compete", "then"), [("true", "exit"), ("false", "end")])
def test_a_fork_that_is_decided_begins_nothing_more_however_late_it_is(
    compete: str, then: str, runner: asyncio.Runner, performer: Performer, services: StandIn
) -> None:
    text = RACE.replace("COMPETE", compete).replace("THEN", then).replace("ADDRESS", services.for_run())
    execution = Execution(World(performer, Library(), Secrets({})), workflow_of(text), {}, [])
    whole = runner.run(execution.live())
    decided = next(
        number
        for number, (kind, entry) in enumerate(whole.journal.entries, 1)
        if kind == "step" and (entry[0].task.name, entry[0].status) == ("quick", "completed")
    )
    again = runner.run(execution.live(whole.journal.before(decided), HOUR))
    assert (again.outcome, again.asked) == ("quick", [])
    assert again.journal.steps["/0/b0/0"].status == "cancelled"


async def _cut_everywhere(execution: Execution, pause: int) -> None:
    whole = await execution.live()
    stored = len(whole.journal.entries)
    for cut in range(0, stored + 1, max(1, stored // MOST_CUTS)):
        await _cut_at(cut, whole, execution, pause)


async def _cut_at(cut: int, whole: Life, execution: Execution, pause: int) -> None:
    side_by_side = any(step.task.kind == "fork" for step in whole.journal.steps.values())
    # What may take only so long is out of time sooner on a machine that is busy: that may be, and not always.
    attempts = 1 if pause else 3
    for left in reversed(range(attempts)):
        async with asyncio.timeout(60):
            again = await execution.live(whole.journal.before(cut), pause)
        try:
            _compare(whole, again, cut, side_by_side=side_by_side)
        except AssertionError:
            if not left:
                raise
        else:
            return


def _timeless(outcome: Any) -> Any:
    """An event that was not emitted before the cut is emitted at another time."""
    return {**outcome, "time": None} if isinstance(outcome, dict) and "specversion" in outcome else outcome


def _compare(whole: Life, again: Life, cut: int, *, side_by_side: bool) -> None:
    assert _timeless(again.outcome) == _timeless(whole.outcome), f"cut at {cut}"
    before = whole.journal.before(cut).steps
    finished = {position for position, step in before.items() if step.finished}
    asked_again = [what for what in again.asked if what.split()[0] in finished]
    assert not asked_again, f"performed although finished, cut at {cut}"
    assert set(again.asked) <= set(whole.asked), f"asked for more than without a cut at {cut}"
    assert len(again.asked) == len(set(again.asked))
    if not side_by_side:
        # Nothing is stored twice, either: no retry is counted again, no step told of again.
        assert len(again.journal.entries) == len(whole.journal.entries), f"cut at {cut}"
    left = [step.task.name for step in again.journal.steps.values() if step.status not in ENDED]
    assert not left, f"still under way at the end, cut at {cut}"
