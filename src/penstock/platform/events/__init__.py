"""Events: the lifecycle of a workflow's executions, listed and streamed."""

from penstock.streams import NewEvent, append

__all__ = ["NewEvent", "append"]
