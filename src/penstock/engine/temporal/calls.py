"""How a workflow calls its activities: by name, with their patience, and with a cancellation that looks like one."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, FailureError, is_cancelled_exception

from penstock.engine.temporal.passed import Local, Perform, Performed

T = TypeVar("T")
FOREVER = RetryPolicy(
    initial_interval=timedelta(milliseconds=100), maximum_interval=timedelta(seconds=5), maximum_attempts=0
)
_A_YEAR = timedelta(days=366)
APART = "Behind"
"""The type of the error when the walk and what is stored are not of the same moment."""
LOST_AFTER = timedelta(seconds=5)
_LOCAL_SECONDS = timedelta(seconds=60)


async def near(activity: str, argument: Local, result: type[T]) -> T:
    """In this process: the database, and expressions. Tried until it is done."""
    answer: T = await _as_cancelled(
        lambda: workflow.execute_local_activity(
            activity,
            argument,
            result_type=result,
            start_to_close_timeout=_LOCAL_SECONDS,
            retry_policy=FOREVER,
        )
    )
    return answer


async def far(perform: Perform, *, activity: str = "perform") -> Performed:
    """By any worker. One that is lost is noticed by its silence, and another begins again, with the same key."""
    performed: Performed = await _as_cancelled(
        lambda: workflow.execute_activity(
            activity,
            perform,
            result_type=Performed,
            start_to_close_timeout=_A_YEAR,
            heartbeat_timeout=LOST_AFTER,
            retry_policy=FOREVER,
            summary=perform.task or None,
        )
    )
    return performed


async def _as_cancelled(call: Callable[[], Any]) -> Any:
    """The interpreter, and asyncio's timeouts, know one kind of cancellation; Temporal has its own."""
    with uncancelled():
        try:
            return await call()
        except Exception as error:
            if is_cancelled_exception(error):
                raise asyncio.CancelledError from None
            raise


def is_apart(error: FailureError) -> bool:
    # As it is, or wrapped in the failure of the activity.
    said = error.cause if isinstance(error, ActivityError) else error
    return isinstance(said, ApplicationError) and said.type == APART


@contextmanager
def uncancelled() -> Iterator[None]:
    """What was waited for may end in the very moment in which nobody wants it any more: then that is what counts."""
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    yield
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError
