"""One process for untrusted work, mostly jq, as the server sees it: started, asked one thing at a time, ended when it
takes too long."""

import asyncio
import contextlib
import importlib.util
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

from penstock.dsl.expressions import ExpressionFailed, NotAnExpression
from penstock.engine.jq import worker

_STARTS_WITHIN = 30.0
_BUFFER = 256 * 1024
# Where others have the processor, one that has had less than its time waits for it so many times as long.
_PATIENCE = 10
# What an interpreter may need to find its own libraries; the process forgets it as soon as it runs.
_TO_START = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_TOO_DEEP = {signal.SIGSEGV, signal.SIGBUS}


class Limits(NamedTuple):
    """For one evaluation: of the processor's time, of memory, and of all outputs together in bytes."""

    seconds: float
    megabytes: int
    most_output: int


class ProcessLost(Exception):
    """The process ended for a reason that was not the expression's: it can be asked of another one."""


class Process:
    """Not for two at once. After any failure but an answered one it is gone."""

    def __init__(
        self,
        process: asyncio.subprocess.Process,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        limits: Limits,
    ) -> None:
        self._process = process
        self._reader = reader
        self._writer = writer
        self._limits = limits

    @classmethod
    async def start(cls, limits: Limits, command: Sequence[str]) -> "Process":
        """Raises OSError or ProcessLost when there is no room for one."""
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                reader, writer = await asyncio.open_connection(sock=ours, limit=_BUFFER)
            except BaseException:
                ours.close()
                raise
            try:
                process = await asyncio.create_subprocess_exec(
                    *command,
                    stdin=theirs.fileno(),
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={name: os.environ[name] for name in _TO_START if name in os.environ},
                    cwd="/",
                    start_new_session=True,
                )
            except BaseException:
                writer.close()
                raise
        started = cls(process, reader, writer, limits)
        try:
            await started._ready()
        except BaseException:
            await started.end()
            raise
        return started

    async def _ready(self) -> None:
        try:
            async with asyncio.timeout(_STARTS_WITHIN):
                await self._reader.readexactly(worker.ANSWER.size)
        except (TimeoutError, asyncio.IncompleteReadError, OSError) as error:
            raise ProcessLost(f"it did not start: {error}") from error

    @property
    def alive(self) -> bool:
        return not self._reader.at_eof() and self._process.returncode is None and not self._writer.is_closing()

    async def ask(self, program: bytes, document: bytes) -> bytes:
        """The outputs, as JSON with commas between. With no document the program is only compiled."""
        try:
            async with _time_of(self._process.pid, self._limits.seconds):
                return await self._asked(program, document)
        except TimeoutError as error:
            await self.end()
            raise ExpressionFailed(_took_too_long(self._limits)) from error
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            await self.end()
            raise self._reason() from error
        except asyncio.CancelledError:
            # It would answer whoever asks next with this one's outputs.
            self._kill()
            raise

    async def _asked(self, program: bytes, document: bytes) -> bytes:
        self._writer.write(worker.REQUEST.pack(len(program), len(document)) + program + document)
        await self._writer.drain()
        letter, length = worker.ANSWER.unpack(await self._reader.readexactly(worker.ANSWER.size))
        if length > self._limits.most_output + 4 * _BUFFER:
            self._kill()
            raise ExpressionFailed(_too_large(self._limits))
        payload = await self._reader.readexactly(length) if length else b""
        if letter == worker.VALUES:
            return payload
        if letter == worker.NOT_COMPILED:
            raise NotAnExpression(payload.decode())
        if letter == worker.TOO_LARGE:
            raise ExpressionFailed(_too_large(self._limits))
        if letter == worker.NO_MEMORY:
            raise ExpressionFailed(_needs_memory(self._limits))
        raise ExpressionFailed(payload.decode())

    def _reason(self) -> Exception:
        """Of its own death, once it is dead."""
        ended_by = -(self._process.returncode or 0)
        if ended_by == signal.SIGABRT:
            return ExpressionFailed(_needs_memory(self._limits))
        if ended_by in _TOO_DEEP:
            return ExpressionFailed("the expression goes too deep: nest or recurse less")
        if ended_by == signal.SIGXCPU:
            return ExpressionFailed(_took_too_long(self._limits))
        return ProcessLost(f"a process for expressions ended with {self._process.returncode}")

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._writer.close()

    async def end(self) -> None:
        """Kill it unless it is dead, and wait until it is."""
        hung_up = self._reader.at_eof() or self._reader.exception() is not None
        if not hung_up:  # To kill what is dead already can lose what it died of.
            self._kill()
        self._writer.close()
        await self._process.wait()


@contextlib.asynccontextmanager
async def _time_of(pid: int, seconds: float) -> AsyncIterator[None]:
    """TimeoutError when the process has had its time.

    By the clock alone, an expression would fail because the machine is busy, or because this server was halted and its
    answer is there, unread.
    """
    loop, began = asyncio.get_running_loop(), _processor_time(pid)
    last = loop.time() + _PATIENCE * seconds
    timer: asyncio.TimerHandle

    def look() -> None:
        nonlocal timer
        left = seconds - (_processor_time(pid) - began)
        if left > 0 and loop.time() < last:
            timer = loop.call_later(max(left, 0.05), look)
        else:
            limit.reschedule(loop.time())

    timer = loop.call_later(seconds, look)
    try:
        async with asyncio.timeout(None) as limit:
            yield
    finally:
        timer.cancel()


def _processor_time(pid: int) -> float:
    """Of a process, as Linux keeps it (clock_getcpuclockid); elsewhere there is the clock only."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except (OSError, AttributeError):
        return time.monotonic()


def command(limits: Limits) -> list[str]:
    found = importlib.util.find_spec("jq")
    packages = Path(found.origin).parent if found and found.origin else Path()
    numbers = (limits.seconds, limits.megabytes, limits.most_output, os.getpid())
    # -I: nothing of the environment, the user's folder or the current one; -S: no packages but the one it is told of.
    return [sys.executable, "-I", "-S", worker.__file__, str(packages), *map(str, numbers)]


def _took_too_long(limits: Limits) -> str:
    return f"the expression took longer than {limits.seconds:g} s: make it do less, or let a task do the work"


def _needs_memory(limits: Limits) -> str:
    return f"the expression needs more memory than {limits.megabytes} MiB: make it build less"


def _too_large(limits: Limits) -> str:
    return f"the expression gives more than {limits.most_output:,} bytes: take a part of it"
