"""The audit log: who did what, written in the transaction of what it records. The database refuses to change it."""

from penstock.platform.audit.entries import ADD, MASK, by, changes, entry_by, masked, record

__all__ = ["ADD", "MASK", "by", "changes", "entry_by", "masked", "record"]
