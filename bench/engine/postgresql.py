"""A PostgreSQL for the measurement, as it comes: every commit is on the disk before it is told."""

import asyncio
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import asyncpg
from tests.postgresql import _programs

from bench.accounts.servers import BenchError

_PATIENCE = 60


@contextmanager
def running(*settings: str) -> Iterator[str]:
    programs, user = _programs()
    given = [part for setting in settings for part in ("-c", setting)]
    folder = Path(mkdtemp(prefix="penstock-bench-pg-"))
    if user is not None:
        shutil.chown(folder, user)
    try:
        subprocess.run(
            [programs / "initdb", "-D", folder / "data", "-U", "postgres", "--auth=trust", "--encoding=utf8"],
            user=user, cwd=folder, check=True, capture_output=True, timeout=_PATIENCE,
        )  # fmt: skip
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", folder / "data", "-k", folder, "-c", "listen_addresses=", *given],
                user=user, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
        url = f"postgresql://postgres:@/postgres?host={folder}"
        try:
            asyncio.run(_ready(url))
            yield url
        finally:
            server.terminate()
            server.wait(_PATIENCE)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _ready(url: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        try:
            await (await asyncpg.connect(url)).close()
        except (OSError, asyncpg.PostgresError):
            await asyncio.sleep(0.1)
        else:
            return
    raise BenchError("PostgreSQL did not start")


def empty(server: str, name: str) -> str:
    """A new database on that server."""
    asyncio.run(_create(server, name))
    return server.replace("/postgres?", f"/{name}?")


async def _create(server: str, name: str) -> None:
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"CREATE DATABASE {name}")
    finally:
        await connection.close()
