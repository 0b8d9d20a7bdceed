"""What the parts of a running engine know of each other."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Protocol

import msgspec

from penstock.engine.embedded import statements
from penstock.engine.embedded.sealing import Seal
from penstock.engine.performing import Performer
from penstock.storage import Database
from penstock.storage.database import Reader
from penstock.streams import Level

if TYPE_CHECKING:
    from penstock.engine.embedded.definitions import Definitions
    from penstock.engine.embedded.execution import Execution
    from penstock.engine.embedded.inbox import Inbox
    from penstock.engine.embedded.lineage import Families
    from penstock.engine.embedded.links import Links
    from penstock.engine.embedded.schedules import Schedules
    from penstock.engine.embedded.slots import Slots
    from penstock.engine.embedded.subflows import Subflows
    from penstock.engine.embedded.writer import Writer


class EngineLimits(msgspec.Struct, frozen=True):
    """What executions may use; each has a setting."""

    at_once: int = 1_000
    begun: int = 20_000
    """Of one project, in memory: also those that sleep or listen."""
    step_bytes: int = 256 * 1024
    execution_bytes: int = 256 * 1024 * 1024
    """Of all steps of an execution together, and of its log."""
    log_level: Level = Level.DEBUG
    event_lives: int = 24 * 3600
    """Seconds that an event waits for somebody who listens."""
    sinks: tuple[str, ...] = ()
    """Where emitted events are sent, too."""


class Vault(Seal, Protocol):
    """The platform's secrets."""

    async def open(self, reader: Reader, project_id: str, names: Iterable[str]) -> dict[str, str]: ...


MayStart = Callable[[str, str], Awaitable[bool]]
"""Whether this user may start executions of this workflow (`links` ask it each time)."""


class EngineParts:
    """Made anew whenever this engine becomes the one that runs."""

    database: Database
    performer: Performer
    limits: EngineLimits
    vault: Vault
    may_start: MayStart
    writer: "Writer"
    slots: "Slots"
    definitions: "Definitions"
    inbox: "Inbox"
    subflows: "Subflows"
    links: "Links"
    schedules: "Schedules"
    start: "Callable[[Execution], None]"
    """Puts an execution that is durable (or will be with the next batch) to those that wait for their turn."""
    cancel: Callable[[str], Awaitable[None]]
    """Ends an execution as cancelled; returns when it has ended."""

    families: "Families"

    async def exists(self, execution_id: str) -> bool:
        return await self.database.one(statements.ENDED, id=execution_id) is not None

    @property
    def seal(self) -> Seal:
        return self.vault
