"""Checks definitions in processes of their own: a long or hostile one holds up nobody, and takes what it may take.

Parsing, schemas and the walk through a definition hold the interpreter's lock for as long as they take: seconds.
"""

from penstock.engine.checking.checks import Checks, NotChecked

__all__ = ["Checks", "NotChecked"]
