"""What all tasks of a process share, put together and taken apart in one place."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from penstock.egress import Egress
from penstock.engine.jq import Jq
from penstock.engine.performing import Performer
from penstock.engine.tasks.grpc.channels import Grpc
from penstock.engine.tasks.pool import Http
from penstock.engine.tasks.resources import Resources
from penstock.engine.tasks.work import Limits


class SharedTools:
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
async def performing(egress: Egress, limits: Limits, jq: Jq) -> AsyncIterator[Performer]:
    """A performer, and everything that it needs, for as long as the block lasts."""
    await jq.start()
    try:
        tools = SharedTools(egress, limits)
        try:
            yield Performer(tools, jq)
        finally:
            await tools.close()
    finally:
        await jq.stop()
