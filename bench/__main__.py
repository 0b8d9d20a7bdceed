"""The command line of the measurements: `python -m bench accounts --seconds 5 --rounds 3`."""

import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

from cyclopts import App, Parameter
from rich.console import Console

from bench.accounts.run import Plan, choose, measure
from bench.accounts.servers import BenchError
from bench.console.run import PARTS
from bench.console.run import Plan as Pages
from bench.console.run import measure as measure_console
from bench.engine.run import Kind
from bench.engine.run import measure as measure_engine
from bench.platform.run import measure_lists, measure_rates, save
from bench.platform.seeds import Size
from bench.scale.run import Plan as Scale
from bench.scale.run import measure as measure_scale
from bench.streams.run import Plan as Streams
from bench.streams.run import measure as measure_streams

DEFAULT_JSON = Path("var/bench/accounts.json")
Names = Annotated[list[str] | None, Parameter(negative="", consume_multiple=True)]

app = App(
    name="python -m bench",
    help="Measure Penstock beside other servers, on this machine, in one run.",
    suppress_keyboard_interrupt=False,
)
console = Console()


@app.default
@app.command
def accounts(
    *,
    seconds: int = 5,
    connections: int = 32,
    sign_in_connections: int = 8,
    rounds: int = 3,
    users: int = 10_000,
    only: Names = None,
    without: Names = None,
    json: Path = DEFAULT_JSON,
) -> None:
    """Session lookup (GET /user/get) and password sign-in (POST /user/auth).

    Parameters
    ----------
    seconds
        How long each measurement takes.
    connections
        How many connections are open at once.
    sign_in_connections
        How many for sign-ins, each of which keeps a core busy.
    rounds
        How often each is measured; medians are shown.
    users
        How many users, with a session each, are in every database.
    only
        Measure only these: penstock, fastapi, better-auth, floor, better-auth-scrypt (only when named).
    without
        Leave these out.
    json
        Where to write every round.
    """
    plan = Plan(seconds, connections, sign_in_connections, rounds, users)
    measure(choose(only or [], without or []), plan, console, json)


@app.command
def platform(
    *,
    lists: bool = True,
    rates: bool = True,
    rounds: int = 20,
    seconds: int = 5,
    connections: int = 32,
    tenth: bool = False,
    database: str | None = None,
    json: Path = Path("var/bench/platform.json"),
) -> None:
    """Lists and dashboards over a million rows, and workflows read and written beside FastAPI.

    Parameters
    ----------
    lists
        Time every list and dashboard.
    rates
        Measure requests per second.
    rounds
        How often each list is asked.
    seconds
        How long each measurement of a rate takes.
    connections
        How many connections are open at once.
    tenth
        A tenth of the rows.
    database
        The address of an empty PostgreSQL database to fill for the lists; left out: a SQLite file in var/bench.
    json
        Where to write the figures.
    """
    size = Size(100, 1_000, 10_000, 3, 100_000, 100_000) if tenth else Size()
    timings = measure_lists(size, database, rounds, console) if lists else []
    save(timings, measure_rates(seconds, 3, connections, console) if rates else [], json)


@app.command
def engine(
    *,
    database: Kind = "sqlite",
    quick: bool = False,
    parts: Names = None,
    peers: Names = None,
    past: int = 1_000_000,
    json: Path = Path("var/bench/engine.json"),
) -> None:
    """What an execution costs: inside one process, through the API, asleep, after a long history, beside peers.

    Parameters
    ----------
    database
        sqlite or postgresql; the latter is started for it, with its fsync on.
    quick
        Fewer of everything, and a tenth of the history.
    parts
        Only these: inside, api, asleep, history, peers.
    peers
        Only these: temporal, dbos, prefect. Each is installed into var/bench/peers at its first run.
    past
        How many executions the history has.
    json
        Where to write the figures.
    """
    chosen = parts or ["inside", "api", "asleep", "history", "peers"]
    past = past // 10 if quick else past
    measure_engine(database, chosen, peers or [], quick=quick, past=past, console=console, path=json)


@app.command
def scale(
    *,
    workers: Annotated[list[int] | None, Parameter(negative="", consume_multiple=True)] = None,
    count: int = 400,
    at_once: int = 32,
    json: Path = Path("var/bench/scale.json"),
) -> None:
    """What an execution on a Temporal cluster costs, and whom: Temporal, workers, servers, PostgreSQL.

    Parameters
    ----------
    workers
        With so many workers, each a process; left out: 1, 2 and 4.
    count
        How many executions of each kind.
    at_once
        How many of them are under way.
    json
        Where to write the figures.
    """
    measure_scale(Scale(workers or (1, 2, 4), count, at_once), console, json)


@app.command
def streams(
    *,
    listeners: int = 2_000,
    sessions: int = 100,
    seconds: int = 10,
    rate: float = 2.0,
    slow: int = 20,
    database: str | None = None,
    json: Path = Path("var/bench/streams.json"),
) -> None:
    """Listeners to the events of one workflow while it runs: how late they hear, and what each costs.

    Parameters
    ----------
    listeners
        How many streams are open.
    sessions
        How many people they are.
    seconds
        For how long executions are triggered.
    rate
        Executions a second.
    slow
        How many more connect and never read.
    database
        The address of an empty PostgreSQL database; left out: a SQLite file.
    json
        Where to write the figures.
    """
    measure_streams(Streams(listeners, sessions, seconds, rate, slow, database), console, json)


@app.command(name="console")
def pages(
    *, seconds: float = 10.0, loads: int = 5, parts: Names = None, json: Path = Path("var/bench/console.json")
) -> None:
    """The console in a real Chromium: its first page, its frames over ten thousand steps, and beside a run.

    Parameters
    ----------
    seconds
        For how long each page is scrolled, or watched while it runs.
    loads
        How often the first page is opened.
    parts
        Only these: first, scroll, live.
    json
        Where to write the figures.
    """
    measure_console(Pages(seconds, loads, tuple(parts or PARTS)), console, json)


def _as_interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    signal.signal(signal.SIGTERM, _as_interrupt)  # so that the servers end with us, however we are ended
    try:
        app()
    except BenchError as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        sys.exit(1)
    except KeyboardInterrupt:
        console.print("stopped; the servers have been ended")
        sys.exit(130)


main()
