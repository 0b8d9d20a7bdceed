"""What is wrong with a definition: everything at once, each with its place, so that an editor can show it."""

from penstock.dsl.check.checking import PROCESSES, Check, check, errors
from penstock.dsl.check.finding import Finding

__all__ = ["PROCESSES", "Check", "Finding", "check", "errors"]
