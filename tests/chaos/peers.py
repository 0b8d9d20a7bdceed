"""What a storm needs around the server, each a process that can be ended and started again."""

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.postgresql import _programs, _wait

_PATIENCE = 180


class CountingService:
    def __init__(self, folder: Path) -> None:
        self._log = folder / "requests"
        self._log.touch()
        root = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.chaos.service", str(self._log)], cwd=root, stdin=subprocess.DEVNULL
        )

    @property
    def url(self) -> str:
        until = time.monotonic() + _PATIENCE
        while not (lines := self._log.read_text().splitlines()):
            assert self._process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        return f"http://127.0.0.1:{json.loads(lines[0])['port']}"

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()[1:]]

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def counting(folder: Path) -> Iterator[CountingService]:
    service = CountingService(folder)
    try:
        yield service
    finally:
        service.close()


class Postgresql:
    """A server of its own that keeps what it has acknowledged: the tests' other one may lose it when it is killed."""

    _OPTIONS = ("listen_addresses=", "max_connections=200", "fsync=off", "full_page_writes=off")

    def __init__(self, folder: Path) -> None:
        self._programs, self._user = _programs()
        self._folder = folder
        if self._user is not None:
            shutil.chown(folder, self._user)
        subprocess.run(
            [self._programs / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust", "-E", "utf8", "-N"],
            user=self._user, cwd=folder, check=True, capture_output=True, timeout=_PATIENCE,
        )  # fmt: skip
        self.url = f"postgresql://postgres:@/postgres?host={folder}"
        self.start()

    def start(self) -> None:
        options = [part for option in self._OPTIONS for part in ("-c", option)]
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", "-k", self._folder, *options],
                user=self._user, cwd=self._folder, stdout=log, stderr=log,
            )  # fmt: skip
        _wait(self._programs, self._folder, self._process)

    def kill(self) -> None:
        """At once, with everything under way; it recovers from its log when it starts again."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(_PATIENCE)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        self._process.wait(_PATIENCE)


class SmallDisk:
    """A file system of its own, in memory, that can be filled up."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        with self._ballast.open("wb", buffering=0) as ballast, suppress(OSError):
            while ballast.write(bytes(4096)):
                pass

    def make_room(self) -> None:
        self._ballast.unlink()


@contextmanager
def small_disk(megabytes: int) -> Iterator[SmallDisk]:
    folder = Path(tempfile.mkdtemp(prefix="penstock-disk-"))
    size = f"size={megabytes}m"
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", size, "tmpfs", folder], check=False, capture_output=True
        )
        if mounted.returncode != 0:
            pytest.skip("whoever runs this may not mount a file system, so that there is none to fill up")
        try:
            _, user = _programs()
            if user is not None:
                shutil.chown(folder, user)
            yield SmallDisk(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)
    finally:
        folder.rmdir()


@contextmanager
def postgresql() -> Iterator[Postgresql]:
    folder = Path(tempfile.mkdtemp(prefix="penstock-chaos-"))
    try:
        server = Postgresql(folder)
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
