"""Something that is to be seen to by some worker, once at a time: a schedule that is due, events that came in.

What there is to do is in the database. The workflow's id says whose; a signal says only: look again.
"""

from datetime import timedelta

from temporalio import workflow

from penstock.engine.temporal import passed
from penstock.engine.temporal.calls import FOREVER, near

ERRAND = "Errand"
SCHEDULE = "schedule"
EVENTS = "events"
SINKS = "sinks"
_LONGEST_ID = 36
_LONGEST = timedelta(minutes=5)


def errand_id(kind: str, of: str, rest: str = "") -> str:
    return f"{kind}/{of}/{rest}" if rest else f"{kind}/{of}"


def errand_of(workflow_id: str) -> passed.Errand:
    """Temporal's schedules add to the id when they start it: the time, after a hyphen."""
    kind, _, tail = workflow_id.partition("/")
    rest = tail[_LONGEST_ID:].removeprefix("/").partition("-")[0]
    return passed.Errand(kind=kind, of=tail[:_LONGEST_ID], rest=rest)


async def _seen_to(errand: passed.Errand) -> bool:
    if errand.kind != SINKS:
        return await near("see_to", errand, bool)
    # A sink may take its time.
    sent: bool = await workflow.execute_activity(
        "see_to", errand, result_type=bool, start_to_close_timeout=_LONGEST, retry_policy=FOREVER
    )
    return sent


@workflow.defn(name=ERRAND)
class ErrandWorkflow:
    def __init__(self) -> None:
        self._rung = True

    @workflow.signal
    def again(self) -> None:
        self._rung = True

    @workflow.run
    async def run(self) -> None:
        errand = errand_of(workflow.info().workflow_id)
        while self._rung:
            self._rung = False
            # There is more to do than fits into one look, or somebody rang meanwhile.
            self._rung = await _seen_to(errand) or self._rung
            if self._rung and workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new()
