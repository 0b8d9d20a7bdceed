"""Links between workflows: what starts when an execution ends."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from sqlalchemy import bindparam, select

from penstock.dsl.expressions import ExpressionFailed
from penstock.dsl.values import expression_of
from penstock.engine.embedded.execution import Execution, encoded
from penstock.engine.embedded.lineage import LONGEST_CHAIN, MOST_OF_ONE, passed_on
from penstock.engine.embedded.parts import EngineParts
from penstock.engine.embedded.subflows import born
from penstock.engine.embedded.writer import Portion
from penstock.ids import uuid7
from penstock.storage import Row, Statement, now
from penstock.storage.platform_tables import workflow_links, workflows
from penstock.streams import Level, NewLog

log = structlog.get_logger()

_FROM = Statement(
    select(
        workflow_links.c.id,
        workflow_links.c.target_workflow_id,
        workflow_links.c.link_type,
        workflow_links.c.config,
        workflow_links.c.created_by,
        workflows.c.status,
        workflows.c.version,
        workflows.c.deployed_version,
        workflows.c.project_id,
    )
    .join(workflows, workflows.c.id == workflow_links.c.target_workflow_id)
    .where(workflow_links.c.source_workflow_id == bindparam("id"))
    .order_by(workflow_links.c.created_at, workflow_links.c.id)
)
_FOLLOWED = {"completed": {"completed", "finished"}, "failed": {"failed", "finished"}, "cancelled": {"finished"}}


class Followers(msgspec.Struct):
    executions: list[Execution] = []
    logs: list[NewLog] = []


class Links:
    def __init__(self, parts: EngineParts) -> None:
        self._parts = parts
        self._seen: dict[str, Sequence[Row]] = {}

    async def followers(self, source: Execution, status: str, output: Any) -> Followers:
        """What an execution that ends so starts. Decided before it is written, so that one batch holds it all."""
        followers = Followers()
        for row in await self._from(source.workflow_id):
            if row["link_type"] in _FOLLOWED[status]:
                await self._follow(followers, source, row, output)
        return followers

    async def _from(self, workflow_id: str) -> Sequence[Row]:
        """Read once for all that end in the same moment: most workflows have no links, and thousands of executions."""
        links = self._seen.get(workflow_id)
        if links is None:
            links = self._seen[workflow_id] = await self._parts.database.all(_FROM, id=workflow_id)
            asyncio.get_running_loop().call_soon(self._seen.clear)
        return links

    async def _follow(self, followers: Followers, source: Execution, row: Any, output: Any) -> None:
        target = str(row["target_workflow_id"])

        def skip(reason: str) -> None:
            fields = {"link_id": str(row["id"]), "target_workflow_id": target}
            if self._parts.limits.log_level > Level.WARN:
                return
            followers.logs.append(
                NewLog(source.workflow_id, Level.WARN, f"link skipped: {reason}", "engine", source.id, fields)
            )

        lineage = passed_on(source)
        chain = int(lineage.get("chain", 0)) + 1
        if row["status"] in {"stopped", "error"}:
            return skip(f"the target is in status {row['status']}")
        if chain > LONGEST_CHAIN:
            return skip(f"a chain ends {LONGEST_CHAIN} links after its first execution")
        if not await self._parts.may_start(str(row["created_by"]), target):
            return skip("who made the link may no longer start the target")
        try:
            data = await self._input(row["config"], output)
        except ExpressionFailed as failure:
            return skip(f"config.input failed: {failure}")
        version = int(row["deployed_version"] if row["status"] == "active" else row["version"])
        text = encoded(data)
        if len(text) > self._parts.limits.step_bytes:
            return skip(f"its input may have {self._parts.limits.step_bytes // 1024} KiB at most")
        if not self._parts.families.admit(lineage):
            return skip(f"of one execution, {MOST_OF_ONE:,} others may come at most")
        metadata = lineage | {
            "link": {"id": str(row["id"]), "execution_id": source.id, "workflow_id": source.workflow_id},
            "chain": chain,
        }
        followers.executions.append(
            Execution(
                uuid7(),
                target,
                str(row["project_id"]),
                version,
                "link",
                text,
                "pending",
                now(),
                metadata=encoded(metadata),
            )
        )
        return None

    async def _input(self, config: str, output: Any) -> Any:
        expression = msgspec.json.decode(config).get("input") if config else None
        if not expression:
            return output
        return await self._parts.performer.jq.evaluate(expression_of(expression), output, {})

    def start(self, portion: Portion, followers: Followers) -> None:
        """In the batch that holds the source's own end; but each by itself: a target that was deleted since takes
        nobody else with it."""
        portion.logs.extend(followers.logs)
        for execution in followers.executions:
            born(self._parts, execution)
