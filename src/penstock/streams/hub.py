"""Who listens to what: one reader for each workflow that somebody listens to, whose rows go to all of them.

A listener that comes back with the id that it saw last catches up from the database first, at its own pace, and joins
the others when it has nothing left to read. One that cannot keep up is let go, and can resume; nobody waits for it.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Literal

import msgspec
import structlog

from penstock.storage import Database, StorageError
from penstock.streams import journal
from penstock.streams.reading import LAST, READ, Entry, entry_from
from penstock.streams.signals import Signals

log = structlog.get_logger()

Kind = Literal["event", "log"]
Matches = Callable[[Entry], bool]
Permit = Callable[[], Awaitable[str | None]]
"""Why a listener may not listen any longer; None while it may."""

_PAGE = 500
_MOST_WAITING = 2_000  # entries that may wait for one listener
_MOST_BYTES = 2 * 1024 * 1024
_CHECK_EVERY = 2.0


class Listener:
    """One open stream. `waiting` is bounded; `reason` is set when it has to end."""

    def __init__(self, matches: Matches, permit: Permit, permit_key: Any, after: int) -> None:
        self.matches = matches
        self.permit = permit
        self.permit_key = permit_key
        self.position = after
        self.reason: str | None = None
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._something = asyncio.Event()

    def offer(self, entry: Entry) -> None:
        if entry.id <= self.position or self.reason is not None:
            return
        self.position = entry.id
        if not self.matches(entry):
            return
        self._waiting.append(entry.frame)
        self._bytes += len(entry.frame)
        if len(self._waiting) > _MOST_WAITING or self._bytes > _MOST_BYTES:
            self._waiting.clear()
            self.end("too slow; resume from the last id")
            return
        self._something.set()

    def end(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
        self._something.set()

    async def take(self, patience: float) -> bytes:
        """All that waits, as one piece; empty after the time, or when the stream has to end."""
        if not self._waiting and self.reason is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(patience):
                    await self._something.wait()
        frames = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        if self.reason is None:
            self._something.clear()
        return frames


class _Topic:
    def __init__(self, kind: Kind, workflow_id: str, last: int) -> None:
        self.kind: Kind = kind
        self.workflow_id = workflow_id
        self.last = last
        self.listeners: set[Listener] = set()
        self.stale = False
        self.reader: asyncio.Task[None] | None = None


class Hub:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._topics: dict[tuple[Kind, str], _Topic] = {}
        self._listeners: set[Listener] = set()
        self._signals = Signals(database, self)
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        journal.sleepers.add(self)

    @property
    def listening(self) -> int:
        return len(self._listeners)

    @property
    def tasks(self) -> int:
        """How many tasks it keeps running: none when nobody listens."""
        readers = sum(1 for topic in self._topics.values() if topic.reader is not None)
        return readers + (self._keeper is not None) + self._signals.tasks

    def kinds(self) -> set[Kind]:
        return {kind for kind, _ in self._topics}

    def wake(self, workflow_ids: Iterable[str] | None) -> None:
        """New entries may be there, of these workflows or of any. Never raises: it runs after a commit."""
        if not self._topics:
            return
        names = (
            list(self._topics) if workflow_ids is None else [(k, id_) for id_ in workflow_ids for k in ("event", "log")]
        )
        for name in names:
            topic = self._topics.get(name)
            if topic is not None:
                self._read_soon(topic)

    def _read_soon(self, topic: _Topic) -> None:
        topic.stale = True
        if topic.reader is None:
            topic.reader = self._loop.create_task(self._read(topic))

    async def _read(self, topic: _Topic) -> None:
        """Read what is new, once for all who listen. Wake-ups that come meanwhile make it look again."""
        try:
            while topic.stale and topic.listeners:
                topic.stale = False
                entries = await self.after(topic.kind, topic.workflow_id, topic.last)
                if entries:
                    topic.last = entries[-1].id
                    for listener in topic.listeners:
                        for entry in entries:
                            listener.offer(entry)
                if len(entries) == _PAGE:
                    topic.stale = True
                    await asyncio.sleep(0)  # SQLite answers without ever pausing
        except StorageError as error:
            # They resume from where they were, when the database is back.
            log.warning("a stream cannot be read", workflow_id=topic.workflow_id, error=str(error))
            for listener in topic.listeners:
                listener.end("the database cannot be reached; resume from the last id")
        finally:
            topic.reader = None

    async def after(self, kind: Kind, workflow_id: str, id_: int) -> Sequence[Entry]:
        rows = await self._database.all(READ[kind], workflow_id=workflow_id, after=id_, limit=_PAGE)
        return [entry_from(kind, row) for row in rows]

    async def newest(self, kind: Kind, workflow_id: str) -> int:
        row = await self._database.one(LAST[kind], workflow_id=workflow_id)
        return int(row[0] or 0) if row is not None else 0

    @asynccontextmanager
    async def listen(
        self,
        kind: Kind,
        workflow_id: str,
        *,
        matches: Matches,
        permit: Permit,
        permit_key: Any = None,
        after: int | None = None,
    ) -> AsyncIterator[tuple[Listener, AsyncIterator[bytes]]]:
        """A listener, and first what it missed since `after`; without that, only what is new from now on."""
        self._signals.want()
        start = await self.newest(kind, workflow_id) if after is None else after
        listener = Listener(matches, permit, permit_key, start)
        self._listeners.add(listener)
        if self._closed:
            listener.end("the server shuts down")
        if self._keeper is None:
            self._keeper = self._loop.create_task(self._keep())
        try:
            yield listener, self._missed(kind, workflow_id, listener)
        finally:
            self._listeners.discard(listener)
            topic = self._topics.get((kind, workflow_id))
            if topic is not None:
                topic.listeners.discard(listener)
                if not topic.listeners:
                    del self._topics[kind, workflow_id]
            if not self._listeners:
                self._rest()

    async def _missed(self, kind: Kind, workflow_id: str, listener: Listener) -> AsyncIterator[bytes]:
        while listener.reason is None:
            entries = await self.after(kind, workflow_id, listener.position)
            if entries:
                listener.position = entries[-1].id
                if frames := b"".join(entry.frame for entry in entries if listener.matches(entry)):
                    yield frames
            if len(entries) == _PAGE:
                await asyncio.sleep(0)
            elif self._join(kind, workflow_id, listener):
                return

    def _join(self, kind: Kind, workflow_id: str, listener: Listener) -> bool:
        """From here on it hears what all hear, unless they are ahead of it. Nothing may wait between look and join."""
        topic = self._topics.get((kind, workflow_id))
        if topic is None:
            topic = self._topics[kind, workflow_id] = _Topic(kind, workflow_id, listener.position)
            topic.listeners.add(listener)
            # A commit may have come between its last read and now, when nobody was there to be woken.
            self._read_soon(topic)
        elif topic.last > listener.position:
            return False
        topic.listeners.add(listener)
        return True

    async def _keep(self) -> None:
        """Ends the streams of those who may not listen any longer: asked once for all streams of one session."""
        while True:
            await asyncio.sleep(_CHECK_EVERY)
            answers: dict[Any, str | None] = {}
            for listener in list(self._listeners):
                key = listener.permit_key if listener.permit_key is not None else listener
                if key not in answers:
                    try:
                        answers[key] = await listener.permit()
                    except StorageError:
                        answers[key] = None  # nobody can say now; asked again in a moment
                    await asyncio.sleep(0)
                if (reason := answers[key]) is not None:
                    listener.end(reason)

    def _rest(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            self._keeper = None
        self._signals.rest()

    def end_all(self, reason: str) -> None:
        self._closed = True
        for listener in self._listeners:
            listener.end(reason)

    async def close(self) -> None:
        self.end_all("the server shuts down")
        journal.sleepers.discard(self)
        self._rest()
        await self._signals.close()


class _End(msgspec.Struct):
    reason: str


def end_frame(reason: str) -> bytes:
    return b"event: end\ndata: " + msgspec.json.encode(_End(reason)) + b"\n\n"
