"""The tools of a person's own machine: every kind of process may start, and files beside the workflow may be read."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from penstock.egress import Egress
from penstock.engine.jq import Jq
from penstock.engine.performing import Performer
from penstock.engine.tasks.work import Limits
from penstock.engine.tools import performing
from penstock.settings import EGRESS_DENY


@asynccontextmanager
async def local_performer(files: Path | None = None) -> AsyncIterator[Performer]:
    """`files` is the directory below which `file://` may read."""
    limits = Limits(processes=frozenset({"script", "shell", "container", "mcp"}), files=files)
    jq = Jq(processes=2, seconds=5.0, megabytes=256, most_output=16 * 1024 * 1024)
    async with performing(Egress(EGRESS_DENY), limits, jq) as performer:
        yield performer
