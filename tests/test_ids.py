"""Ids: of the version that they say, in the order of time, and none twice, not in a copy of the process either."""

import subprocess
import sys
import time
import uuid
from collections.abc import Callable

import pytest

from penstock.ids import uuid4, uuid7

MANY = 10_000


@pytest.mark.parametrize(("made", "version", "counted"), [(uuid7, 7, 12), (uuid4, 4, 0)])
def test_each_is_a_uuid_of_its_version_and_no_two_are_the_same(
    made: Callable[[], str], version: int, counted: int
) -> None:
    ids = [uuid.UUID(made()) for _ in range(MANY)]
    assert {(each.version, each.variant) for each in ids} == {(version, uuid.RFC_4122)}
    assert len(set(ids)) == MANY
    # Every bit that is free is drawn, but for those that count.
    drawn = (2**62 - 1) | (2 ** (12 - counted) - 1) << 64
    for bit in (bit for bit in range(80) if drawn >> bit & 1):
        assert {each.int >> bit & 1 for each in ids} == {0, 1}


def test_an_id_of_version_7_begins_with_its_millisecond() -> None:
    before = time.time_ns() // 1_000_000
    milliseconds = uuid.UUID(uuid7()).int >> 80
    assert before <= milliseconds <= time.time_ns() // 1_000_000


def test_ids_of_version_7_are_in_the_order_in_which_they_were_made() -> None:
    ids = [uuid7() for _ in range(MANY)]
    assert ids == sorted(ids)


FORKING = """
import os
from penstock.ids import uuid7
uuid7()
if child := os.fork():
    os.waitpid(child, 0)  # else what the two write would mix
print("\\n".join(uuid7()[18:] for _ in range(500)), flush=True)
"""


def test_a_copy_of_the_process_comes_to_other_ids() -> None:
    # In a process that has no threads yet: this one has many, and must not be copied.
    told = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, check=True)
    tails = told.stdout.split()
    assert len(tails) == len(set(tails)) == 1_000
