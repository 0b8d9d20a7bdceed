"""Where executions come from, so that none starts itself, or ever more others, without end.

Each knows the one at which it all began (`origin`), and how many links, levels and events lie between (`chain`,
`depth`, `hops`). That goes with it whichever way it starts the next one: two ways in turn would else make it forget.
"""

from collections import OrderedDict
from typing import Any

from penstock.engine.embedded.execution import Execution
from penstock.engine.host import Json

LONGEST_CHAIN = 32
DEEPEST = 32
MOST_HOPS = 100
MOST_OF_ONE = 100_000
_MOST_REMEMBERED = 100_000
_COUNTS = ("chain", "depth", "hops")
# A member of events that were emitted here. Those that come in have no object there, and cannot lie about it.
_MARK = "penstock"


class Families:
    """How many executions came of one, with all that came of those, in this turn of the engine."""

    def __init__(self) -> None:
        self._born: OrderedDict[str, int] = OrderedDict()

    def admit(self, lineage: Json) -> bool:
        """Count one more; false when it would be one too many."""
        origin = str(lineage.get("origin"))
        born = self._born.pop(origin, 0)
        self._born[origin] = min(born + 1, MOST_OF_ONE)
        if len(self._born) > _MOST_REMEMBERED:
            self._born.popitem(last=False)
        return born < MOST_OF_ONE


def passed_on(execution: Execution) -> Json:
    """What the executions that it starts know of where they come from."""
    details = execution.details
    known: Json = {name: details[name] for name in _COUNTS if name in details}
    return known | {"origin": details.get("origin", execution.id)}


def marked(event: Json, execution: Execution) -> Json:
    """An event as it is kept: with what it passes on to whom it starts."""
    lineage = passed_on(execution)
    return event | {_MARK: lineage | {"hops": lineage.get("hops", 0) + 1}}


def unmarked(event: Json) -> tuple[Json, Json]:
    """The event as everybody sees it, and what it passes on."""
    mark: Any = event.get(_MARK)
    if not isinstance(mark, dict):
        return event, {}
    return {name: value for name, value in event.items() if name != _MARK}, mark
