"""MCP over the standard input and output of a process: one message is one line.

The keeper of all our processes stands between: it ends the server, with everything that came of it, when the call is
over, and when we are gone ourselves.
"""

import asyncio
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from asyncio import StreamReader, StreamReaderProtocol, StreamWriter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import IO, Any

import msgspec

from penstock.engine import faults
from penstock.engine.tasks import jsonrpc
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.jsonrpc import MOST_MESSAGES, Message
from penstock.engine.tasks.processes import keeper
from penstock.engine.tasks.processes.command import allow, environment_of, list_of, search_path, text_of
from penstock.engine.tasks.processes.keeping import bounds, places, start_keeper, to_the_end
from penstock.engine.tasks.work import Authorization, Work

_GOODBYE_SECONDS = 2.0
_LAST_WORDS = 1_000


class ProcessConnection:
    authorization: Authorization | None = None

    def __init__(self, transport: Mapping[str, Any], folder: str, work: Work) -> None:
        self._command = [text_of(transport["command"], "command"), *list_of(transport, "MCP server")]
        self._environment = environment_of(transport, "MCP server")
        self.whose = f"the process {self._command[0]}"
        self.folder = folder
        self._most = work.tools.limits.answer_bytes
        self._bounds = bounds(work)
        self._work = work
        self._bytes = self._messages = 0
        self._last_words = b""
        self._pipes: list[asyncio.BaseTransport] = []
        self._listener: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._control, theirs = socket.socketpair()
        self._control.setblocking(False)
        try:
            with theirs:
                self._keeper = start_keeper(subprocess.PIPE, theirs.fileno(), self.folder)
        except BaseException:
            self._control.close()
            raise

    async def begin(self) -> None:
        """Until the process has been started; a fault when it cannot be."""
        self._input = await self._writer(self._keeper.stdin)
        self._output = await self._reader(self._keeper.stdout)
        self._listener = asyncio.create_task(self._listen(await self._reader(self._keeper.stderr)))
        loop = asyncio.get_running_loop()
        own = {"PATH": search_path()}  # and nothing else of ours: the server's environment holds its secrets
        order = keeper.order(self.folder, self._command, own | self._environment, (), self._bounds, adopts=True)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            await loop.sock_sendall(self._control, order)
            await loop.sock_recv(self._control, 1)

    def agreed(self, protocol_version: str) -> None:
        """There is no place for it here."""

    async def ask(self, message: Message) -> AsyncGenerator[Message]:
        await self.tell(message)
        while line := await self._line():
            if line.strip():
                yield jsonrpc.decode(line, self.whose)
        raise await self._ended()

    async def tell(self, message: Message) -> None:
        try:
            self._input.write(msgspec.json.encode(message) + b"\n")
            await self._input.drain()
        except ConnectionError:
            raise await self._ended() from None

    async def goodbye(self) -> None:
        """The end of its input is how a server learns that it is over."""
        self._input.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await self._answer()

    async def gone(self) -> None:
        self._end()
        await self._answer()
        await asyncio.to_thread(self._keeper.wait)
        if self._listener is not None:
            self._listener.cancel()
        for pipe in (*self._pipes, self._keeper.stdin, self._keeper.stdout, self._keeper.stderr):
            if pipe is not None:
                pipe.close()
        self._control.close()

    def _end(self) -> None:
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_WR)

    async def _reader(self, pipe: IO[bytes] | None) -> StreamReader:
        reader = StreamReader(limit=self._most)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: StreamReaderProtocol(reader), pipe)
        self._pipes.append(transport)
        return reader

    async def _writer(self, pipe: IO[bytes] | None) -> StreamWriter:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(lambda: StreamReaderProtocol(StreamReader()), pipe)
        self._pipes.append(transport)
        return StreamWriter(transport, protocol, None, loop)

    async def _line(self) -> bytes:
        try:
            line = await self._output.readline()
        except ValueError:  # longer than the reader's limit
            raise too_large(self._most, self.whose) from None
        self._bytes += len(line)
        self._messages += 1
        if self._bytes > self._most:
            raise too_large(self._most, self.whose)
        if self._messages > MOST_MESSAGES:
            raise faults.communication("Too many messages", f"{self.whose} said more than {MOST_MESSAGES:,} lines")
        return line

    async def _ended(self) -> faults.Fault:
        """Why there is no answer: it may have said so, or could not even be started."""
        self._end()
        said, _, number = (await self._answer()).partition(" ")
        if said == "error":
            reason = os.strerror(int(number)).lower()
            return faults.configuration("Program not started", f"{self._command[0]} cannot be started: {reason}")
        if self._listener is not None:
            await asyncio.wait({self._listener}, timeout=1)
        words = self._work.secrets.mask_text(self._last_words.decode(errors="replace").strip())
        detail = f"{self.whose} ended before it answered" + (f"; it said: {words}" if words else "")
        return faults.communication("The MCP server ended", detail)

    async def _answer(self) -> str:
        """What the keeper says in the end; blank when it said so before, or somebody killed it."""
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := await asyncio.get_running_loop().sock_recv(self._control, 64):
                answer += chunk
        return answer.decode()

    async def _listen(self, errors: StreamReader) -> None:
        """Somebody has to read them, or the process stops when the pipe is full."""
        while chunk := await errors.read(65_536):
            self._last_words = (self._last_words + chunk)[-_LAST_WORDS:]


@contextlib.asynccontextmanager
async def as_process(transport: Mapping[str, Any], work: Work) -> AsyncIterator[ProcessConnection]:
    allow("mcp", work)
    async with places(work).taken():
        async with places(work).starting:
            connection = _started(transport, work)
        try:
            await connection.begin()
            yield connection
            await connection.goodbye()
        finally:
            await to_the_end(_gone(connection))


def _started(transport: Mapping[str, Any], work: Work) -> ProcessConnection:
    folder = tempfile.mkdtemp(prefix="penstock-")
    try:
        connection = ProcessConnection(transport, folder, work)
        connection.start()
    except faults.Fault:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise faults.runtime("Process could not be started", os.strerror(error.errno or 0)) from error
    return connection


async def _gone(connection: ProcessConnection) -> None:
    await connection.gone()
    await asyncio.to_thread(shutil.rmtree, connection.folder, ignore_errors=True)
