"""The audit log: who did what, written in the transaction of what it records. The database refuses to change it."""

from penstock.platform.audit.entries import MASK, by, changes, masked, record

__all__ = ["MASK", "by", "changes", "masked", "record"]
