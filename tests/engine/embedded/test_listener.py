"""A listener that begins where a flood of events is kept: read as it asks, in order, and none twice or never."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from penstock.engine.embedded.listener import Listener, Offered
from penstock.engine.embedded.sealing import Sealed
from penstock.engine.host import Received
from penstock.engine.tasks.secrets import Secrets

pytestmark = pytest.mark.anyio


class Kept:
    def __init__(self, *numbers: int) -> None:
        self.numbers = numbers
        self.read: list[int] = []

    async def __call__(self) -> AsyncIterator[Offered]:
        for number in self.numbers:
            self.read.append(number)
            yield offered(number)


def offered(number: int) -> Offered:
    return Offered(Received(number, {"id": str(number)}))


def unused() -> Any:
    return None


def listener() -> Listener:
    return Listener(unused(), "execution", "/0", unused())


async def test_what_is_kept_is_read_when_it_is_asked_for_and_not_before() -> None:
    kept, listening = Kept(*range(1, 1001)), listener()
    await listening.begin(kept(), 1000)
    assert [(await anext(listening)).number for _ in range(3)] == [1, 2, 3]
    assert len(kept.read) <= 4


async def test_what_comes_meanwhile_comes_in_its_order_and_once() -> None:
    listening = listener()
    # Offered before it knew what is kept; and one that somebody else has consumed, so that it is kept no more.
    decisions = {number: listening.offer(offered(number)) for number in (3, 4, 7)}
    await listening.begin(Kept(1, 3, 5)(), 5)
    decisions[5] = listening.offer(offered(5))
    decisions[8] = listening.offer(offered(8))
    assert [(await anext(listening)).number for _ in range(6)] == [1, 3, 5, 4, 7, 8]
    assert [number for number, decided in decisions.items() if not decided.done()] == [8]
    listening.end()
    assert decisions[8].done()


async def test_what_was_consumed_in_an_earlier_life_is_not_taken_again_when_offered_before_that_was_known() -> None:
    listening = Listener(unused(), "execution", "/0", Sealed(unused(), "project", Secrets({})))
    decisions = {number: listening.offer(offered(number)) for number in (2, 3, 4)}
    listening.recall([(2, '{"id":"2"}')])
    await listening.begin(Kept(2, 3)(), 3)
    assert [each.number for each in listening.consumed] == [2]
    assert decisions[2].done()
    assert listening.offer(offered(3)) is decisions[3]
    assert [(await anext(listening)).number for _ in range(2)] == [3, 4]
    listening.end()
    assert all(decided.done() for decided in decisions.values())


async def test_who_ends_before_it_has_read_all_keeps_no_event_from_being_handled() -> None:
    listening = listener()
    await listening.begin(Kept(*range(1, 100))(), 99)
    waiting = [listening.offer(offered(number)) for number in (50, 100)]
    await anext(listening)
    listening.end()
    async with asyncio.timeout(60):
        await asyncio.gather(*waiting)


async def test_of_many_that_wait_for_a_slow_listener_most_are_not_in_memory() -> None:
    gone, read = 140, []

    async def from_database(number: int) -> Offered | None:
        read.append(number)
        return None if number == gone else offered(number)

    listening = Listener(unused(), "execution", "/0", unused(), from_database)
    await listening.begin(Kept()(), 0)
    decisions = [listening.offer(offered(number)) for number in range(1, 151)]
    heard = [(await anext(listening)).number for _ in range(149)]
    assert heard == [number for number in range(1, 151) if number != gone]
    assert read == list(range(101, 151))
    assert all(decided.done() for decided in decisions[:-1])
