"""What the platform asks of whatever runs workflows. With none configured, records change and nothing runs."""

from typing import Protocol


class EngineRefused(Exception):
    """The engine will not, or cannot be reached. The message is shown to the caller, so it holds no secret."""


class Engine(Protocol):
    async def deploy(self, workflow_id: str, version: int) -> None:
        """Start the schedules and event triggers of this version, in place of an earlier one's."""

    async def stop(self, workflow_id: str, cancel_running: bool) -> None:
        """End them; running executions go on, or are cancelled."""

    async def trigger(self, execution_id: str) -> None:
        """Run an execution that is stored as pending."""

    async def cancel(self, execution_id: str) -> None:
        """End an execution as cancelled."""
