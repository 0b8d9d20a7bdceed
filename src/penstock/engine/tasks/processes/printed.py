"""What a process prints: kept up to a bound, and said line by line in the execution's log while it runs."""

import asyncio
import re
from collections.abc import Callable

from penstock.engine.tasks.work import LogLevel, Work

MOST_LINES = 1_000
LONGEST_LINE = 2_000
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Lines:
    """Says the lines of one process, as many as a log can bear."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._said = 0

    def say(self, level: LogLevel, stream: str, line: bytes) -> bool:
        """False when no more of them are said."""
        self._said += 1
        if self._said > MOST_LINES:
            if self._said == MOST_LINES + 1:
                self._work.says("warn", f"it prints more than {MOST_LINES:,} lines; the rest is not logged")
            return False
        text = line[: LONGEST_LINE * 8].decode("utf-8", "replace").rstrip("\r")
        # Masked before it is cut: half a secret would not be found.
        text = _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", self._work.secrets.mask_text(text))
        cut = text if len(text) <= LONGEST_LINE else text[:LONGEST_LINE] + " …"
        self._work.says(level, cut, stream=stream)
        return True


class Printed(asyncio.Protocol):
    """One of the two streams. `full` is called once, when there is more than may be kept."""

    def __init__(self, most: int, full: Callable[[], None], say: Callable[[bytes], bool]) -> None:
        self._most = most
        self._full = full
        self._say = say
        self._kept = bytearray()
        self._line_from = 0
        self._logged = True
        self.is_full = False
        self.closed = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        if self.is_full:
            return
        begin = len(self._kept)
        self._kept += data[: self._most - begin]
        self._say_lines(begin)
        if begin + len(data) > self._most:
            self.is_full = True
            self._full()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._logged and self._line_from < len(self._kept):
            self._say(bytes(self._kept[self._line_from :]))
        if not self.closed.done():
            self.closed.set_result(None)

    def _say_lines(self, begin: int) -> None:
        while self._logged and (end := self._kept.find(b"\n", begin)) >= 0:
            line = self._kept[self._line_from : min(end, self._line_from + LONGEST_LINE * 8)]
            self._logged = self._say(bytes(line))
            self._line_from = begin = end + 1

    def text(self) -> str:
        """Without the newline at its end, which a line has and a value has not."""
        text = self._kept.decode("utf-8", "replace")
        return text[:-1].removesuffix("\r") if text.endswith("\n") else text
