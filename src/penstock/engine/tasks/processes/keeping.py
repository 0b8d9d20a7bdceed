"""What all that start a process share: its keeper, a place among those that may run at once, and an end in any case."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import IO, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from penstock.engine.behalf import on_behalf_of
from penstock.engine.tasks.processes import keeper
from penstock.engine.tasks.processes.command import interpreter
from penstock.engine.tasks.work import Work

_ending: set[asyncio.Task[None]] = set()


class _Places:
    """Of one event loop: as many as the setting says, of which one project has half at most."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._all = asyncio.Semaphore(most)
        self._projects: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        # A hundred at once would keep the loop from everything else: each start stops it for a moment.
        self.starting = asyncio.Semaphore(os.cpu_count() or 1)

    @contextlib.asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        project = on_behalf_of.get()
        if project is None:
            async with self._all:
                yield
            return
        own = self._projects.setdefault(project, asyncio.Semaphore(self._half))
        async with own, self._all:
            yield


_places: WeakKeyDictionary[asyncio.AbstractEventLoop, _Places] = WeakKeyDictionary()


def places(work: Work) -> _Places:
    return _places.setdefault(asyncio.get_running_loop(), _Places(work.tools.limits.processes_at_once))


def bounds(work: Work) -> keeper.Bounds:
    limits = work.tools.limits
    return limits.process_memory, limits.process_cpu


def start_keeper(stdin: IO[bytes] | int, control: int, folder: Path | str) -> "subprocess.Popen[bytes]":
    """Without a `preexec_fn` it is vfork, whose cost does not grow with our memory. The loop's own subprocesses differ
    from loop to loop (a socket for standard input, a thread for each), so they are not used."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [interpreter(), "-I", "-S", keeper.__file__, str(control)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        cwd=folder,
        env={},
        pass_fds=(control,),
        start_new_session=True,
    )


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Also when we are cancelled meanwhile."""
    task = asyncio.create_task(work)
    _ending.add(task)
    task.add_done_callback(_ending.discard)
    await asyncio.shield(task)
