"""The steps that a walk in a new history begins with: as few, and as small, as will do."""

from collections.abc import Sequence

from penstock.engine.embedded import statements
from penstock.engine.host import Json
from penstock.storage import Row

_FINISHED = frozenset({"completed", "failed", "skipped"})


def restorable(rows: Sequence[Row]) -> list[Json]:
    """A walk does not look inside a finished step; of those inside only the last is kept, for its number."""
    finished = {str(row["position"]) for row in rows if row["status"] in _FINISHED}
    last = max((int(row["sequence_num"]) for row in rows), default=0)
    kept = [row for row in rows if row["sequence_num"] == last or not _is_inside(str(row["position"]), finished)]
    return [_small(row) for row in kept]


def _is_inside(position: str, finished: set[str]) -> bool:
    while position := position.rpartition("/")[0]:
        if position in finished:
            return True
    return False


def _small(row: Row) -> Json:
    step = {name: row[name] for name in statements.STEP_MEMBERS}
    if step["status"] in _FINISHED:
        # What it was given is stored, and asked for by nobody.
        step["input_data"] = None
    return step


def stored_bytes(rows: Sequence[Row]) -> int:
    return sum(len(row[name]) for row in rows for name in ("input_data", "output_data", "state") if row[name])
