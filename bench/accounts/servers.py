"""Starting the servers, knowing when they are ready, and ending them whatever happens."""

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.accounts.contenders import Contender

READY_WITHIN = 30.0
STOP_WITHIN = 10.0


class BenchError(Exception):
    """The measurement cannot be made. The message says why and what to do."""


@dataclass(frozen=True)
class Server:
    """A contender that is running."""

    contender: Contender
    process: subprocess.Popen[bytes]
    port: int
    database: Path
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float | None:
        """Processor time used so far, of all threads; None where there is no /proc."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return None
        user, system = stat.read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def complaint(self) -> str:
        said = self.log.read_text(errors="replace").strip().splitlines()[-30:]
        return "\n".join([f"{self.contender.name} said:", *(said or ["(nothing)"])])


@contextmanager
def serving(contender: Contender, folder: Path) -> Iterator[Server]:
    """The contender's server, ready to answer. It ends with the block."""
    port = _free_port()
    database = folder / f"{contender.name}.db"
    log = folder / f"{contender.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            contender.command(port, database),
            env=contender.environment(port, database),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # Ctrl-C is for us: we end the servers ourselves, after wrk.
            start_new_session=True,
        )
    server = Server(contender, process, port, database, log)
    try:
        _wait_until_ready(server)
        yield server
    finally:
        _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_ready(server: Server) -> None:
    deadline = time.monotonic() + READY_WITHIN
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise BenchError(f"{server.contender.name} ended at start. {server.complaint()}")
        try:
            socket.create_connection(("127.0.0.1", server.port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise BenchError(f"{server.contender.name} did not listen within {READY_WITHIN:.0f} s. {server.complaint()}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
