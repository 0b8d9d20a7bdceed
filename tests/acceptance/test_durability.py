"""What was acknowledged is there: after kill -9, on a full disk, behind a lock, beside a second server."""

import asyncio
import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from tests.acceptance.server import PATIENCE, Server, running, sign_in, sign_up, until

pytestmark = pytest.mark.anyio


async def test_killed_in_the_middle_of_sign_ups_it_has_lost_none_that_it_acknowledged(
    tmp_path: Path, database_url: str
) -> None:
    acknowledged: list[str] = []

    async def keep_signing_up(client: httpx.AsyncClient, stream: int) -> None:
        for number in range(10_000):
            email = f"user{stream}-{number}@example.com"
            try:
                answer = await sign_up(client, email)
            except httpx.TransportError:
                return
            assert answer.status_code == 200
            acknowledged.append(email)

    async with (
        running(tmp_path, database_url) as server,
        httpx.AsyncClient(base_url=await server.url(), timeout=PATIENCE) as client,
    ):
        streams = [asyncio.create_task(keep_signing_up(client, stream)) for stream in range(4)]
        await until(lambda: len(acknowledged) >= 12)
        await server.kill()
        await asyncio.gather(*streams)
    async with (
        running(tmp_path, database_url) as server,
        httpx.AsyncClient(base_url=await server.url(), timeout=PATIENCE) as client,
    ):
        answers = await asyncio.gather(*(sign_in(client, email) for email in acknowledged))
        assert {answer.status_code for answer in answers} == {200}
        assert (await sign_up(client, "afterwards@example.com")).status_code == 200


Fill = Callable[[Server], Callable[[], None]]


@pytest.fixture(params=["a full disk", "a limit on the size of files"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Fill]]:
    """A folder for the database, and a way to leave it no space, which returns a way to give some back."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if request.param == "a limit on the size of files":

        def limit(server: Server) -> Callable[[], None]:
            largest = (folder / "penstock.db-wal").stat().st_size
            _, hard = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (largest, hard))

            def lift() -> None:
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (hard, hard))

            return lift

        yield folder, limit
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("only root may mount a small disk; the limit on the size of files is tested all the same")

    def fill(_: Server) -> Callable[[], None]:
        filler = folder / "filler"
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 1024)
            except OSError:
                os.fsync(file.fileno())
        return filler.unlink

    yield folder, fill
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_with_no_space_left_it_says_so_goes_on_reading_and_recovers_by_itself(
    tmp_path: Path, small_disk: tuple[Path, Fill]
) -> None:
    folder, fill = small_disk
    async with running(tmp_path, f"sqlite:///{folder}/penstock.db") as server:
        url = await server.url()
        async with (
            httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client,
            httpx.AsyncClient(base_url=url, timeout=PATIENCE) as other,
        ):
            assert (await sign_up(client, "ada@example.com")).status_code == 200
            give_back = fill(server)
            for _ in range(3):
                answer = await sign_up(other, "grace@example.com")
                assert (answer.status_code, answer.json()["type"]) == (503, "urn:penstock:problem:unavailable")
                assert "retry-after" in answer.headers
                assert "set-cookie" not in answer.headers
            assert (await client.get("/user/get")).json()["email"] == "ada@example.com"
            give_back()
            assert (await sign_in(other, "grace@example.com")).status_code == 401, "nothing half-written"
            assert (await sign_up(other, "grace@example.com")).status_code == 200
            assert (await other.get("/user/get")).json()["email"] == "grace@example.com"
        assert await server.stop() == 0
    with closing(sqlite3.connect(folder / "penstock.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


async def test_a_lock_of_another_process_is_waited_for(tmp_path: Path) -> None:
    async with (
        running(tmp_path, f"sqlite:///{tmp_path}/penstock.db") as server,
        httpx.AsyncClient(base_url=await server.url(), timeout=PATIENCE) as client,
    ):
        with closing(sqlite3.connect(tmp_path / "penstock.db", isolation_level=None)) as rival:
            rival.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(client.post("/project", json={"name": "apollo"}))
            for _ in range(5):
                # Each a whole round trip: the server serves others meanwhile.
                assert (await client.get("/project?projectName=apollo")).status_code == 404
            assert not waiting.done()
            rival.execute("COMMIT")
        assert (await waiting).status_code == 201
        assert (await client.get("/project?projectName=apollo")).status_code == 200


async def test_two_servers_on_one_file_lose_nothing_of_each_other(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/penstock.db"
    async with (
        running(tmp_path / "one", database) as one,
        running(tmp_path / "two", database) as two,
        httpx.AsyncClient(base_url=await one.url(), timeout=PATIENCE) as first,
        httpx.AsyncClient(base_url=await two.url(), timeout=PATIENCE) as second,
    ):
        names = [f"project {number}" for number in range(100)]
        clients = (first, second)
        posts = [clients[index % 2].post("/project", json={"name": name}) for index, name in enumerate(names)]
        assert {answer.status_code for answer in await asyncio.gather(*posts)} == {201}
        sign_ups = [sign_up(clients[index % 2], f"user{index}@example.com") for index in range(8)]
        assert {answer.status_code for answer in await asyncio.gather(*sign_ups)} == {200}
        for client in clients:
            reads = [client.get("/project", params={"projectName": name}) for name in names]
            assert {answer.status_code for answer in await asyncio.gather(*reads)} == {200}
        crossed = [sign_in(clients[(index + 1) % 2], f"user{index}@example.com") for index in range(8)]
        assert {answer.status_code for answer in await asyncio.gather(*crossed)} == {200}
