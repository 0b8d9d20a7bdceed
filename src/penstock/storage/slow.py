"""Reads that may take long, on SQLite: in a thread, on connections of their own, so that the event loop goes on.

They can be given up: a cancelled request interrupts its query, and so does the clock.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from penstock.storage.database import Busy

_THREADS = 2
_PATIENCE = 30.0  # seconds; as long as PostgreSQL may take for a statement


class _Read:
    """One query, and the connection that it runs on while it does."""

    def __init__(self, text: str, params: dict[str, Any]) -> None:
        self._text = text
        self._params = params
        self._lock = Lock()
        self._given_up = False
        self._connection: sqlite3.Connection | None = None

    def on(self, connection: sqlite3.Connection) -> Sequence[sqlite3.Row]:
        with self._lock:
            if self._given_up:
                raise Busy("the read was given up before it began")
            self._connection = connection
        # An interrupt that comes before the statement has begun is lost; this one looks again and again.
        connection.set_progress_handler(lambda: int(self._given_up), 10_000)
        try:
            return connection.execute(self._text, self._params).fetchall()
        finally:
            connection.set_progress_handler(None, 0)
            with self._lock:
                self._connection = None

    def give_up(self) -> None:
        # Under the lock: a moment later the connection may be reading for somebody else.
        with self._lock:
            self._given_up = True
            if self._connection is not None:
                self._connection.interrupt()


class SlowReads:
    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="sqlite-read")
        self._idle: list[sqlite3.Connection] = []  # never more than there are threads
        self._running: set[_Read] = set()

    async def all(self, text: str, params: dict[str, Any]) -> Sequence[sqlite3.Row]:
        read = _Read(text, params)
        self._running.add(read)
        loop = asyncio.get_running_loop()
        timer = loop.call_later(_PATIENCE, read.give_up)
        try:
            return await loop.run_in_executor(self._threads, self._run, read)
        except asyncio.CancelledError:
            read.give_up()
            raise
        finally:
            timer.cancel()
            self._running.discard(read)

    def _run(self, read: _Read) -> Sequence[sqlite3.Row]:
        connection = self._idle.pop() if self._idle else self._connect()
        try:
            return read.on(connection)
        finally:
            self._idle.append(connection)

    def close(self) -> None:
        for read in list(self._running):
            read.give_up()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for connection in self._idle:
            connection.close()
        self._idle.clear()
