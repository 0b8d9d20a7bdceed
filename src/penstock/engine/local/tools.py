"""The tools of a person's own machine: every kind of process may start, and files beside the workflow may be read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from penstock.egress import Egress
from penstock.engine.jq import Jq
from penstock.engine.performing import Performer
from penstock.engine.tasks.grpc.channels import Grpc
from penstock.engine.tasks.pool import Http
from penstock.engine.tasks.resources import Resources
from penstock.engine.tasks.work import Limits
from penstock.settings import EGRESS_DENY


class LocalTools:
    def __init__(self, egress: Egress, limits: Limits) -> None:
        self.egress = egress
        self.limits = limits
        self.http = Http(egress, limits)
        self.grpc = Grpc(egress, limits)
        self.resources = Resources()

    async def close(self) -> None:
        await self.resources.close()
        await self.grpc.close()
        await self.http.close()


@asynccontextmanager
async def local_performer(files: Path | None = None) -> AsyncIterator[Performer]:
    """`files` is the directory below which `file://` may read."""
    limits = Limits(processes=frozenset({"script", "shell", "container", "mcp"}), files=files)
    egress = Egress(EGRESS_DENY)
    jq = Jq(processes=2, seconds=5.0, megabytes=256, most_output=16 * 1024 * 1024)
    await jq.start()
    tools = LocalTools(egress, limits)
    try:
        yield Performer(tools, jq)
    finally:
        await tools.close()
        await jq.stop()
