"""Workflows that would never end, or never let go: each ends, and lets others have their turn."""

import asyncio

import pytest

from penstock.engine.faults import Error
from penstock.engine.performing import Performer
from tests.engine.clocks import Clocked, clocked

RETRY_FOR_EVER = """
do:
  - attempt:
      try: [{boom: {raise: {error: {type: 'https://example.com/e', status: 503}}}}]
      catch: {retry: {delay: {seconds: 0}}}
"""
# An attempt that is out of time when it begins has no step.
NO_TIME_AT_ALL = """
do:
  - attempt:
      try: [{never: {set: begun}}]
      catch: {retry: {limit: {attempt: {duration: PT0S}}}}
"""
CAUGHT_AGAIN_AND_AGAIN = """
do:
  - around:
      try:
        - again: {set: {n: 1}}
        - back: {set: {n: 2}, then: again}
      catch: {do: [{handled: {set: went on all the same}}]}
"""
ROUNDS_OF_NOTHING = """
do:
  - rounds:
      for: {in: '${ [range(20000)] }'}
      while: ${ $index < 20000 }
      do: []
"""


class Beside:
    """Somebody else on the same loop: how often they had their turn."""

    def __init__(self, runner: asyncio.Runner, performer: Performer) -> None:
        self.turns = 0
        self._runner = runner
        self._performer = performer

    def __call__(self, tasks: str) -> Clocked:
        return self._runner.run(self._beside(tasks))

    async def _beside(self, tasks: str) -> Clocked:
        other = asyncio.create_task(self._take_turns())
        try:
            async with asyncio.timeout(60):
                return await clocked(self._performer, tasks, {})
        finally:
            other.cancel()

    async def _take_turns(self) -> None:
        while True:
            self.turns += 1
            await asyncio.sleep(0)


@pytest.fixture
def beside(runner: asyncio.Runner, performer: Performer, monkeypatch: pytest.MonkeyPatch) -> Beside:
    monkeypatch.setattr("penstock.engine.hosting.MOST_STEPS", 200)
    return Beside(runner, performer)


@pytest.mark.parametrize("tasks", [RETRY_FOR_EVER, NO_TIME_AT_ALL, CAUGHT_AGAIN_AND_AGAIN])
def test_an_execution_that_goes_on_for_ever_ends_and_nothing_catches_that(beside: Beside, tasks: str) -> None:
    outcome = beside(tasks).outcome
    assert isinstance(outcome, Error)
    assert outcome.title == "Too many steps"


@pytest.mark.parametrize("tasks", [NO_TIME_AT_ALL, ROUNDS_OF_NOTHING])
def test_who_does_the_same_without_a_step_lets_others_have_their_turn(beside: Beside, tasks: str) -> None:
    beside(tasks)
    assert beside.turns > 100
