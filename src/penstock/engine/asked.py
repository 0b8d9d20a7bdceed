"""What the platform asks of an engine, whichever it is."""

from typing import Any, Protocol

import msgspec

from penstock.storage import Transaction


class EngineRefused(Exception):
    """The engine cannot do what was asked. The message is shown to the caller, so it holds no secret."""


class Pending(msgspec.Struct, frozen=True):
    """An execution that is stored, and waits for its turn."""

    id: str
    workflow_id: str
    project_id: str
    version: int
    trigger_type: str
    trigger_data: str
    created_at: int
    metadata: str = "{}"


class Engine(Protocol):
    async def deploy(self, workflow_id: str, version: int) -> None:
        """Start the schedules and event triggers of this version, in place of an earlier one's."""

    async def stop(self, workflow_id: str, cancel_running: bool) -> None:
        """End them; running executions go on, or are cancelled."""

    async def trigger(self, pending: Pending) -> None:
        """Run an execution that is stored as pending."""

    async def cancel(self, execution_id: str) -> None:
        """End an execution as cancelled."""

    async def pause(self, execution_id: str) -> None:
        """Begin no further step of it."""

    async def resume(self, execution_id: str) -> None: ...

    async def receive(self, tx: Transaction, project_id: str, events: list[dict[str, Any]]) -> None:
        """Events for whoever listens in the project: with this transaction, or not at all."""

    async def received(self) -> None:
        """The transaction is durable: whoever listens is to be told."""

    async def next_run_at(self, workflow_id: str) -> int | None: ...
