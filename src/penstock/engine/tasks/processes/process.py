"""One process, from its start to its end, in a temporary directory and with nothing of the server's environment.

A keeper (keeper.py) stands between: it is what ends the process when we ask, and when we are gone ourselves.
"""

import asyncio
import contextlib
import errno
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from penstock.engine.faults import Fault, runtime
from penstock.engine.tasks.processes import keeper
from penstock.engine.tasks.processes.command import Command, search_path
from penstock.engine.tasks.processes.keeping import bounds, places, start_keeper, to_the_end
from penstock.engine.tasks.processes.printed import Lines, Printed
from penstock.engine.tasks.work import Work

_PIPES_SECONDS = 1.0  # what is printed has arrived when its process is gone, but for what others hold open


class Ended(msgspec.Struct, frozen=True):
    code: int
    stdout: str
    stderr: str
    result: bytes | None = None
    """What is in the file that the command names for it."""


async def run(command: Command, work: Work, *, logs: bool = True) -> Ended:
    """Start it and wait for its end; cancelled, nothing of it is left. `work.says` what it prints."""
    try:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(places(work).taken())
            async with places(work).starting:
                folder = await stack.enter_async_context(_folder(command))
                running = await stack.enter_async_context(_started(_Running(command, work, folder, logs=logs)))
            return await running.ended()
    except OSError as error:
        # The machine has no more of something: disk, memory, processes, descriptors.
        raise runtime("Process could not be started", os.strerror(error.errno or 0)) from error


class _Running:
    def __init__(self, command: Command, work: Work, folder: Path, *, logs: bool) -> None:
        self._command = command
        self._most = work.tools.limits.answer_bytes
        self._bounds = bounds(work)
        self._folder = folder
        self._pipes: list[asyncio.ReadTransport] = []
        lines = Lines(work) if logs else None
        self._stdout = Printed(self._most, self._end, partial(lines.say, "info", "stdout") if lines else _quiet)
        self._stderr = Printed(self._most, self._end, partial(lines.say, "warn", "stderr") if lines else _quiet)

    def start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        try:
            with theirs, _stdin(self._command.stdin, self._folder) as stdin:
                self._keeper = start_keeper(stdin, theirs.fileno(), self._folder)
        except BaseException:
            self._control.close()
            raise

    async def begin(self) -> None:
        """Until the process has been started, or not."""
        loop = asyncio.get_running_loop()
        for printed, pipe in ((self._stdout, self._keeper.stdout), (self._stderr, self._keeper.stderr)):
            self._pipes.append((await loop.connect_read_pipe(partial(_same, printed), pipe))[0])
        # A keeper that is gone before it listened: its answer, or the lack of one, tells.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await loop.sock_sendall(self._control, self._order())
            await loop.sock_recv(self._control, 1)

    async def ended(self) -> Ended:
        answer = await self._answer()
        await asyncio.wait((self._stdout.closed, self._stderr.closed), timeout=_PIPES_SECONDS)
        return self._told(answer)

    async def gone(self) -> None:
        self._end()
        await self._answer()
        await asyncio.to_thread(self._keeper.wait)
        for pipe in self._pipes:
            pipe.close()
        for stream in (self._keeper.stdout, self._keeper.stderr):
            if stream is not None:
                stream.close()
        self._control.close()

    def _order(self) -> bytes:
        own = {"PATH": search_path(), "HOME": str(self._folder), "TMPDIR": str(self._folder), "LANG": "C.UTF-8"}
        command = self._command
        return keeper.order(
            str(self._folder),
            command.arguments,
            {**own, **command.environment},
            command.last,
            self._bounds,
            adopts=command.adopts,
        )

    async def _answer(self) -> str:
        """Of the keeper, when it has one; blank when somebody killed it."""
        loop = asyncio.get_running_loop()
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := await loop.sock_recv(self._control, 64):
                answer += chunk
        return answer.decode()

    def _end(self) -> None:
        """The keeper ends the process; it has ended by itself when it was not running any more."""
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    def _told(self, answer: str) -> Ended:
        program = Path(self._command.arguments[0]).name
        if self._stdout.is_full or self._stderr.is_full:
            raise runtime(
                "Too much output",
                f"{program} printed more than {self._most:,} bytes, which is the limit, and was ended",
            )
        said, _, number = answer.partition(" ")
        if said == "error":
            raise _not_started(program, int(number))
        if said != "code":
            raise runtime("Process lost", f"{program} was ended by somebody else on the server's machine")
        return Ended(int(number), self._stdout.text(), self._stderr.text(), self._result())

    def _result(self) -> bytes | None:
        if self._command.result is None:
            return None
        path = self._folder / self._command.result
        try:
            # No link or pipe: the process may have put anything in its place.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                content = file.read(self._most + 1)
        except OSError:
            return None
        if len(content) > self._most:
            raise runtime("Too much output", f"the result is longer than {self._most:,} bytes, which is the limit")
        return content


@contextlib.contextmanager
def _stdin(text: str | None, folder: Path) -> Any:
    """A file, not a pipe: nobody has to feed it while the output is read, and it can be opened as /dev/stdin."""
    if text is None:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(text.encode())
        file.seek(0)
        yield file


@contextlib.asynccontextmanager
async def _started(running: _Running) -> AsyncIterator[_Running]:
    running.start()
    try:
        await running.begin()
        yield running
    finally:
        await to_the_end(running.gone())


@contextlib.asynccontextmanager
async def _folder(command: Command) -> AsyncIterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=keeper.FOLDER))
    try:
        for name, content in command.files.items():
            (folder / name).write_text(content, encoding="utf-8")
        yield folder
    finally:
        await to_the_end(asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True))


def _same(printed: Printed) -> Printed:
    return printed


def _quiet(_: bytes) -> bool:
    return False


def _not_started(program: str, number: int) -> Fault:
    reason = "its arguments and environment are too long" if number == errno.E2BIG else os.strerror(number)
    return runtime(f"{program} could not be started", reason)
