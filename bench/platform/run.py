"""The order of a run: fill, time every list, then rates beside the peer; and say what is over the goal."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.accounts.report import machine
from bench.platform import latency, throughput
from bench.platform.latency import GOAL, Timing
from bench.platform.seeds import Size, seeded
from bench.platform.throughput import Rate

FOLDER = Path("var/bench")


def measure_lists(size: Size, url: str | None, rounds: int, console: Console) -> list[Timing]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    kind = "sqlite" if url is None else "postgresql"
    file = (FOLDER / f"platform-{size.name}.db").absolute()
    marker = FOLDER / f"platform-{size.name}.{kind}.ready"
    with console.status("") as status:
        seed = asyncio.run(seeded(url or f"sqlite:///{file}", size, marker, status.update))
        timings = asyncio.run(latency.time_routes(seed, rounds, status.update))
    _show_timings(timings, kind, console)
    return timings


def _show_timings(timings: Sequence[Timing], kind: str, console: Console) -> None:
    table = Table(title=f"Server time of a request in ms, one at a time, {kind}")
    table.add_column("route")
    for heading in ("p50", "p95", "most", "CPU", "bytes"):
        table.add_column(heading, justify="right")
    for timing in timings:
        style = "red" if timing.p95 > GOAL else None
        figures = (
            f"{timing.p50:.2f}",
            f"{timing.p95:.2f}",
            f"{timing.most:.2f}",
            f"{timing.cpu:.2f}",
            f"{timing.bytes:,}",
        )
        table.add_row(timing.route, *figures, style=style)
    console.print(table)
    over = [timing.route for timing in timings if timing.p95 > GOAL]
    console.print(f"over {GOAL:.0f} ms at p95: {', '.join(over) or 'none'}")


def measure_rates(seconds: int, rounds: int, connections: int, console: Console) -> list[Rate]:
    with console.status("") as status:
        rates = throughput.measure(seconds, rounds, connections, status.update)
    table = Table(title=f"Requests per second, one process each, {connections} connections, SQLite")
    for heading in ("route", "server"):
        table.add_column(heading)
    for heading in ("req/s", "p50 ms", "p99 ms", "CPU ms/req", "Penstock / this"):
        table.add_column(heading, justify="right")
    ours = {rate.route: rate.rate for rate in rates if rate.server == "Penstock"}
    for rate in rates:
        times = f"{ours[rate.route] / rate.rate:.2f}"
        figures = (f"{rate.rate:,.0f}", f"{rate.p50:.2f}", f"{rate.p99:.2f}", f"{rate.cpu:.2f}", times)
        table.add_row(rate.route, rate.server, *figures)
    console.print(table)
    return rates


def save(timings: Sequence[Timing], rates: Sequence[Rate], path: Path) -> None:
    document = {
        "machine": machine(),
        "lists": [asdict(timing) for timing in timings],
        "rates": [asdict(rate) for rate in rates],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")
