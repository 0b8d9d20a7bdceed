"""What servers and workers send to workflows: start, ring, cancel, ask. What does not arrive is sent again later."""

import asyncio
from collections import OrderedDict
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import bindparam, delete, select
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import GetWorkflowExecutionHistoryReverseRequest
from temporalio.client import Client, WorkflowExecutionDescription
from temporalio.common import WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from penstock.engine.temporal.connection import RPC, TASK
from penstock.engine.temporal.errand import ERRAND, errand_id
from penstock.engine.temporal.fairness import turn_of
from penstock.storage import Database, Statement, StorageError
from penstock.storage.engine_tables import temporal_listeners
from penstock.storage.platform_tables import executions

log = structlog.get_logger()
_AT_ONCE = 64
_MOST_REMEMBERED = 100_000
_EXECUTION = "Execution"
_AGAIN, _IF_FAILED = WorkflowIDReusePolicy.ALLOW_DUPLICATE, WorkflowIDReusePolicy.ALLOW_DUPLICATE_FAILED_ONLY
_MOST_READ = 100
_PAUSE = 0.1  # seconds between errands that are asked for again and again
_LISTENERS = Statement(
    select(temporal_listeners.c.execution_id)
    .where(temporal_listeners.c.project_id == bindparam("project_id"))
    .distinct()
)
_GONE = Statement(delete(temporal_listeners).where(temporal_listeners.c.execution_id == bindparam("id")))
_WORKFLOW = Statement(select(executions.c.workflow_id).where(executions.c.id == bindparam("id")))


