"""How many executions work at once. One that sleeps, listens or waits for another lends its slot; but it stays in
memory, so that a project has no more of them than it may: further ones stay pending until one ends.

Who waits for others may wait for those that have not begun: of these, a project may have as many again.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_FEW = 10


class Slots:
    def __init__(self, most: int, freed: Callable[[], None], *, begun: int = 20_000) -> None:
        self._most = most
        self._most_begun = begun
        self._begun: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        self._waiting_in: Counter[str] = Counter()
        self._taken = 0
        self._freed = freed
        self._lent: Counter[str] = Counter()
        self._projects: dict[str, str] = {}
        self._at_work: Counter[str] = Counter()

    def free_for(self, project_id: str, *, child: bool = False) -> bool:
        """Each project has a few, however many others have: some may hold theirs for days. A child begins however many
        have: those who wait for it would wait for ever."""
        by_themselves = self._begun[project_id] - min(self._waiting_in[project_id], self._most_begun)
        if not child and by_themselves >= self._most_begun:
            return False
        return self._taken < self._most or self._at_work[project_id] < min(_FEW, self._most)

    def take(self, execution_id: str, project_id: str) -> None:
        self._projects[execution_id] = project_id
        self._begun[project_id] += 1
        self._work(project_id)

    def give_back(self, execution_id: str) -> None:
        project_id = self._projects.pop(execution_id)
        _down(self._begun, project_id)
        self._rest(project_id)

    def _work(self, project_id: str) -> None:
        self._taken += 1
        self._at_work[project_id] += 1

    def _rest(self, project_id: str) -> None:
        self._taken -= 1
        _down(self._at_work, project_id)
        self._freed()

    @contextmanager
    def lent(self, execution_id: str, *, for_others: bool = False) -> Iterator[None]:
        """Whoever wakes goes on at once, even if all slots are taken then: it was admitted long ago.

        An execution has one slot, however many of its branches wait.
        """
        project_id = self._projects[execution_id]
        if for_others and _up(self._waiting, execution_id) == 1:
            _up(self._waiting_in, project_id)
        if _up(self._lent, execution_id) == 1:
            self._rest(project_id)
        elif for_others:
            self._freed()
        try:
            yield
        finally:
            if for_others and not _down(self._waiting, execution_id):
                _down(self._waiting_in, project_id)
            if not _down(self._lent, execution_id):
                self._work(project_id)


def _up(counter: Counter[str], name: str) -> int:
    counter[name] += 1
    return counter[name]


def _down(counter: Counter[str], name: str) -> int:
    counter[name] -= 1
    if not counter[name]:
        del counter[name]
    return counter[name]
