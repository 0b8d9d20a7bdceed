"""What was found out for one request holds for all that are looked at in the same moment, which is a turn of the loop.

Where hundreds of triggers a second come with one token, most of them come together, and are let through by one look.
Nothing is remembered beyond that: whoever has heard that a session has ended, or a role was taken away, has heard it
in a later turn, and is looked at anew.
"""

import asyncio
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Moment(Generic[T]):
    def __init__(self) -> None:
        self._found: dict[Hashable, T] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._number = 0

    def begin(self) -> int:
        """Before it is looked for: the number of this turn. What is committed from here on shows in the next one."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._end()
            self._loop = loop
            loop.call_soon(self._end)
        return self._number

    def get(self, key: Hashable) -> T | None:
        # A loop that was left before it came round has not ended its moment.
        return self._found.get(key) if self._loop is asyncio.get_running_loop() else None

    def keep(self, number: int, key: Hashable, found: T) -> None:
        """Unless the loop has come round while it was looked for: it may not hold any more then."""
        if number == self._number:
            self._found[key] = found

    def _end(self) -> None:
        self._found.clear()
        self._loop = None
        self._number += 1
