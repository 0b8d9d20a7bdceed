"""Whose work it is that is done: what all projects of a server share is shared out by it."""

from contextvars import ContextVar

on_behalf_of: ContextVar[str | None] = ContextVar("on_behalf_of", default=None)
"""The project; None where there is but one, or nobody says."""
