"""Once each, though a worker that dies has written more than the history knows of.

What a walk writes is durable before Temporal hears of it. A walk that goes on from the history does the last of it
again: in other batches, when something came meanwhile. So everything has a name that is the same whenever it is done
again, and with each execution the names are stored of what its history may not know of yet.
"""

import itertools
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from penstock.engine.embedded import statements
from penstock.ids import this_process
from penstock.streams import ExecutionChange, NewEvent, NewLog

T = TypeVar("T")
Write = tuple[str, Any]
_STATUS = statements.STEP_MEMBERS.index("status")
_CHANGED = statements.CHANGING.index("status")
_NUMBER = statements.STEP_MEMBERS.index("sequence_num")
_walks = itertools.count()


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Of all that is in a batch, each list in the order of the batch's."""

    writer: str = ""
    """This walk in this process: what a process keeps in memory does nothing again."""
    era: int = 0
    """What the walk began with. One that begins later has read what was written, and does none of it again."""
    run: str = ""
    """Of Temporal: the history that it is in."""
    history: int = 0
    """How much of its history the walk knew of."""
    sure: int = 0
    """The number of the last batch that is in the history for certain."""
    writes: list[str] = []
    events: list[str] = []
    logs: list[str] = []
    changes: list[str] = []
    unsure: list[str] = []
    """Of the batches before: what the history may not know of."""

    @property
    def all(self) -> list[str]:
        return [*self.writes, *self.events, *self.logs, *self.changes]


class Naming:
    """Inside a workflow, for as long as it is in memory."""

    def __init__(self, era: int, run: str = "") -> None:
        self._era = era
        self._run = run
        self._last = era
        self._writer = f"{this_process()}-{next(_walks)}"
        self._counts: Counter[str] = Counter()
        self._unsure: list[tuple[int, list[str]]] = []

    def of(
        self,
        history: int,
        writes: Sequence[Write],
        events: Sequence[NewEvent],
        logs: Sequence[NewLog],
        changes: Sequence[ExecutionChange],
    ) -> Names:
        """`history`: its length now. What was written when it was shorter is in it."""
        self._unsure = [(at, names) for at, names in self._unsure if at >= history]
        sure, self._last = self._last - len(self._unsure), self._last + 1
        return Names(
            writer=self._writer,
            era=self._era,
            run=self._run,
            history=history,
            sure=sure,
            writes=self._counted(_of_write(*write) for write in writes),
            events=self._counted(_of_event(event) for event in events),
            logs=self._counted(f"{entry.level} {entry.module_name} {entry.message}" for entry in logs),
            changes=self._counted(_of_changes(changes, writes)),
            unsure=[name for _, names in self._unsure for name in names],
        )

    def written(self, history: int, names: Names) -> None:
        self._unsure.append((history, names.all))

    def _counted(self, names: Iterable[str]) -> list[str]:
        found = []
        for name in names:
            self._counts[name] += 1
            found.append(f"{name} {self._counts[name]}")
        return found


def _of_write(name: str, row: Any) -> str:
    match name:
        case "add_step":
            return f"{row[0]} {row[_STATUS]}"
        case "change_step":
            return f"{row[0]} {row[_CHANGED]}"
        case "add_execution":
            return f"{name} {row['id']}"
        case "add_consumed":
            return f"{name} {row['position']} {row['number']}"
        case _:
            # Whose it is: who finds a child there does not start it again, and must not give its names to another.
            return " ".join([name, *(str(row[member]) for member in ("id_", "position_") if member in row)])


def _of_changes(changes: Sequence[ExecutionChange], writes: Sequence[Write]) -> Iterator[str]:
    born: defaultdict[str, deque[str]] = defaultdict(deque)
    for name, row in writes:
        if name == "add_execution":
            born[row["workflow_id"]].append(row["id"])
    for each in changes:
        whose = born[each.workflow_id].popleft() if each.before is None and born[each.workflow_id] else each.workflow_id
        yield f"{whose} {each.before} {each.after}"


def _of_event(event: NewEvent) -> str:
    # Its data up to its time says which of several steps with the same name it is.
    data = event.data.partition('At":')[0] if isinstance(event.data, str) else ""
    return f"{event.type} {event.step_name} {data}"


def numbers(writes: Sequence[Write]) -> dict[str, int]:
    """By step, as this walk counts them."""
    return {row[0]: row[_NUMBER] for name, row in writes if name == "add_step"}


class Written(msgspec.Struct, kw_only=True):
    """What is stored with an execution."""

    era: int
    run: str = ""
    history: int = 0
    at: int = 0
    """When it was written."""
    sure: int = 0
    last: int
    """The number of the last batch of the walk that wrote last."""
    own: list[str] = []
    """What that walk has written, and its history may not know of."""
    earlier: list[str] = []
    """What walks before it had, as long as it has not done it again."""

    def is_ahead_of(self, names: Names, number: int) -> bool:
        """Whoever was taken for lost may go on with what it had in hand, of which the other has done more since. And a
        Temporal that was restored to an older moment has forgotten what a history had for certain, however long that
        has grown since."""
        return (self.era, self.history) > (names.era, names.history) or number <= self.sure


def undone_writes(writes: Sequence[Write], names: Names, done: frozenset[str]) -> list[Write]:
    """What was there before is changed; what was done is done. What has no name follows from the end."""
    ended = any(name.startswith("end_execution") for name in done)
    found = [_stored(write, done) for write, name in zip(writes, names.writes, strict=False) if name not in done]
    return found + ([] if ended else list(writes[len(names.writes) :]))


def undone(things: Sequence[T], names: Sequence[str], done: frozenset[str]) -> list[T]:
    ended = any(name.startswith("end_execution") for name in done)
    found = [thing for thing, name in zip(things, names, strict=False) if name not in done]
    return found + ([] if ended else list(things[len(names) :]))


def _stored(write: Write, done: frozenset[str]) -> Write:
    name, row = write
    if name != "add_step" or not any(each.startswith(f"{row[0]} ") for each in done):
        return write
    step = dict(zip(statements.STEP_MEMBERS, row, strict=True))
    return "change_step", tuple(step["id" if member == "id_" else member] for member in statements.CHANGING)
