"""What is older than its keep goes, in batches small enough that nobody waits behind one."""

import asyncio

import structlog
from sqlalchemy import bindparam, delete, func, insert, literal, select

from penstock.engine.embedded.retention import sweep_executions, sweep_inbox
from penstock.platform.audit.counting import DAY
from penstock.platform.events.keys import sweep_keys
from penstock.platform.recurring import Recurring
from penstock.storage import Statement, StorageError, Transaction, now
from penstock.storage.platform_tables import audit_counts, audit_entries, audit_retention

log = structlog.get_logger()
BATCH = 1000
_EVERY = 3600

_OLD = audit_entries.c.created_at < bindparam("older_than")
_ANY_OLD = Statement(select(literal(1)).where(_OLD).limit(1))
_SWEEP = Statement(
    delete(audit_entries).where(
        audit_entries.c.id.in_(
            select(audit_entries.c.id).where(_OLD).order_by(audit_entries.c.created_at).limit(bindparam("limit"))
        )
    )
)
# The numbers of days of which nothing is left (those of all days together have a day below zero).
_FORGET_DAYS = Statement(delete(audit_counts).where(audit_counts.c.day >= 0, audit_counts.c.day < bindparam("day")))
# The database lets nobody delete from the audit log who has not said, in the same transaction, that it is for this.
_OPEN = {
    "sqlite": Statement(insert(audit_retention).values(id=1)),
    "postgresql": Statement(select(func.set_config("penstock.retention", "on", True))),
}
_CLOSE = {
    "sqlite": Statement(delete(audit_retention)),
    "postgresql": Statement(select(func.set_config("penstock.retention", "off", True))),
}


async def sweep_audit(tx: Transaction, older_than: int) -> int:
    """Delete one batch of the entries from before `older_than`; how many."""
    await tx.all(_OPEN[tx.dialect])
    deleted = await tx.run(_SWEEP, older_than=older_than, limit=BATCH)
    await tx.all(_CLOSE[tx.dialect])
    return deleted


class Retention(Recurring):
    async def sweep(self) -> None:
        if self._settings.execution_retention:
            await sweep_executions(self._database, now() - self._settings.execution_retention * 1_000_000)
        await sweep_inbox(self._database)
        await sweep_keys(self._database)
        if self._settings.audit_retention:
            older_than = now() - self._settings.audit_retention * 1_000_000
            while await self._database.one(_ANY_OLD, older_than=older_than) is not None:
                async with self._database.transaction() as tx:
                    await sweep_audit(tx, older_than)
            async with self._database.transaction() as tx:
                await tx.run(_FORGET_DAYS, day=older_than // DAY)

    async def _run(self) -> None:
        while True:
            try:
                await self.sweep()
            except StorageError as error:
                log.warning(
                    "deleting what is older than its keep failed; it is tried again in an hour", error=str(error)
                )
            await asyncio.sleep(_EVERY)
