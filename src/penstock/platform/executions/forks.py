"""Running again from a step in a branch that was given up, because another one had ended the fork: it won, failed, or
said `end`. That one must not end the fork again at once, or the step would never run."""

from itertools import accumulate, pairwise
from typing import Any

import msgspec

from penstock.storage import Row


def kept_until(rows: Any, chosen: Row) -> dict[str, int]:
    """By the other branches of such forks: what ended there from this moment on is done again."""
    of_place = {str(row["position"]): row for row in rows}
    began = chosen["started_at"] or 0
    return {
        branch: min(began, _last(rows, branch)) if branch in ended_by else began
        for fork, own in _given_up(of_place, chosen)
        for ended_by in [_enders(of_place, fork)]
        for branch in _branches(of_place, fork)
        if branch != own
    }


def _given_up(of_place: dict[str, Row], chosen: Row) -> list[tuple[str, str]]:
    """Forks around the step, each with the branch in which the step is."""
    return [
        (fork, own)
        for fork, own in pairwise(places_around(chosen))
        if own.startswith(f"{fork}/b") and own in of_place and of_place[own]["status"] == "cancelled"
    ]


def _branches(of_place: dict[str, Row], fork: str) -> list[str]:
    return [place for place in of_place if place.startswith(f"{fork}/b") and "/" not in place[len(fork) + 1 :]]


def _enders(of_place: dict[str, Row], fork: str) -> list[str]:
    """Those that ended it, maybe before the step began, in the same moment."""
    status = of_place[fork]["status"] if fork in of_place else None
    if status not in {"completed", "failed"}:
        return []
    ended = [place for place in _branches(of_place, fork) if of_place[place]["status"] == status]
    return [place for place in ended if _says_end(of_place[place])] or ended


def _says_end(branch: Row) -> bool:
    return bool(branch["state"]) and msgspec.json.decode(branch["state"]).get("then") == "end"


def _last(rows: Any, branch: str) -> int:
    """When the last of its steps ended that has none inside."""
    inside = [row for row in rows if branch in places_around(row)]
    around = {place for row in inside for place in places_around(row)[:-1]}
    return max((row["completed_at"] or 0 for row in inside if row["position"] not in around), default=0)


def places_around(row: Row) -> list[str]:
    """From the outside in; the last one is its own."""
    return list(accumulate(str(row["position"]).split("/"), lambda outer, inner: f"{outer}/{inner}"))
