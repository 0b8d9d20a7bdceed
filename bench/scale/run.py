"""The order of a run: the same load on 1, 2 and 4 workers, whose processor time it took, and how late it was heard."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from bench.accounts.report import machine
from bench.engine.work import CALLS, SETS, THREE_CALLS, THREE_SETS, answering
from bench.scale.load import Caller, Load, calling
from bench.scale.machines import WHO, Machines, machines

_REST = 5.0
_WARM = 32
_WIDTH = 150
_STEPS = 3  # of each execution


@dataclass(frozen=True)
class Plan:
    workers: Sequence[int] = (1, 2, 4)
    count: int = 400
    at_once: int = 32
    slow: int = 40
    """Executions one after the other, for how late everything is when nothing else waits."""


@dataclass(frozen=True)
class Figures:
    """Times are milliseconds; `cpu` by whose it is, for one execution, and `rest` shares of a core without any."""

    work: str
    workers: int
    load: str
    """So many at once, or so many a second."""
    rate: float
    ends: tuple[float, float]
    """p50 and p99 from the trigger to hearing of the end."""
    late: tuple[float, float, float]
    """p50, p99 and the most from an event's own time to hearing it."""
    lag: tuple[float, float, float]
    """p50, p99 and the most from a step's end to its commit."""
    cpu: dict[str, float]
    rest: dict[str, float]
    transactions: float
    log_bytes: float
    disk_bytes: float


def measure(plan: Plan, console: Console, path: Path) -> None:
    with TemporaryDirectory(prefix="penstock-scale-") as folder, machines(Path(folder)) as made, answering() as url:
        rows = asyncio.run(_measure(plan, made, url, console))
    _show(rows, console)
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {"at": datetime.now(UTC).isoformat(), "machine": machine(), "figures": [asdict(row) for row in rows]}
    path.write_text(json.dumps(document, indent=2) + "\n")


async def _measure(plan: Plan, made: Machines, url: str, console: Console) -> list[Figures]:
    found: list[Figures] = []
    with made.server() as address:
        async with calling(address) as caller:
            work = {
                SETS: await caller.workflow("sets", THREE_SETS),
                CALLS: await caller.workflow("calls", THREE_CALLS % {"url": url}),
            }
            for workers in plan.workers:
                console.print(f"with {workers} workers …")
                with made.workers(workers):
                    found += await _with_workers(plan, made, caller, work, workers)
    return found


async def _with_workers(
    plan: Plan, made: Machines, caller: Caller, work: dict[str, str], workers: int
) -> list[Figures]:
    found = []
    for workflow_id in work.values():
        await caller.load(workflow_id, _WARM, _WARM)
    rest = await _rest(made)
    for name, workflow_id in work.items():
        loaded = partial(_loaded, made, caller, (name, workflow_id), workers, rest)
        full = await loaded(plan.count, plan.at_once, None)
        found += [full, await loaded(plan.slow, 1, None), await loaded(plan.count, None, full.rate / 2)]
    return found


async def _rest(made: Machines) -> dict[str, float]:
    before = made.cpu()
    await asyncio.sleep(_REST)
    return {who: (used - before[who]) / _REST for who, used in made.cpu().items()}


async def _loaded(
    made: Machines,
    caller: Caller,
    work: tuple[str, str],
    workers: int,
    rest: dict[str, float],
    count: int,
    at_once: int | None,
    rate: float | None,
) -> Figures:
    """So many at once, or so many a second."""
    cpu, stored = made.cpu(), await made.stored()
    if rate is None:
        load, said = await caller.load(work[1], count, at_once or 1), f"{at_once} at once"
    else:
        load, said = await caller.paced(work[1], count, rate), f"{rate:.1f}/s, the half"
    used = {who: seconds - cpu[who] for who, seconds in made.cpu().items()}
    transactions, log, disk = (
        (after - before) / count for before, after in zip(stored, await made.stored(), strict=True)
    )
    each = {who: max(0.0, used[who] - rest[who] * load.seconds) / count * 1e3 for who in WHO}
    lags = sorted(await made.lags(work[1], count * _STEPS))
    times = (*_times(load), (_at(lags, 0.5), _at(lags, 0.99), lags[-1]))
    return Figures(work[0], workers, said, count / load.seconds, *times, each, rest, transactions, log, disk)


def _times(load: Load) -> tuple[tuple[float, float], tuple[float, float, float]]:
    ends, late = sorted(load.ends), sorted(load.late)
    return (_at(ends, 0.5), _at(ends, 0.99)), (_at(late, 0.5), _at(late, 0.99), late[-1])


def _at(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


TIMES = (
    "workers", "load", "per second", "to its end, ms: p50", "p99",
    "late, ms: p50", "p99", "most", "lag, ms: p50", "p99", "most",
)  # fmt: skip
COSTS = ("workers", "load", "Temporal", "workers", "server", "PostgreSQL", "all", "trans.", "log, kB", "disk, kB")


def _show(rows: Sequence[Figures], console: Console) -> None:
    console.print(f"Load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    times, costs = _table("executions", TIMES), _table("one execution, ms of processor", COSTS)
    for row in rows:
        head = (row.work, str(row.workers), row.load)
        times.add_row(*head, f"{row.rate:.1f}", *(f"{each:.0f}" for each in (*row.ends, *row.late, *row.lag)))
        cpu = [row.cpu[who] for who in WHO]
        sizes = (f"{each / 1e3:.1f}" for each in (row.log_bytes, row.disk_bytes))
        costs.add_row(*head, *(f"{each:.1f}" for each in (*cpu, sum(cpu), row.transactions)), *sizes)
    # As wide as they are: a file has no edges.
    Console(width=max(console.width, _WIDTH)).print(times, costs)
    for row in {row.workers: row for row in rows}.values():
        shares = ", ".join(f"{who} {share:.1%}" for who, share in row.rest.items())
        console.print(f"at rest, with {row.workers} workers, shares of a core: {shares}")


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title)
    table.add_column("work", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
