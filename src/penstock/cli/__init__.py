"""A person at a terminal: one file for each command. Each is imported when it is called, so that `--help` is quick."""

from penstock.cli.main import app, main

__all__ = ["app", "main"]
