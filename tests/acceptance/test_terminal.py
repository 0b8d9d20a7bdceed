"""`penstock serve` at a terminal: what a person reads first, and what the server asks of the operating system."""

import os
import pty
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.acceptance.server import PATIENCE, until
from tests.cli.running import environment

pytestmark = pytest.mark.anyio
_SERVE = 'ulimit -S -n 256 && exec "$0" -m penstock serve --port 0 --database "$1"'


class Terminal:
    """A server whose messages go to a terminal; started by a shell that allows few open files."""

    def __init__(self, folder: Path, database: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["bash", "-c", _SERVE, sys.executable, database], stderr=theirs, cwd=folder, env=environment()
        )
        os.close(theirs)
        self._heard = b""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                said = os.read(self._ours, 4096)
            except OSError:  # the other end is closed
                return
            self._heard += said

    @property
    def said(self) -> str:
        return self._heard.decode(errors="replace")  # a character may be there in part

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)
        self._reader.join()
        os.close(self._ours)


@contextmanager
def terminal(folder: Path, database: str) -> Iterator[Terminal]:
    shown = Terminal(folder, database)
    try:
        yield shown
    finally:
        shown.end()


async def test_it_says_where_it_is_and_whether_its_engine_runs_or_waits(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/penstock.db"
    with terminal(tmp_path, database) as first:
        await until(lambda: "Its engine runs; no execution was left unended." in first.said)
        assert "Penstock is at http://127.0.0.1:" in first.said
        soft, hard = resource.prlimit(first.process.pid, resource.RLIMIT_NOFILE)
        assert soft == hard > 256, "each listener is an open file"
        with terminal(tmp_path, database) as second:
            await until(lambda: "Its engine waits: another server runs the workflows of this database" in second.said)
