"""How it stands with the cluster: whether it answers, and whether any worker asks it for work."""

import asyncio

import structlog
from prometheus_client import Gauge
from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
from temporalio.client import Client
from temporalio.service import RPCError

from penstock.engine.temporal.connection import RPC
from penstock.engine.temporal.reach import Reach
from penstock.http.metrics import registry
from penstock.storage import now

log = structlog.get_logger()
_LOOK_EVERY = 5.0
_SOON = 1.0
# A worker asks anew at least once a minute; Temporal remembers it for longer.
_LOST_AFTER = 75.0

_up = Gauge("penstock_temporal_up", "1 while the Temporal cluster answers this process.", registry=registry)
_workers = Gauge("penstock_temporal_workers", "Workers that ask the cluster for work.", registry=registry)


async def workers(client: Client, task_queue: str) -> int:
    """Raises `RPCError` when the cluster does not answer."""
    return len(await pollers(client, task_queue))


async def pollers(client: Client, task_queue: str) -> set[str]:
    """Their names. Raises `RPCError` when the cluster does not answer."""
    asked = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
    )
    answer = await client.workflow_service.describe_task_queue(asked, timeout=RPC)
    since = now() / 1_000_000 - _LOST_AFTER
    return {each.identity for each in answer.pollers if each.last_access_time.ToSeconds() > since}


class Standing:
    def __init__(self, client: Client, task_queue: str, reach: Reach) -> None:
        self._client = client
        self._task_queue = task_queue
        self._reach = reach
        self._workers: int | None = None
        _up.set_function(lambda: float(reach.trouble is None))

    @property
    def notice(self) -> str | None:
        """What keeps executions waiting, though everything asked is taken."""
        return "no worker asks Temporal for work; start penstock worker" if self._workers == 0 else None

    async def run(self) -> None:
        while True:
            before = self._workers
            try:
                self._workers = await workers(self._client, self._task_queue)
                _workers.set(self._workers)
            except (RPCError, RuntimeError):
                self._workers = None  # the sweeper says what is wrong
            if self._workers == 0 and before != 0:
                log.warning("executions wait: no worker asks Temporal for work", task_queue=self._task_queue)
            await asyncio.sleep(_LOOK_EVERY if self._workers else min(_LOOK_EVERY, _SOON))
