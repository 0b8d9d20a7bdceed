"""An execution as it is stored, and the words in which its life is told."""

from functools import lru_cache
from typing import Any

import msgspec

from penstock.dsl.model import Workflow
from penstock.http.times import rfc3339
from penstock.storage import Row

__all__ = ["Execution", "encoded", "qualified_name", "quoted", "rfc3339"]


class Execution(msgspec.Struct, eq=False, gc=False):
    id: str
    workflow_id: str
    project_id: str
    version: int
    trigger_type: str
    trigger_data: str
    status: str
    created_at: int
    started_at: int | None = None
    paused_at: int | None = None
    parent_id: str | None = None
    metadata: str = "{}"
    found: bool = False
    """Found in the database, where the end of a run of it may not have shown yet: looked at again before it begins."""
    sealed: str | None = None
    """Its input, when `trigger_data` is masked."""
    unread: bool = False
    """Its input is in the database alone."""

    def leave_input(self) -> None:
        self.trigger_data, self.sealed, self.unread = "", None, True

    @classmethod
    def from_row(cls, row: Row) -> "Execution":
        return cls(*row)

    @property
    def details(self) -> dict[str, Any]:
        details: dict[str, Any] = msgspec.json.decode(self.metadata)
        return details


def qualified_name(workflow: Workflow, execution_id: str) -> str:
    """The name of an execution in lifecycle events, as the specification shows it."""
    return f"{workflow.document.name}-{execution_id}.{workflow.document.namespace}"


def encoded(data: Any) -> str:
    return msgspec.json.encode(data).decode()


@lru_cache(maxsize=10_000)
def quoted(text: str) -> str:
    """A text of a definition as JSON."""
    return encoded(text)
