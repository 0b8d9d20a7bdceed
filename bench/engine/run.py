"""The order of a run: inside, through the API, asleep, after a long history, beside peers; and a table of it."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from bench.accounts.report import machine
from bench.engine import history, inside, peers, postgresql, through
from bench.engine.work import SETS, Figures, answering

Kind = Literal["sqlite", "postgresql"]
AT_ONCE = 64


@contextmanager
def _databases(kind: Kind, folder: Path) -> Iterator[Callable[[str], str]]:
    """From a name to the address of a new database."""
    if kind == "sqlite":
        yield lambda name: f"sqlite:///{folder.absolute()}/{name}.db"
        return
    with postgresql.running() as server:
        yield lambda name: postgresql.empty(server, name)


def measure(
    kind: Kind, parts: Sequence[str], only: Sequence[str], *, quick: bool, past: int, console: Console, path: Path
) -> None:
    count, seconds, sleepers = (600, 3, 1_000) if quick else (4_000, 10, 10_000)
    found: dict[str, Any] = {}
    rows: list[Figures] = []
    with (
        TemporaryDirectory(prefix="penstock-bench-") as name,
        _databases(kind, Path(name)) as new,
        answering() as url,
        console.status("") as status,
    ):
        if "inside" in parts:
            rows += _inside(new("inside"), count, url, found, status.update)
        if "api" in parts:
            status.update("through the API")
            rows += through.measure(Path(name), None if kind == "sqlite" else new("api"), url, seconds)
        if "asleep" in parts:
            status.update(f"{sleepers:,} asleep")
            found["asleep"] = inside.measured("asleep", database=new("asleep"), count=sleepers)
        if "history" in parts:
            found["history"] = _history(new("history"), count, past, status.update)
        if "peers" in parts:
            rows += peers.measure(only, quick, AT_ONCE, status.update)
    _show(rows, kind, console)
    for what, figures in found.items():
        console.print(what, json.dumps(figures, indent=2))
    _save({"database": kind, "figures": [asdict(row) for row in rows], **found}, path)


def _inside(
    database: str, count: int, url: str, found: dict[str, Any], say: Callable[[str], None]
) -> Iterator[Figures]:
    say("inside")
    inside.measured("prepare", database=database)
    before = history.size(database)
    told = inside.measured("rates", database=database, count=count, at_once=[AT_ONCE], url=None)
    found["bytes_per_execution"] = (history.size(database) - before) / (count // AT_ONCE * AT_ONCE + 192)
    for more in (
        told,
        inside.measured("rates", database=database, count=count, at_once=[1_000, 100, 10], url=url),
        inside.measured("rates", database=database, count=200, at_once=[1], url=None),
    ):
        yield from (Figures(**each) for each in more)


def _history(database: str, count: int, past: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    say("an empty past")
    where = inside.measured("prepare", database=database)
    found = [{"past": 0, **inside.measured("again", database=database, count=count, **where)}]
    say(f"making a past of {past:,} executions")
    history.add(database, where["workflow"], past)
    say(f"after {past:,} executions")
    return [*found, {"past": past, **inside.measured("again", database=database, count=count, **where)}]


HEADINGS = (
    "at once",
    "per second",
    "p50 ms",
    "p99 ms",
    "CPU ms",
    "RSS MB",
    "rate: Penstock / this",
    "CPU: this / Penstock",
)


def _show(rows: Sequence[Figures], kind: Kind, console: Console) -> None:
    load = f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    console.print(
        f"Executions, {kind}, {load}; Penstock in the last columns is Penstock inside, {SETS}, as many at once"
    )
    table = Table()
    for heading in ("who", "work"):
        table.add_column(heading, no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    ours = {row.at_once: row for row in rows if row.who == "Penstock inside" and row.work == SETS}
    for row in rows:
        own = ours.get(row.at_once)
        compared = (f"{own.rate / row.rate:.1f}", f"{row.cpu / own.cpu:.1f}") if own is not None else ("", "")
        times = (f"{row.rate:,.1f}", f"{row.p50:,.1f}", f"{row.p99:,.1f}", f"{row.cpu:.2f}")
        resident = "" if row.resident is None else f"{row.resident:,.0f}"
        table.add_row(row.who, row.work, f"{row.at_once:,}", *times, resident, *compared)
    # Figures that are cut off help nobody, in a file least of all.
    Console(width=max(console.width, 150)).print(table)


def _save(document: dict[str, Any], path: Path) -> None:
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path.parent.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()
    path.write_text(json.dumps({"at": at, "load": load, "machine": machine(), **document}, indent=2) + "\n")
