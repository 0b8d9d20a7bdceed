"""A moment is a turn of the loop: what was found in it holds to its end, and no longer."""

import asyncio

import pytest

from penstock.platform.moment import Moment

pytestmark = pytest.mark.anyio


async def test_what_was_found_is_there_for_others_of_the_same_turn_and_gone_in_the_next() -> None:
    moment = Moment[str]()
    moment.keep(moment.begin(), "key", "found")
    assert (moment.get("key"), moment.get("another")) == ("found", None)
    await asyncio.sleep(0)
    assert moment.get("key") is None


async def test_what_was_looked_for_longer_than_a_turn_is_not_kept() -> None:
    moment = Moment[str]()
    number = moment.begin()
    await asyncio.sleep(0)
    moment.begin()
    moment.keep(number, "key", "found before something changed")
    assert moment.get("key") is None


async def test_who_hears_of_a_change_in_the_turn_in_which_it_was_looked_is_looked_at_anew() -> None:
    """What is committed while this turn lasts is heard of after all that was ready in it."""
    moment, heard = Moment[str](), list[str | None]()
    moment.keep(moment.begin(), "key", "found")
    asyncio.get_running_loop().call_soon(lambda: heard.append(moment.get("key")))
    await asyncio.sleep(0)
    assert heard == [None]


def test_a_loop_that_was_left_leaves_nothing_to_the_next_one() -> None:
    moment = Moment[str]()

    async def keep() -> None:
        moment.keep(moment.begin(), "key", "found")
        asyncio.get_running_loop().stop()

    async def get() -> str | None:
        return moment.get("key")

    loop = asyncio.new_event_loop()
    loop.run_until_complete(keep())
    loop.close()
    assert asyncio.run(get()) is None
