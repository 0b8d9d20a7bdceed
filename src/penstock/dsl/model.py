"""A valid definition as the interpreter walks it: typed, references resolved, expressions ready. Made by `build`.

It is a tree: who collects garbage need not look at it (`gc=False`), so that thousands of tasks stop nobody meanwhile.
"""

from typing import Any, Literal

import msgspec

from penstock.dsl.expressions import Program
from penstock.dsl.values import Value

Kind = Literal[
    "call", "do", "emit", "for", "fork", "listen", "raise", "run", "set", "switch", "try", "wait"
]  # fmt: skip
Process = Literal["container", "script", "shell", "workflow"]
Transform = Program | Value
"""`input.from`, `output.as`, `export.as`: an expression when it is a text, else a value with expressions in it."""


class Schema(msgspec.Struct, frozen=True, gc=False):
    """Of input, output or context: inline, or a resource that is fetched when it is first needed."""

    document: Any = None
    resource: Value | None = None


class Shape(msgspec.Struct, frozen=True, gc=False):
    """`input`, `output` or `export` of a workflow or task."""

    transform: Transform | None = None
    schema: Schema | None = None


class Document(msgspec.Struct, frozen=True, gc=False):
    namespace: str
    name: str
    version: str
    dsl: str = "1.0.3"
    title: str | None = None
    metadata: dict[str, Any] = {}


class Task(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What all tasks share."""

    name: str
    reference: str
    kind: Kind
    definition: dict[str, Any]
    condition: Program | None = None
    input: Shape = Shape()
    output: Shape = Shape()
    export: Shape = Shape()
    timeout: Value | None = None
    then: str = "continue"
    extends: bool = True
    """Whether extensions apply; to tasks of extensions, only those do that extend extensions."""
    of_extension: bool = False


Tasks = tuple[Task, ...]


class Set(Task, frozen=True, kw_only=True):
    data: Value


class Do(Task, frozen=True, kw_only=True):
    tasks: Tasks


class For(Task, frozen=True, kw_only=True):
    each: str
    at: str
    items: Program
    condition_to_go_on: Program | None
    tasks: Tasks


class Fork(Task, frozen=True, kw_only=True):
    branches: Tasks
    compete: bool


class Case(msgspec.Struct, frozen=True, gc=False):
    name: str
    when: Program | None
    then: str


class Switch(Task, frozen=True, kw_only=True):
    cases: tuple[Case, ...]


class Retry(msgspec.Struct, frozen=True, gc=False):
    when: Program | None = None
    except_when: Program | None = None
    delay: Value | None = None
    backoff: Literal["constant", "linear", "exponential"] = "constant"
    jitter: tuple[Value, Value] | None = None
    most_attempts: int | None = None
    """How many retries there are after the first attempt."""
    attempt_limit: Value | None = None
    """How long each attempt may take."""
    limit: Value | None = None
    """How long all of them may take."""


class Catch(msgspec.Struct, frozen=True, gc=False):
    errors: Value | None = None
    name: str = "error"
    when: Program | None = None
    except_when: Program | None = None
    retry: Retry | None = None
    tasks: Tasks | None = None


class Try(Task, frozen=True, kw_only=True):
    tasks: Tasks
    catch: Catch


class Raise(Task, frozen=True, kw_only=True):
    error: Value


class Wait(Task, frozen=True, kw_only=True):
    duration: Value


class Emit(Task, frozen=True, kw_only=True):
    event: Value


class Correlation(msgspec.Struct, frozen=True, gc=False):
    name: str
    source: Program
    expect: Value | None


class Filter(msgspec.Struct, frozen=True, gc=False):
    """Which events count: attributes by their names, and what links them to each other or to the data."""

    attributes: tuple[tuple[str, Value], ...]
    correlations: tuple[Correlation, ...] = ()


class Consumption(msgspec.Struct, frozen=True, gc=False):
    """Which events are waited for. `until` (only with `any`): a condition over what was read, or other events."""

    kind: Literal["one", "any", "all"]
    filters: tuple[Filter, ...]
    until: "Program | Consumption | None" = None


class Foreach(msgspec.Struct, frozen=True, gc=False):
    item: str
    at: str
    tasks: Tasks
    output: Shape
    export: Shape


class Listen(Task, frozen=True, kw_only=True):
    to: Consumption
    read: Literal["data", "envelope", "raw"]
    foreach: Foreach | None


class Call(Task, frozen=True, kw_only=True):
    """`function`: a protocol (http, grpc, …), a function of the definition by name, or the place of one elsewhere."""

    function: str
    arguments: Value | None
    subscription: "Subscription | None" = None


class Subscription(msgspec.Struct, frozen=True, gc=False):
    """What an AsyncAPI call receives, and when it has enough."""

    filter: Program | None
    amount: int | None
    duration: Value | None
    condition_to_go_on: Program | None
    condition_to_end: Program | None
    foreach: Foreach | None


class Run(Task, frozen=True, kw_only=True):
    process: Process
    arguments: Value
    awaited: bool
    returned: str


class Extension(msgspec.Struct, frozen=True, gc=False):
    name: str
    extend: str
    when: Program | None
    before: Tasks
    after: Tasks


class Schedule(msgspec.Struct, frozen=True, gc=False):
    """When executions start by themselves. Durations are in microseconds."""

    every: int | None = None
    cron: str | None = None
    after: int | None = None
    on: Consumption | None = None


class Workflow(msgspec.Struct, frozen=True, gc=False):
    document: Document
    definition: dict[str, Any]
    tasks: Tasks
    input: Shape = Shape()
    output: Shape = Shape()
    timeout: Value | None = None
    schedule: Schedule = Schedule()
    functions: dict[str, Task] = {}
    extensions: tuple[Extension, ...] = ()
    authentications: dict[str, Value] = {}
    catalogs: dict[str, Value] = {}
    secrets: tuple[str, ...] = ()

    @property
    def concurrency(self) -> int | None:
        """How many executions may run at once (`document.metadata.concurrency`)."""
        limit = self.document.metadata.get("concurrency")
        return limit if isinstance(limit, int) and limit > 0 else None

    @property
    def timezone(self) -> str:
        zone = self.document.metadata.get("timezone")
        return zone if isinstance(zone, str) else "UTC"
