"""How many executions work at once. One that sleeps, listens or waits for another lends its slot."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Slots:
    def __init__(self, most: int, freed: Callable[[], None]) -> None:
        self._most = most
        self._taken = 0
        self._freed = freed
        self._lent: Counter[str] = Counter()

    @property
    def free(self) -> bool:
        return self._taken < self._most

    def take(self) -> None:
        self._taken += 1

    def give_back(self) -> None:
        self._taken -= 1
        self._freed()

    @contextmanager
    def lent(self, execution_id: str) -> Iterator[None]:
        """Whoever wakes goes on at once, even if all slots are taken then: it was admitted long ago.

        An execution has one slot, however many of its branches wait.
        """
        self._lent[execution_id] += 1
        if self._lent[execution_id] == 1:
            self.give_back()
        try:
            yield
        finally:
            self._lent[execution_id] -= 1
            if not self._lent[execution_id]:
                del self._lent[execution_id]
                self.take()
