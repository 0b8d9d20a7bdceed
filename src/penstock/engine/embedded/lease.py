"""Only one engine runs on a database: who holds the lease does, as long as it renews it.

Nobody compares clocks. A holder counts `beat` up; who waits watches it, and takes over when it has stood still for
`PATIENCE` by the watcher's own clock. On the machine of the holder a process that is gone shows at once. Every write of
an engine carries its `fence`: one that was asleep while another took over cannot write any more.
"""

import asyncio
import os
import time
from pathlib import Path

import structlog
from sqlalchemy import bindparam, func, select, update
from sqlalchemy.dialects.postgresql import insert

from penstock.ids import uuid7
from penstock.storage import Database, Statement, StorageError, Transaction
from penstock.storage.engine_tables import engine_lease

log = structlog.get_logger()

RENEW_EVERY = 1.0
PATIENCE = 5.0
_WATCH_EVERY = 0.5
_LONGEST_SILENCE = "4000"  # milliseconds within a transaction

_READ = Statement(select(engine_lease.c.holder, engine_lease.c.fence, engine_lease.c.beat))
_MAKE = Statement(
    insert(engine_lease)
    .values(id=1, holder=bindparam("holder"), fence=1, beat=0)
    .on_conflict_do_nothing(index_elements=["id"])
)
_TAKE = Statement(
    update(engine_lease)
    .where(engine_lease.c.fence == bindparam("seen_fence"), engine_lease.c.beat == bindparam("seen_beat"))
    .values(holder=bindparam("holder"), fence=engine_lease.c.fence + 1, beat=0)
)
_beat = (
    update(engine_lease)
    .where(engine_lease.c.id == 1, engine_lease.c.fence == bindparam("own_fence"))
    .values(beat=engine_lease.c.beat + 1)
)
# From here to the commit the row is locked. PostgreSQL ends the transaction of a process that has come to a halt
# within it, or nobody could take over. (The lock on a file of SQLite is the operating system's, for as long as the
# process is there.)
_BEAT = {
    "sqlite": Statement(_beat.returning(engine_lease.c.beat)),
    "postgresql": Statement(
        _beat.returning(
            engine_lease.c.beat, func.set_config("idle_in_transaction_session_timeout", _LONGEST_SILENCE, True)
        )
    ),
}
_LET_GO = Statement(
    update(engine_lease).where(engine_lease.c.fence == bindparam("own_fence")).values(holder="", beat=0)
)


class LeaseLost(Exception):
    """Another engine has taken over: this one must not write, and starts anew as the one that waits."""


class Lease:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._me = f"{_this_machine()} {os.getpid()} {_start_of(os.getpid())} {uuid7()}"
        self.fence = 0
        self.is_anothers = False
        """As far as this one has seen while it waited."""

    async def acquire(self) -> None:
        """Returns when this engine is the one that runs."""
        seen: tuple[str, int, int] | None = None
        since = time.monotonic()
        while True:
            try:
                row = await self._database.one(_READ)
                if row is None:
                    async with self._database.transaction() as tx:
                        await tx.run(_MAKE, holder="")
                    continue
                state = (str(row[0]), int(row[1]), int(row[2]))
                if state != seen:
                    seen, since = state, time.monotonic()
                free = state[0] == self._me or _is_free(state[0]) or time.monotonic() - since > PATIENCE
                if free and await self._take(state):
                    self.fence, self.is_anothers = state[1] + 1, False
                    return
                self.is_anothers = not free
            except StorageError as error:
                log.warning("the engine waits for the database", error=str(error))
                seen = None
            await asyncio.sleep(_WATCH_EVERY)

    async def _take(self, state: tuple[str, int, int]) -> bool:
        async with self._database.transaction() as tx:
            return await tx.run(_TAKE, seen_fence=state[1], seen_beat=state[2], holder=self._me) == 1

    async def require(self, tx: Transaction) -> int:
        """In every transaction of the engine: it is ours, and nobody takes it before the commit. Its beat then, which
        is one more than that of the last transaction that was committed."""
        row = await tx.one(_BEAT[tx.dialect], own_fence=self.fence)
        if row is None:
            raise LeaseLost
        return int(row[0])

    async def let_go(self) -> None:
        """At an orderly end, so that the next one need not wait."""
        try:
            async with self._database.transaction() as tx:
                await tx.run(_LET_GO, own_fence=self.fence)
        except StorageError as error:
            log.warning("the engine's lease could not be given back; another waits some seconds", error=str(error))


def _is_free(holder: str) -> bool:
    """Nobody has it, or a process of this machine that is gone."""
    if not holder:
        return True
    machine, process, start, _ = holder.split()
    return machine == _this_machine() and _start_of(int(process)) != start


def _this_machine() -> str:
    """This boot of this machine, and this view of its processes (a container has its own)."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return f"unknown-{uuid7()}"  # never the same: its processes are not looked for


def _start_of(process: int) -> str:
    """When it started, so that another one that got its number is not taken for it."""
    try:
        state, *others = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        # One that was killed is there until its parent looks for it.
        return "gone" if state in {"Z", "X"} else others[18]
    except (OSError, ValueError, IndexError):
        return "gone"
