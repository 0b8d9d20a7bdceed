"""Who is next: one execution of each workflow in turn, so that none waits behind another's thousands."""

from collections import deque
from collections.abc import Callable

from penstock.engine.embedded.execution import Execution

_MOST_WITH_INPUT = 1_000
_SMALL_INPUT = 1_024


class FairQueue:
    def __init__(self) -> None:
        self._waiting: dict[str, deque[Execution]] = {}
        self._turns: deque[str] = deque()
        self._held: set[str] = set()
        self._ids: dict[str, Execution] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, execution_id: str) -> bool:
        return execution_id in self._ids

    @property
    def ids(self) -> list[str]:
        return list(self._ids)

    def get(self, execution_id: str) -> Execution | None:
        return self._ids.get(execution_id)

    def put(self, execution: Execution) -> None:
        if execution.id in self._ids:
            return
        if len(self._ids) >= _MOST_WITH_INPUT and len(execution.trigger_data) > _SMALL_INPUT:
            execution.leave_input()  # a hundred thousand may wait
        self._ids[execution.id] = execution
        queue = self._waiting.get(execution.workflow_id)
        if queue is None:
            queue = self._waiting[execution.workflow_id] = deque()
            if execution.workflow_id not in self._held:
                self._turns.append(execution.workflow_id)
        queue.append(execution)

    def next(self, may: Callable[[Execution], bool] = lambda _: True) -> Execution | None:
        """The next one of a workflow whose turn it is, and that may."""
        for _ in range(len(self._turns)):
            workflow_id = self._turns.popleft()
            queue = self._waiting[workflow_id]
            while queue and self._ids.get(queue[0].id) is not queue[0]:
                queue.popleft()  # taken out while it waited
            if not queue:
                del self._waiting[workflow_id]
                continue
            if not may(queue[0]):
                self._turns.append(workflow_id)
                continue
            execution = queue.popleft()
            del self._ids[execution.id]
            if queue:
                self._turns.append(workflow_id)
            else:
                del self._waiting[workflow_id]
            return execution
        return None

    def hold(self, execution: Execution) -> None:
        """Its workflow has as many executions at work as it may: back to the front, until one of them ends."""
        self._ids[execution.id] = execution
        self._held.add(execution.workflow_id)
        self._waiting.setdefault(execution.workflow_id, deque()).appendleft(execution)
        if execution.workflow_id in self._turns:
            self._turns.remove(execution.workflow_id)

    def let_go(self, workflow_id: str) -> None:
        if workflow_id in self._held:
            self._held.discard(workflow_id)
            if workflow_id in self._waiting:
                self._turns.append(workflow_id)

    def take_out(self, execution_id: str) -> bool:
        """It is not started any more."""
        return self._ids.pop(execution_id, None) is not None
