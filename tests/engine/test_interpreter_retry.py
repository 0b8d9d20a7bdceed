"""When an attempt is made again, on a clock of our own: delays, how they grow and spread, and what ends them."""

import asyncio

import pytest

from penstock.engine.performing import Performer
from tests.engine.clocks import Clocked, clocked

TASKS = """
do:
  - attempt:
      try:
        - work: {do: [{boom: {raise: {error: {type: 'https://example.com/e', status: 503}}}}]}
      catch:
        retry: RETRY
        do: [{handle: {set: gave up}}]
"""


@pytest.fixture
def retried(runner: asyncio.Runner, performer: Performer) -> "Retried":
    return Retried(runner, performer)


class Retried:
    def __init__(self, runner: asyncio.Runner, performer: Performer) -> None:
        self._runner = runner
        self._performer = performer

    def __call__(self, retry: str, key: str | None = None) -> Clocked:
        return self._runner.run(clocked(self._performer, TASKS.replace("RETRY", retry), {}, key))


@pytest.mark.parametrize(
    ("retry", "waits"),
    [
        ("{delay: {seconds: 3}, limit: {attempt: {count: 3}}}", [3, 3, 3]),
        ("{delay: {seconds: 3}, backoff: {constant: {}}, limit: {attempt: {count: 2}}}", [3, 3]),
        ("{delay: {seconds: 3}, backoff: {linear: {}}, limit: {attempt: {count: 4}}}", [3, 6, 9, 12]),
        ("{delay: {seconds: 3}, backoff: {exponential: {}}, limit: {attempt: {count: 4}}}", [3, 6, 12, 24]),
        ("{delay: PT1M, limit: {attempt: {count: 1}}}", [60]),
        ("{limit: {attempt: {count: 2}}}", [0, 0]),
        ("{delay: {seconds: 10}, limit: {duration: {seconds: 35}}}", [10, 10, 10]),
        ("{delay: {seconds: 10}, limit: {attempt: {count: 2}, duration: {seconds: 35}}}", [10, 10]),
        ("{delay: {seconds: 40}, limit: {duration: {seconds: 35}}}", []),
    ],
)
def test_attempts_are_made_again_after_the_delay_of_a_policy(retried: Retried, retry: str, waits: list[float]) -> None:
    done = retried(retry)
    assert done.outcome == "gave up"
    assert done.waits == waits
    assert done.steps.count("boom failed") == 1
    assert sum(line.startswith("boom failed") for line in done.steps) == 1 + len(waits)


def test_a_delay_never_exceeds_a_day_however_it_grows(retried: Retried) -> None:
    done = retried("{delay: {hours: 1}, backoff: {exponential: {}}, limit: {attempt: {count: 60}}}")
    assert max(done.waits) == 24 * 3600
    assert len(done.waits) == 60


def test_jitter_is_added_within_its_bounds_and_differs_between_attempts_and_executions(retried: Retried) -> None:
    retry = "{delay: {seconds: 10}, jitter: {from: {seconds: 1}, to: {seconds: 3}}, limit: {attempt: {count: 5}}}"
    one, other = retried(retry).waits, retried(retry).waits
    assert all(11 <= wait <= 13 for wait in (*one, *other))
    assert len({*one, *other}) == 10


def test_jitter_is_the_same_whenever_the_same_execution_is_walked(retried: Retried) -> None:
    key = "0197a3c4-5b6c-7d8e-9f00-112233445566"
    retry = "{jitter: {from: {seconds: 0}, to: {seconds: 9}}, limit: {attempt: {count: 3}}}"
    assert retried(retry, key).waits == retried(retry, key).waits


def test_attempts_count_for_all_that_is_tried_and_start_anew_outside(
    runner: asyncio.Runner, performer: Performer
) -> None:
    tasks = """
do:
  - outer:
      try:
        - inner:
            try: [{boom: {raise: {error: {type: 'https://example.com/e', status: 503}}}}]
            catch:
              errors: {with: {status: 503}}
              retry: {limit: {attempt: {count: 1}}}
              do: [{worse: {raise: {error: {type: 'https://example.com/w', status: 500}}}}]
      catch: {errors: {with: {status: 500}}, retry: {limit: {attempt: {count: 1}}}, do: []}
"""
    done = runner.run(clocked(performer, tasks, {"a": 1}))
    assert done.outcome == {"a": 1}
    assert done.steps == [
        "outer completed",
        "inner failed",
        "boom failed",
        "boom failed 2",
        "worse failed",
        "inner failed 2",
        "boom failed",
        "boom failed 2",
        "worse failed 2",
    ]


def test_a_wait_is_as_long_as_it_says(runner: asyncio.Runner, performer: Performer) -> None:
    done = runner.run(clocked(performer, "do: [{a: {wait: {days: 1, hours: 2}}}, {b: {wait: P1DT2H30M}}]", 5))
    assert done.outcome == 5
    assert done.waits == [26 * 3600, 26.5 * 3600]
