"""A real Temporal server for tests: the development server of its own command line, from a package."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import ports

_PATIENCE = 240
# Timers are otherwise looked at once a second, to spare a large cluster's database.
_SETTINGS = (
    "--dynamic-config-value", 'history.timerProcessorMaxTimeShift="10ms"',
    # Whether a build of workers has anything left to do is otherwise looked at every three minutes.
    "--dynamic-config-value", 'matching.wv.VersionDrainageStatusVisibilityGracePeriod="1s"',
    "--dynamic-config-value", 'matching.wv.VersionDrainageStatusRefreshInterval="1s"',
    # As docs/operate.md says to have it: each workflow its turn.
    "--dynamic-config-value", "matching.enableFairness=true",
    "--dynamic-config-value", "matching.numTaskqueueReadPartitions=1",
    "--dynamic-config-value", "matching.numTaskqueueWritePartitions=1",
)  # fmt: skip
# What is killed loses nothing by these, only a machine without power would; its tests have nobody who waits for a disk.
_KEPT = ("--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=off")
PROGRAM = Path(sys.executable).with_name("temporal")
free_port = ports.free_port


@contextmanager
def running(folder: Path, *, port: int | None = None, durable: bool = False) -> Iterator[str]:
    """Its address. What it stores is in memory, unless it is to outlive the server, in the folder."""
    port = port or free_port()
    server = start(folder, port, durable=durable)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def start(folder: Path, port: int, *, durable: bool) -> "subprocess.Popen[bytes]":
    """Once it answers; whoever starts it ends it."""
    kept = ["--db-filename", str(folder / "temporal.db"), *_KEPT] if durable else []
    with (folder / "temporal.log").open("a") as log:
        server = subprocess.Popen(
            [str(PROGRAM), "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", str(port),
             "--log-level", "warn", *_SETTINGS, *kept],
            stdout=log, stderr=log, cwd=folder,
        )  # fmt: skip
    try:
        _wait(port, server, folder)
    except BaseException:
        server.kill()
        server.wait()
        raise
    return server


def _wait(port: int, server: "subprocess.Popen[bytes]", folder: Path) -> None:
    until = time.monotonic() + _PATIENCE
    health = [str(PROGRAM), "operator", "cluster", "health", "--address", f"127.0.0.1:{port}"]
    while subprocess.run(health, check=False, capture_output=True).returncode != 0:
        ended = server.poll() is not None or time.monotonic() > until
        assert not ended, (folder / "temporal.log").read_text()
        time.sleep(0.1)
