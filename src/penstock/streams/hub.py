"""Who listens to what: one reader for each place that somebody listens to, whose rows go to all of them. A place is a
workflow; or several, which are read along the ids of all workflows as far as these are settled.

A listener that comes back with the id that it saw last catches up from the database first, at its own pace, and joins
the others when it has nothing left to read. So does one that a burst has left behind. One that does not keep up because
its other end hardly reads is let go, and can resume; nobody waits for it.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Literal

import msgspec
import structlog

from penstock.storage import Database, StorageError
from penstock.streams import journal, metrics
from penstock.streams.reading import LAST, READ, Batch, Entry, Piece, Place, Several, entry_from, piece_of
from penstock.streams.settled import settled
from penstock.streams.signals import Signals

log = structlog.get_logger()

Kind = Literal["event", "log"]
Matches = Callable[[Entry], bool]
"""Which entries one wants. Equal ones (by hash) are asked once for all who have them."""
Permit = Callable[[], Awaitable[str | None]]
"""Why a listener may not listen any longer; None while it may."""

_PAGE = 500
_WINDOW = 5_000  # ids that are looked through at once, where few may be wanted
_BREATH = 0.05  # seconds in which what several workflows have to tell comes together
_AT_ONCE = 50  # listeners that are handed something before others get their turn
_MOST_WAITING = 2_000  # entries that may wait for one listener; more of them it reads by itself
_MOST_BYTES = 2 * 1024 * 1024
_CHECK_EVERY = 2.0
_SLOW = 5.0  # seconds that a piece took to leave for somebody whom the others have left behind
_PATIENCE = 30.0  # seconds that one piece may take to leave; then nobody is reading at the other end
_CHECK_SPAN = 0.005  # seconds for each session to be asked about: thousands of them take some percent of a core


class Listener:
    """One open stream. `waiting` is bounded; `reason` is set when it has to end.

    While it is `behind`, it reads by itself, and what the others are told is not kept for it.
    """

    def __init__(self, matches: Matches, permit: Permit, permit_key: Any, after: int) -> None:
        self.matches = matches
        self.permit = permit
        self.permit_key = permit_key
        self.position = after
        self.behind = True
        self.reason: str | None = None
        self.writer: asyncio.Task[Any] | None = None
        self.writing_since: float | None = None
        """When the piece that is on its way was begun."""
        self.took = 0.0
        """Seconds that the last one needed."""
        self._taken = after
        self._waiting: list[bytes] = []
        self._entries = 0
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def offer(self, piece: Piece) -> None:
        """All of it that comes after what it has."""
        if piece.last <= self.position or self.behind or self.reason is not None:
            return
        self.position = piece.last
        if not piece.count:
            return
        self._waiting.append(piece.frames)
        self._entries += piece.count
        self._bytes += len(piece.frames)
        if self._entries > _MOST_WAITING or self._bytes > _MOST_BYTES:
            self._waiting.clear()
            self.behind, self.position = True, self._taken
        self._wake()

    def end(self, reason: str) -> None:
        if self.reason is None:
            self.reason = reason
        self._wake()

    def end_if_slow(self) -> None:
        """It was left behind: by a burst, or because hardly anybody reads at the other end?"""
        if self.took > _SLOW:
            metrics.let_go.inc()
            self.end("too slow; resume from the last id")

    def read(self, last: int) -> None:
        """It has everything up to here, and nothing waits for it."""
        self.position = self._taken = last

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def take(self, patience: float) -> bytes:
        """All that waits, as one piece; empty after the time, or when the stream has to end or to catch up."""
        if not self._waiting and not self.behind and self.reason is None:
            # Not `asyncio.timeout` and an `asyncio.Event`: thousands wait at once, and each wakes for each entry.
            loop = asyncio.get_running_loop()
            self._waiter = loop.create_future()
            timer = loop.call_later(patience, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None
        waiting, self._waiting, self._taken = self._waiting, [], self.position
        self._entries = self._bytes = 0
        return waiting[0] if len(waiting) == 1 else b"".join(waiting)


class _Topic:
    def __init__(self, kind: Kind, place: Place, last: int) -> None:
        self.kind: Kind = kind
        self.place = place
        self.last = last
        self.listeners: set[Listener] = set()
        self.stale = False
        self.reader: asyncio.Task[None] | None = None


async def _hand_out(entries: Sequence[Entry], listeners: Sequence[Listener]) -> None:
    """To some, who then write it, and then to the next: between them the loop looks at what else there is to do.

    Commits that come meanwhile are handed out together, so that many listeners make fewer and larger pieces.
    """
    pieces: dict[Matches, Piece] = {}
    for number, listener in enumerate(listeners, 1):
        if listener.behind:
            pass  # it reads by itself
        elif listener.position >= entries[0].id:
            # It was ahead of the others when it joined them.
            listener.offer(piece_of([entry for entry in entries if entry.id > listener.position], listener.matches))
        else:
            if (piece := pieces.get(listener.matches)) is None:
                piece = pieces[listener.matches] = piece_of(entries, listener.matches)
            listener.offer(piece)
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
    await asyncio.sleep(0)  # SQLite answers without ever pausing


class Hub:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._topics: dict[tuple[Kind, Place], _Topic] = {}
        self._wide: set[_Topic] = set()
        self._listeners: set[Listener] = set()
        self._signals = Signals(database, self)
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        journal.sleepers.add(self)
        metrics.watch(lambda: self.listening)

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
        if workflow_ids is None:
            woken = set(self._topics.values())
        else:
            names: list[tuple[Kind, Place]] = [(kind, id_) for id_ in workflow_ids for kind in ("event", "log")]
            woken = {self._topics[name] for name in names if name in self._topics} | self._wide
        for topic in woken:
            self._read_soon(topic)

    def _read_soon(self, topic: _Topic) -> None:
        topic.stale = True
        if topic.reader is None:
            topic.reader = self._loop.create_task(self._read(topic))

    async def _read(self, topic: _Topic) -> None:
        """Read what is new, once for all who listen. Wake-ups that come meanwhile make it look again."""
        try:
            while topic.stale and topic.listeners:
                if topic in self._wide:
                    await asyncio.sleep(_BREATH)
                topic.stale = False
                batch = await self._next(topic.kind, topic.place, topic.last)
                topic.last = batch.reached
                if batch.entries:
                    await _hand_out(batch.entries, list(topic.listeners))
                if batch.more:
                    topic.stale = True
        except StorageError as error:
            # They resume from where they were, when the database is back.
            name = topic.place if isinstance(topic.place, str) else topic.place.name
            log.warning("a stream cannot be read", of=name, error=str(error))
            for listener in topic.listeners:
                listener.end("the database cannot be reached; resume from the last id")
        finally:
            topic.reader = None

    async def _next(self, kind: Kind, place: Place, position: int) -> Batch:
        if isinstance(place, Several):
            return await self._next_of_several(kind, place, position)
        entries = await self.after(kind, place, position)
        return Batch(entries, entries[-1].id if entries else position, len(entries) == _PAGE)

    async def _next_of_several(self, kind: Kind, place: Several, position: int) -> Batch:
        horizon = await settled(self._database, kind)
        if horizon is None:
            return Batch((), position, more=True)
        upto = min(horizon, position + _WINDOW)
        if upto <= position:
            return Batch((), position, more=False)
        params = dict(place.params)
        rows = await self._database.slow(place.statement, after=position, upto=upto, limit=_PAGE, **params)
        entries = [entry_from(kind, row) for row in rows]
        if len(entries) == _PAGE:
            upto = entries[-1].id
        return Batch(entries, upto, upto < horizon)

    async def after(self, kind: Kind, workflow_id: str, id_: int) -> Sequence[Entry]:
        rows = await self._database.all(READ[kind], workflow_id=workflow_id, after=id_, limit=_PAGE)
        return [entry_from(kind, row) for row in rows]

    async def newest(self, kind: Kind, place: Place) -> int:
        if isinstance(place, str):
            row = await self._database.one(LAST[kind], workflow_id=place)
            return int(row[0] or 0) if row is not None else 0
        while (horizon := await settled(self._database, kind)) is None:
            pass  # it has waited already
        return horizon

    @asynccontextmanager
    async def listen(
        self,
        kind: Kind,
        place: Place,
        *,
        matches: Matches,
        permit: Permit,
        permit_key: Any = None,
        after: int | None = None,
    ) -> AsyncIterator[tuple[Listener, AsyncIterator[bytes]]]:
        """A listener, and first what it missed since `after`; without that, only what is new from now on."""
        self._signals.want()
        start = await self.newest(kind, place) if after is None else after
        listener = Listener(matches, permit, permit_key, start)
        self._listeners.add(listener)
        if self._closed:
            listener.end("the server shuts down")
        if self._keeper is None:
            self._keeper = self._loop.create_task(self._keep())
        try:
            yield listener, self.missed(kind, place, listener)
        finally:
            self._listeners.discard(listener)
            topic = self._topics.get((kind, place))
            if topic is not None:
                topic.listeners.discard(listener)
                if not topic.listeners:
                    del self._topics[kind, place]
                    self._wide.discard(topic)
            if not self._listeners:
                self._rest()

    async def missed(self, kind: Kind, place: Place, listener: Listener) -> AsyncIterator[bytes]:
        """What it does not have yet; at the end it is among the others."""
        while listener.reason is None:
            batch = await self._next(kind, place, listener.position)
            listener.read(batch.reached)
            if frames := piece_of(batch.entries, listener.matches).frames:
                yield frames
            if batch.more:
                await asyncio.sleep(0)
            elif self._join(kind, place, listener):
                return

    def _join(self, kind: Kind, place: Place, listener: Listener) -> bool:
        """From here on it hears what all hear, unless they are ahead of it. Nothing may wait between look and join."""
        topic = self._topics.get((kind, place))
        if topic is None:
            topic = self._topics[kind, place] = _Topic(kind, place, listener.position)
            if isinstance(place, Several):
                self._wide.add(topic)
            # A commit may have come between its last read and now, when nobody was there to be woken.
            self._read_soon(topic)
        elif topic.last > listener.position:
            return False
        topic.listeners.add(listener)
        listener.behind = False
        return True

    async def _keep(self) -> None:
        """Ends the streams of those who may not listen any longer: asked once for all streams of one session."""
        answers: dict[Any, str | None] = {}
        while True:
            await asyncio.sleep(max(_CHECK_EVERY, _CHECK_SPAN * len(answers)))
            answers = {}
            self._let_go_of_the_deaf()
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

    def _let_go_of_the_deaf(self) -> None:
        """One look at all of them now and then: a timer around each piece was a sixth of what it cost."""
        begun_before = time.monotonic() - _PATIENCE
        for listener in self._listeners:
            if listener.writing_since is not None and listener.writing_since < begun_before:
                metrics.let_go.inc()
                listener.end("nobody reads")
                if listener.writer is not None:
                    listener.writer.cancel()

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
