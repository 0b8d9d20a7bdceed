"""Whether an attempt at a call is still this worker's: one that came to it too late has been given to another."""

import asyncio
from datetime import UTC, datetime, timedelta

import structlog
from temporalio import activity
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.service import RPCError, RPCStatusCode

from penstock.engine.temporal.connection import RPC

log = structlog.get_logger()
# Between Temporal's hands and ours. A worker that is this late may be taken for lost before it has begun.
_LATE = timedelta(seconds=1)


async def require_wanted(client: Client, execution_id: str, task: str) -> None:
    """Does not return when the attempt is not to begin.

    A worker that was stopped, or too busy for its own beats, finds calls on its list that another has performed since;
    begun now, they would reach a service after their execution has gone on, or ended.
    """
    info = activity.info()
    if datetime.now(UTC) - info.started_time < _LATE:
        return
    try:
        await client.get_async_activity_handle(task_token=info.task_token).heartbeat(rpc_timeout=RPC)
    except AsyncActivityCancelledError:
        await asyncio.Event().wait()  # the next beat brings the cancellation, as to any that is under way
    except RPCError as error:
        if error.status is not RPCStatusCode.NOT_FOUND:
            raise
        log.warning("not performed: it was given to another meanwhile", execution_id=execution_id, task=task)
        activity.raise_complete_async()  # how it ends is not ours to say
