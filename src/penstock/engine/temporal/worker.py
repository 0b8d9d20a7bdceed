"""A worker: runs workflows and their activities, as many at once as it may, until it is told to stop."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import msgspec
from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from penstock.engine.embedded.parts import EngineParts
from penstock.engine.temporal.activities import Near
from penstock.engine.temporal.attending import Attending
from penstock.engine.temporal.condition import Condition
from penstock.engine.temporal.errand import SINKS, ErrandWorkflow
from penstock.engine.temporal.hearing import Hearing
from penstock.engine.temporal.metrics import Counting
from penstock.engine.temporal.parts import Surroundings, surroundings
from penstock.engine.temporal.performing import Far
from penstock.engine.temporal.places import Places
from penstock.engine.temporal.reach import Reach
from penstock.engine.temporal.rounds import Rounds
from penstock.engine.temporal.schedules import Schedules
from penstock.engine.temporal.sweeper import Sweeper
from penstock.engine.temporal.triggers import Triggers
from penstock.engine.temporal.versions import Versions
from penstock.engine.temporal.workflow import ExecutionWorkflow
from penstock.storage.database import Unavailable

# Everything of ours is the host's own care: nothing in a walk asks a clock, chance, or the world.
_PASSED_THROUGH = ("penstock", "msgspec", "structlog", "sqlalchemy", "jsonschema_rs")
_STUCK_AFTER = 60  # seconds


def runner() -> SandboxedWorkflowRunner:
    restrictions = SandboxRestrictions.default.with_passthrough_modules(*_PASSED_THROUGH)
    return SandboxedWorkflowRunner(restrictions=restrictions)


class WorkerLimits(msgspec.Struct, frozen=True):
    workflows: int = 4
    """Tasks of workflows at the same time. They share one core: what is taken waits here, between what it has done and
    its rows, instead of in Temporal's queue: with 8 twice as long as with 4, for a tenth more that is done at best.
    With far too many, each takes too long, and all of them are done again."""
    activities: int = 200
    cached: int = 2_000
    """Workflows that are kept in memory between their tasks."""
    history: int = 8_000
    """Events after which a walk goes on in a new history."""
    drain: float = 30.0
    """Seconds that activities have to end when the worker is told to stop."""
    versioned: bool = False
    """Executions stay with the build of the code that began them."""


@asynccontextmanager
async def working(
    client: Client, task_queue: str, parts: EngineParts, limits: WorkerLimits, condition: Condition
) -> AsyncIterator[Worker]:
    """For as long as the block lasts; what is under way when it ends is drained, or begun again elsewhere."""
    reach = Reach(parts.database, client, task_queue)
    schedules = Schedules(parts.database, client, task_queue, parts.definitions, reach.start_soon)
    places = Places(parts.database, parts.definitions, reach.let_begin_soon)
    near = Near(parts, reach, schedules, places)

    async def send_on(project_id: str, number: int) -> None:
        if not await reach.errand(SINKS, project_id, str(number)):
            raise Unavailable("Temporal does not answer")

    attending = Attending(parts.database, parts.definitions, schedules, Triggers(parts, reach.start_soon, send_on))
    surroundings[task_queue] = Surroundings(parts.vault, parts.performer, parts.definitions, limits.history)
    versions = Versions(client, task_queue) if limits.versioned else None
    worker = Worker(
        client,
        task_queue=task_queue,
        workflows=[ExecutionWorkflow, ErrandWorkflow],
        activities=[*near.all, *Hearing(parts.database).all, *Far(parts, client).all, *attending.all],
        interceptors=[Counting()],
        workflow_runner=runner(),
        max_concurrent_workflow_tasks=limits.workflows,
        max_concurrent_activities=limits.activities,
        max_concurrent_local_activities=limits.activities,
        max_cached_workflows=limits.cached,
        graceful_shutdown_timeout=timedelta(seconds=limits.drain),
        # How long the next task waits for the worker that has the workflow in memory, and may be gone.
        sticky_queue_schedule_to_start_timeout=timedelta(seconds=3),
        max_heartbeat_throttle_interval=timedelta(seconds=1),
        default_heartbeat_throttle_interval=timedelta(seconds=1),
        deployment_config=versions.config if versions is not None else None,
    )
    _be_patient(worker)
    loops = [
        Sweeper(parts.database, reach).run(),
        Rounds(parts.database, reach, schedules, places).run(),
        condition.watch(client, task_queue, reach),
    ]
    if versions is not None:
        loops.append(versions.run())
    tasks = [asyncio.create_task(loop) for loop in loops]
    try:
        async with worker:
            yield worker
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await reach.close()


def _be_patient(worker: Worker) -> None:
    """A process that was halted for two seconds is no deadlock. The SDK takes it for one, breaks off the walk wherever
    it is, and may never be able to evict it: its place is lost, and the worker does not end when it is told to. It has
    no option for that. What is stuck for longer than `TASK` is given to another worker all the same."""
    if (workflows := getattr(worker, "_workflow_worker", None)) is not None:
        workflows._deadlock_timeout_seconds = _STUCK_AFTER
