"""What is given to whoever performs a task, and what they give back. Expressions are resolved before."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from penstock.egress import Egress
from penstock.engine.tasks.secrets import Secrets

if TYPE_CHECKING:
    from penstock.engine.tasks.grpc.channels import Grpc
    from penstock.engine.tasks.pool import Http
    from penstock.engine.tasks.resources import Resources

_A_YEAR = 366 * 24 * 3600.0
LogLevel = Literal["debug", "info", "warn", "error"]
Process = Literal["script", "shell", "container", "mcp"]


class Says(Protocol):
    """A line in the execution's log."""

    def __call__(self, level: LogLevel, message: str, **fields: Any) -> None: ...


class Limits(msgspec.Struct, frozen=True):
    """What a task may use; each has a setting."""

    answer_bytes: int = 4 * 1024 * 1024
    """Of an HTTP answer, a process's output, a document that is fetched."""
    seconds: float = 300.0
    """Of a call for which the workflow says no timeout."""
    processes: frozenset[Process] = frozenset()
    """The kinds of processes that this server starts."""
    processes_at_once: int = 100
    """Of all workflows together; one project has half of them at most. More wait."""
    process_memory: int = 0
    """Bytes, of each process; 0: no bound."""
    process_cpu: int = 0
    """Seconds of processor time, of each process; 0: no bound."""
    connections: int = 1000
    """Of HTTP, open at the same time; more calls than that wait for one. A single host gets half of them."""
    files: Path | None = None
    """A directory below which `file://` may read; none on a server."""
    catalog: Path | None = None
    """A directory that is the `default` catalog: `functions/<name>/<version>/function.yaml`."""


class Tools(Protocol):
    """What all tasks of a server share: the way out, with its pools and caches."""

    egress: Egress
    limits: Limits
    http: "Http"
    grpc: "Grpc"
    resources: "Resources"


class Work(msgspec.Struct, frozen=True):
    """One performance of one task."""

    key: str
    """The same whenever this very step is performed again: sent along as an idempotency key."""
    execution_id: str
    workflow: str
    """`namespace/name` of the workflow."""
    task: str
    secrets: Secrets
    says: Says
    tools: Tools
    timed: bool = False
    """The task has a timeout of its own, which ends it: however long that is, the server's limit does not count."""

    @property
    def seconds(self) -> float:
        """How long a call may take."""
        return _A_YEAR if self.timed else self.tools.limits.seconds


class Authorization(msgspec.Struct, frozen=True):
    """`$authorization`: what was sent to prove who we are."""

    scheme: str
    parameter: str


class Performed(msgspec.Struct, frozen=True):
    output: Any
    authorization: Authorization | None = None


class Perform(Protocol):
    """Each kind is a function of this shape. It raises `Fault`, and nothing else, when the task fails.

    It is cancelled when the execution is, or when its time is up: what it started ends with it.
    """

    async def __call__(self, arguments: Mapping[str, Any], work: Work) -> Performed: ...


class Subscribe(Protocol):
    """A kind that receives messages until its reader has enough of them."""

    def __call__(self, arguments: Mapping[str, Any], work: Work) -> AsyncIterator[Any]: ...
