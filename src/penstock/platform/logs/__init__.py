"""Logs: what the engine says of executions and what their scripts print, listed and streamed."""

from penstock.streams import Level, NewLog, append

__all__ = ["Level", "NewLog", "append"]
