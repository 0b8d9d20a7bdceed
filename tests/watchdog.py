"""A test that hangs tells where each of its tasks waits, shortly before the time runs out that pyproject.toml gives it.

pytest's own watchdog ends it then, and knows threads only: of one that waits in an event loop it can say no more.
"""

import asyncio
import gc
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

_EARLIER = 10  # seconds


class Watchdog:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: tuple[float, str] | None = None
        self._terminal = os.fdopen(os.dup(2), "w")  # what tests say themselves is caught
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._running = time.monotonic(), item.nodeid
        try:
            return (yield)
        finally:
            self._running = None

    def _watch(self) -> None:
        told = None
        while True:
            time.sleep(self._seconds / 100)
            running = self._running
            if running is not None and running is not told and time.monotonic() - running[0] > self._seconds:
                told = running
                print(f"\n{running[1]} hangs:", *_waiting(), sep="\n  ", file=self._terminal, flush=True)


def _waiting() -> Iterator[str]:
    loops = [each for each in gc.get_objects() if isinstance(each, asyncio.AbstractEventLoop)]
    for task in {task for loop in loops for task in asyncio.all_tasks(loop)}:
        yield f"{task.get_name()}: {' > '.join(_places(task.get_coro()))}"


def _places(awaited: Any) -> Iterator[str]:
    while awaited is not None:
        frame = getattr(awaited, "cr_frame", None) or getattr(awaited, "ag_frame", None)
        if frame is None:
            yield type(awaited).__name__
            return
        yield f"{frame.f_code.co_qualname}:{frame.f_lineno}"
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "ag_await", None)


def pytest_configure(config: pytest.Config) -> None:
    seconds = float(config.getini("faulthandler_timeout") or 0) - _EARLIER
    if seconds > 0:
        config.pluginmanager.register(Watchdog(seconds))
