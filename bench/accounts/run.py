"""The order of a run: start all, fill all, then round after round one server after the other, and report."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench.accounts import report
from bench.accounts.contenders import CONTENDERS, ON_REQUEST, PEERS, Contender
from bench.accounts.load import ROUTES, Burst, Route, Target, confirm, require_wrk, targets
from bench.accounts.report import Result
from bench.accounts.seeds import Population
from bench.accounts.servers import BenchError, Server, serving

FIRST_WARM_UP = 10
"""V8 still gains speed after some thousand requests (better-auth here: 250/s at first, 490/s after 12 s)."""
WARM_UP = 1


@dataclass(frozen=True)
class Plan:
    """What to measure, and for how long."""

    seconds: int = 5
    connections: int = 32
    sign_in_connections: int = 8
    rounds: int = 3
    users: int = 10_000

    def connections_to(self, route: Route) -> int:
        """Fewer for sign-ins: each keeps a core busy, so more of them would only wait in line."""
        return self.connections if route == "get" else self.sign_in_connections

    @property
    def words(self) -> str:
        return (
            f"medians of {self.rounds} rounds of {self.seconds} s, {self.connections} connections "
            f"({self.sign_in_connections} for sign-ins), {self.users:,} users in SQLite (WAL)"
        )


def choose(only: Sequence[str], without: Sequence[str]) -> list[Contender]:
    """The contenders by name; all but those on request when none is named."""
    known = {contender.name: contender for contender in (*CONTENDERS, *ON_REQUEST)}
    for name in (*only, *without):
        if name not in known:
            raise BenchError(f"there is no server {name!r}; there are {', '.join(known)}.")
    names = only or [contender.name for contender in CONTENDERS]
    return [known[name] for name in names if name not in without]


def measure(chosen: Sequence[Contender], plan: Plan, console: Console, json_file: Path) -> None:
    require_wrk()
    if any(contender.needs_node for contender in chosen):
        install_node_peers(console)
    with TemporaryDirectory(prefix="penstock-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        with console.status("starting the servers and filling their databases"):
            population = Population.of(plan.users)
            aims = [_ready(stack, contender, population, folder) for contender in chosen]
        results = _rounds([target for aim in aims for target in aim], plan, console)
    report.show(results, console, plan.words)
    report.save(results, vars(plan), json_file)
    console.print(f"every round is in {json_file}")


def _ready(stack: ExitStack, contender: Contender, population: Population, folder: Path) -> list[Target]:
    server = stack.enter_context(serving(contender, folder))
    contender.seed(server.database, population)
    both = targets(server, folder)
    return [both[route] for route in ROUTES]


def _rounds(aims: Sequence[Target], plan: Plan, console: Console) -> list[Result]:
    """A, B, C, A, B, C …: what else the machine does then falls on all of them alike."""
    bursts: dict[Target, list[Burst]] = {aim: [] for route in ROUTES for aim in aims if aim.route == route}
    with _progress(console, (plan.rounds + 1) * len(bursts)) as step:
        for target in bursts:
            step(f"warming up {target}")
            target.burst(FIRST_WARM_UP, plan.connections_to(target.route))
        for number in range(1, plan.rounds + 1):
            for target, rounds in bursts.items():
                step(f"round {number}: {target}")
                target.burst(WARM_UP, plan.connections_to(target.route))
                rounds.append(target.burst(plan.seconds, plan.connections_to(target.route)))
    for server, cookie in _first_cookies(aims):
        confirm(server, 1, cookie)
    return [Result(target.server.contender, target.route, rounds) for target, rounds in bursts.items()]


def _first_cookies(aims: Sequence[Target]) -> Iterator[tuple[Server, str]]:
    for target in aims:
        if target.route == "get":
            yield target.server, target.requests.read_text().partition("\n")[0]


@contextmanager
def _progress(console: Console, steps: int) -> Iterator[Callable[[str], None]]:
    """A bar that the block moves on, saying what it does next."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=steps, completed=-1)
        yield lambda description: progress.update(task, advance=1, description=description)


def install_node_peers(console: Console) -> None:
    """`npm ci` in bench/peers, unless it was done for the present lock file."""
    lock, installed = PEERS / "package-lock.json", PEERS / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    if shutil.which("npm") is None:
        raise BenchError("better-auth needs Node 20 or newer with npm; or leave it out: --without better-auth.")
    console.print("installing the Node server with npm ci; SQLite may be compiled, which takes some minutes")
    with console.status("npm ci"):
        ran = subprocess.run(["npm", "ci"], cwd=PEERS, check=False)
    if ran.returncode != 0:
        raise BenchError(
            "npm ci failed (its words are above). Compiling SQLite needs a C++ compiler and Node's headers; "
            "or leave the server out: --without better-auth."
        )
