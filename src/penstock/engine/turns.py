"""How long an execution may compute before others get their turn: shared by all that compute at the same time.

The loop looks at requests only when everybody who is ready has had a turn, so that a hundred turns are one long wait.
"""

import asyncio

FIRST_TURN = 0.000_5
"""Seconds that whoever begins may have before they are counted: most are done by then, and several begin at once."""
_LONGEST = 0.005
_SHORTEST = 0.000_1


class Turns:
    def __init__(self) -> None:
        self.length = _LONGEST
        self._taken = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    async def end(self) -> None:
        """Let others have theirs."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop or not self._taken:
            self._loop, self._taken = loop, 0
            # It comes before whoever ends a turn in this round of the loop has the next one.
            loop.call_soon(self._share)
        self._taken += 1
        await asyncio.sleep(0)

    def _share(self) -> None:
        self.length = max(_LONGEST / max(self._taken, 1), _SHORTEST)
        self._taken = 0


turns = Turns()
