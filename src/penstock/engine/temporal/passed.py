"""What goes between a workflow and its activities. What is `Local` never leaves the process that runs both."""

from typing import Any

import msgspec

from penstock.engine.embedded.execution import Execution
from penstock.engine.embedded.parts import EngineLimits
from penstock.engine.faults import Error
from penstock.engine.host import Json
from penstock.engine.tasks.work import Authorization
from penstock.engine.temporal.once import Names
from penstock.streams import ExecutionChange, NewEvent, NewLog


class Local(msgspec.Struct, frozen=True, kw_only=True):
    """The argument of a local activity: Temporal keeps it in no history."""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """All that a walk begins with."""

    execution: Execution
    definition: str
    limits: EngineLimits
    recorded: int
    """The number of the last batch that was written."""
    secrets: dict[str, str] = {}
    steps: list[Json] = []
    stored: int = 0
    """Bytes of all its steps, those that are not here among them."""
    asked: str | None = None
    error: Error | None = None
    """Why it cannot be walked."""


class Found(msgspec.Struct, frozen=True):
    """`loaded` is None when it has ended, or was deleted."""

    loaded: Loaded | None = None
    waits: bool = False
    """It is not its turn: as many of its workflow are under way as may be."""


class Load(Local, frozen=True, kw_only=True):
    execution_id: str
    at_once: bool = False
    """Whoever's turn it is: it is only to end."""


class Hold(Local, frozen=True, kw_only=True):
    """`pause` or `resume`, of one that waits for its turn."""

    execution_id: str
    what: str


class Errand(Local, frozen=True, kw_only=True):
    """What is to be seen to, and whose it is."""

    kind: str
    of: str
    rest: str = ""


class Follow(msgspec.Struct, frozen=True):
    """An execution that ends so, with what its links hand on."""

    execution: Execution
    status: str
    data: Any


class Batch(Local, frozen=True, kw_only=True):
    """What a walk has done since the batch before: written as one, and once."""

    execution_id: str
    project_id: str
    number: int
    writes: list[tuple[str, Json | tuple[Any, ...]]] = []
    events: list[NewEvent] = []
    logs: list[NewLog] = []
    changes: list[ExecutionChange] = []
    born: list[str] = []
    """Executions that are in it, and are to be started."""
    follow: Follow | None = None
    """Its end is in it: what follows from that is written with it."""
    names: Names = Names()


class Evaluate(Local, frozen=True, kw_only=True):
    project_id: str
    program: str
    dot: Any
    variables: Json


class Violations(Local, frozen=True, kw_only=True):
    project_id: str
    schema: bytes
    data: Any


class Evaluated(msgspec.Struct, frozen=True):
    value: Any = None
    failed: str | None = None
    invalid: bool = False
    """It is no schema."""


class Perform(msgspec.Struct, frozen=True, kw_only=True):
    """`kind` is a task's, or `fetch`, `read`, `find_function`, `subscribe`."""

    execution_id: str
    workflow_id: str
    project_id: str
    kind: str
    arguments: Json
    key: str
    workflow: str
    task: str
    timed: bool
    secrets: list[str]
    hidden: list[str]
    """What else must not be shown."""
    position: str = ""
    step: str = ""


class Performed(msgspec.Struct, frozen=True, kw_only=True):
    output: Any = None
    authorization: Authorization | None = None
    error: Error | None = None
    hidden: list[str] = []
    logged: int = 0
    """Bytes of log that it wrote."""


class FindChild(Local, frozen=True, kw_only=True):
    execution_id: str
    """Of the child."""
    project_id: str
    lineage: Json
    namespace: str
    name: str
    version: str


class Child(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow that a step runs; or how its execution ended before."""

    workflow_id: str = ""
    version: int = 0
    known: bool = False
    ended: "EndedChild | None" = None
    error: Error | None = None


class EndedChild(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    output: Any = None
    error: Error | None = None
    hidden: list[str] = []


class Listen(Local, frozen=True, kw_only=True):
    execution_id: str
    project_id: str
    position: str
    earlier: bool


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """`last` is the last event that was there when it began to listen."""

    last: int
    consumed: list[tuple[int, str]] = []


class Look(Local, frozen=True, kw_only=True):
    execution_id: str
    project_id: str
    position: str
    after: int
    since: int
    step: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """Of a subscription. `place` is the activity's, so that one that was lost and begun anew counts anew."""

    position: str
    number: int
    data: Any = None
    end: bool = False
