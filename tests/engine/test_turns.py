"""Turns: what computes shares one of them, so that however many there are, whoever asks something is answered soon."""

import asyncio
import time
from statistics import median

import pytest

from penstock.engine.turns import Turns

pytestmark = pytest.mark.anyio


async def test_the_more_compute_at_once_the_shorter_the_turn_of_each() -> None:
    turns = Turns()
    alone = turns.length

    async def compute() -> None:
        for _ in range(5):
            await turns.end()

    await asyncio.gather(*(compute() for _ in range(10)))
    await compute()
    assert turns.length == alone
    computing = [asyncio.create_task(compute()) for _ in range(10)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert turns.length == pytest.approx(alone / 10)
    await asyncio.gather(*computing)


async def test_while_forty_compute_nobody_else_waits_for_long() -> None:
    turns, over, waits = Turns(), False, list[float]()

    async def compute() -> None:
        while not over:
            began = time.thread_time()
            while time.thread_time() - began < turns.length:
                pass
            await turns.end()

    computing = [asyncio.create_task(compute()) for _ in range(40)]
    for _ in range(20):
        began = time.thread_time()
        await asyncio.sleep(0)
        waits.append(time.thread_time() - began)
    over = True
    await asyncio.gather(*computing)
    # Forty turns of five milliseconds would be 200.
    assert median(waits) < 0.05
