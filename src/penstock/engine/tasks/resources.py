"""External resources: documents that a workflow names by their address, read with a bound and kept for a minute."""

from penstock.engine.tasks.work import Limits


class Resources:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits

    async def close(self) -> None:
        pass
