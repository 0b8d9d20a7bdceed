"""Runs expressions: at once where that is exact, and else in processes of their own, bounded in time and memory.

jq holds the interpreter's lock while it runs and an endless program never ends, so it never runs in the server.
"""

from penstock.engine.jq.pool import Jq

__all__ = ["Jq"]
