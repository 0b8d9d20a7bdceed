"""A person at a terminal: one file for each command."""

from penstock.cli.main import app, main

__all__ = ["app", "main"]