class Reach:
    def __init__(self, database: Database, client: Client, task_queue: str) -> None:
        self._database = database
        self._client = client
        self._task_queue = task_queue
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._started: OrderedDict[str, None] = OrderedDict()
        self._errands: dict[tuple[str, str], bool] = {}
        """Those that are on their way, and whether they are asked for again."""
        self.trouble: str | None = None

    # In the background

    def start_soon(self, workflows: Mapping[str, str]) -> None:
        """Of executions, by their ids."""
        for id_, workflow_id in workflows.items():
            self.keep(self.start(id_, workflow_id))

    def ring_soon(self, project_id: str) -> None:
        self.keep(self._ring_all(project_id))

    def let_begin_soon(self, execution_ids: Sequence[str]) -> None:
        for id_ in execution_ids:
            self.keep(self._let_begin(id_))

    def errand_soon(self, kind: str, of: str) -> None:
        """However often it is asked for meanwhile, one is sent after the other."""
        name = (kind, of)
        if name in self._errands:
            self._errands[name] = True
        else:
            self._errands[name] = False
            self.keep(self._send_errand(kind, of))

    async def _send_errand(self, kind: str, of: str) -> None:
        name = (kind, of)
        try:
            while True:
                self._errands[name] = False
                await self.errand(kind, of)
                if not self._errands[name]:
                    return
                await asyncio.sleep(_PAUSE)
        finally:
            del self._errands[name]

    def keep(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """What is on its way arrives, or is sent by another process later."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=RPC.total_seconds())

    # One by one

    def is_started(self, execution_id: str) -> bool:
        """As far as this process knows: it is asked once, not at every look."""
        return execution_id in self._started

    async def start(self, execution_id: str, workflow_id: str | None = None, *, anew: bool = False) -> bool:
        """`anew`: also when its workflow has ended as if all were well."""
        whose = workflow_id or await self._workflow(execution_id)
        try:
            async with self._places:
                await self._client.start_workflow(
                    _EXECUTION,
                    id=execution_id,
                    task_queue=self._task_queue,
                    id_reuse_policy=_AGAIN if anew else _IF_FAILED,
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    priority=turn_of(whose),
                    task_timeout=TASK,
                    rpc_timeout=RPC,
                )
        except WorkflowAlreadyStartedError:
            pass  # and has ended
        except (RPCError, RuntimeError) as error:
            return self._failed(error)
        self._remember(execution_id)
        self.trouble = None
        return True

    async def _workflow(self, execution_id: str) -> str | None:
        row = await self._database.one(_WORKFLOW, id=execution_id)
        return None if row is None else str(row[0])

    def _remember(self, execution_id: str) -> None:
        self._started[execution_id] = None
        if len(self._started) > _MOST_REMEMBERED:
            self._started.popitem(last=False)

    async def _ring_all(self, project_id: str) -> None:
        try:
            rows = await self._database.all(_LISTENERS, project_id=project_id)
            await asyncio.gather(*(self.ring(str(row[0])) for row in rows))
        except StorageError as error:
            log.warning("whoever listens is told of an event later", error=str(error))

    async def ring(self, execution_id: str) -> None:
        try:
            async with self._places:
                await self._client.get_workflow_handle(execution_id).signal("events_came", rpc_timeout=RPC)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                # Its workflow has ended: it listens no more.
                async with self._database.transaction() as tx:
                    await tx.run(_GONE, id=execution_id)
            else:
                self._failed(error)
        except RuntimeError as error:
            self._failed(error)

    async def ask(self, execution_id: str, what: str) -> bool:
        """False when there is no such workflow; it is to be started then, and finds what was asked."""
        handle = self._client.get_workflow_handle(execution_id)
        try:
            if what == "cancel":
                await handle.cancel(rpc_timeout=RPC)
            else:
                await handle.signal("asked", what, rpc_timeout=RPC)
        except RPCError as error:
            return error.status is not RPCStatusCode.NOT_FOUND and self._failed(error)
        except RuntimeError as error:
            return self._failed(error)
        return True

    async def errand(self, kind: str, of: str, rest: str = "") -> bool:
        """Some worker sees to it, or looks again if one is at it."""
        try:
            async with self._places:
                await self._client.start_workflow(
                    ERRAND,
                    id=errand_id(kind, of, rest),
                    task_queue=self._task_queue,
                    start_signal="again",
                    id_conflict_policy=WorkflowIDConflictPolicy.USE_EXISTING,
                    priority=turn_of(of),
                    task_timeout=TASK,
                    rpc_timeout=RPC,
                )
        except (RPCError, RuntimeError) as error:
            return self._failed(error)
        return True

    async def _let_begin(self, execution_id: str) -> None:
        # One that is not there finds its place when it starts.
        async with self._places:
            await self._signal(execution_id, "place_free")

    async def begin_again(self, execution_id: str) -> None:
        await self._signal(execution_id, "begin_again")

    async def _signal(self, execution_id: str, what: str) -> None:
        """Nothing happens to one that is not there."""
        try:
            await self._client.get_workflow_handle(execution_id).signal(what, rpc_timeout=RPC)
        except RPCError as error:
            if error.status is not RPCStatusCode.NOT_FOUND:
                self._failed(error)
        except RuntimeError as error:
            self._failed(error)

    async def described(self, execution_id: str, run: str | None = None) -> WorkflowExecutionDescription | None:
        """Its workflow, in its last history or in this one; None when there is none. Raises `RPCError`."""
        try:
            async with self._places:
                handle = self._client.get_workflow_handle(execution_id, run_id=run)
                return await handle.describe(rpc_timeout=RPC)
        except RPCError as error:
            if error.status is RPCStatusCode.NOT_FOUND:
                return None
            raise

    async def came_at(self, found: WorkflowExecutionDescription, number: int) -> int | None:
        """When it took down this event of its history; None when too much came after it. Raises `RPCError`."""
        after = found.history_length - number
        if after >= _MOST_READ:
            return None
        whose = WorkflowExecution(workflow_id=found.id, run_id=found.run_id)
        asked = GetWorkflowExecutionHistoryReverseRequest(
            namespace=self._client.namespace, execution=whose, maximum_page_size=_MOST_READ
        )
        async with self._places:
            service = self._client.workflow_service
            read = await service.get_workflow_execution_history_reverse(asked, timeout=RPC)
        times = (event.event_time for event in read.history.events if event.event_id == number)
        return next((time.ToMicroseconds() for time in times), None)

    async def check(self) -> None:
        """Whether the cluster answers."""
        try:
            await self._client.service_client.check_health(timeout=RPC)
        except (RPCError, RuntimeError) as error:
            self._failed(error)
        else:
            if self.trouble is not None:
                log.info("Temporal answers again")
            self.trouble = None

    def _failed(self, error: Exception) -> bool:
        if self.trouble is None:
            log.warning("Temporal does not answer; executions wait", error=str(error))
        self.trouble = f"Temporal does not answer: {error}"
        return False
