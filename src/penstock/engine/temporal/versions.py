"""Builds of the code that walks: an execution stays with the build that began it; new ones begin with the newest."""

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path

import structlog
from temporalio.api.deployment.v1 import WorkerDeploymentInfo
from temporalio.api.enums.v1 import WorkerDeploymentVersionStatus
from temporalio.api.workflowservice.v1 import (
    DescribeWorkerDeploymentRequest,
    SetWorkerDeploymentCurrentVersionRequest,
)
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError
from temporalio.worker import WorkerDeploymentConfig

import penstock
from penstock.engine.temporal.connection import RPC

log = structlog.get_logger()
_PATIENT = timedelta(seconds=30)
_AGAIN_AFTER = 0.5
_LOOK_EVERY = 5.0
_DRAINED = WorkerDeploymentVersionStatus.WORKER_DEPLOYMENT_VERSION_STATUS_DRAINED
# What decides which commands a workflow gives, and in which order.
_WALKS = ("dsl", "engine/*.py", "engine/interpreter", "engine/embedded", "engine/temporal", "engine/tasks/*.py")


def build_id() -> str:
    """Of the code, not of the release: one that walks as the one before takes over from it at once."""
    root, found = Path(penstock.__file__).parent, hashlib.sha256()
    parts = (file for part in _WALKS for each in root.glob(part) for file in [each, *each.rglob("*.py")])
    for file in sorted({file for file in parts if file.is_file()}):
        found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()[:16]


class Versions:
    def __init__(self, client: Client, task_queue: str) -> None:
        self.build_id = build_id()
        self._client = client
        self._name = task_queue

    @property
    def config(self) -> WorkerDeploymentConfig:
        return WorkerDeploymentConfig(
            version=WorkerDeploymentVersion(self._name, self.build_id),
            use_worker_versioning=True,
            default_versioning_behavior=VersioningBehavior.PINNED,
        )

    async def run(self) -> None:
        """Once the worker asks for work, for as long as it does."""
        await self._begin()
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            if await self._is_drained():
                log.info("no execution needs this build any more: its workers can be stopped", build=self.build_id)
                return

    async def _begin(self) -> None:
        while True:
            try:
                builds = _builds(await self._deployment())
                # A worker of an older build that is started again leaves what is new to the newer one.
                if builds[-1:] == [self.build_id]:
                    await self._become_current()
                if self.build_id in builds:
                    return
            except RPCError as error:
                # Temporal has not heard of this build yet, or is away.
                log.debug("the build is not known yet", error=str(error))
            await asyncio.sleep(_AGAIN_AFTER)

    async def _become_current(self) -> None:
        request = SetWorkerDeploymentCurrentVersionRequest(
            namespace=self._client.namespace,
            deployment_name=self._name,
            build_id=self.build_id,
            identity=self._client.identity,
            ignore_missing_task_queues=True,
        )
        await self._client.workflow_service.set_worker_deployment_current_version(request, timeout=_PATIENT)
        log.info("new executions begin with this build", build=self.build_id)

    async def _is_drained(self) -> bool:
        try:
            deployment = await self._deployment()
        except RPCError as error:
            log.debug("whether the build is needed is not known", error=str(error))
            return False
        summaries = deployment.version_summaries
        return any(each.deployment_version.build_id == self.build_id and each.status == _DRAINED for each in summaries)

    async def _deployment(self) -> WorkerDeploymentInfo:
        request = DescribeWorkerDeploymentRequest(namespace=self._client.namespace, deployment_name=self._name)
        answer = await self._client.workflow_service.describe_worker_deployment(request, timeout=RPC)
        return answer.worker_deployment_info


def _builds(deployment: WorkerDeploymentInfo) -> list[str]:
    """Oldest first."""
    summaries = sorted(deployment.version_summaries, key=lambda each: each.create_time.ToNanoseconds())
    return [each.deployment_version.build_id for each in summaries]
