"""`penstock serve` as an operator meets it: starting, refusing to start, stopping, and callers who vanish."""

import asyncio
import socket
from pathlib import Path

import httpx
import pytest

from tests.acceptance.server import PATIENCE, refusal, running, sign_up, until
from tests.ports import free_port

pytestmark = pytest.mark.anyio

HOOK = '''"""A deployment's hook that takes its time."""
import asyncio
from pathlib import Path

async def wait(tx, action, userid, info):
    Path("begun").touch()
    while not Path("may_go_on").exists():
        await asyncio.sleep(0.01)
'''


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/penstock.db"


def listens(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


async def test_told_to_stop_it_finishes_what_it_began_and_ends_well(tmp_path: Path, sqlite: str) -> None:
    (tmp_path / "shop.py").write_text(HOOK)
    async with running(tmp_path, sqlite, hooks__on_auth_event="shop:wait") as server:
        url = await server.url()
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            slow = asyncio.create_task(sign_up(client, "ada@example.com"))
            await until((tmp_path / "begun").exists)
            server.process.terminate()
            await until(lambda: not listens(url))
            assert server.process.poll() is None
            (tmp_path / "may_go_on").touch()
            answer = await slow
            assert (answer.status_code, answer.json()["email"]) == (200, "ada@example.com")
        assert await server.ended() == 0
        assert "Traceback" not in server.log.read_text()


async def test_several_processes_serve_one_postgresql_and_stop_together(tmp_path: Path, postgresql_server: str) -> None:
    port = str(free_port())
    async with running(tmp_path, postgresql_server, "--workers", "2", "--port", port) as server:
        url = f"http://127.0.0.1:{port}"
        await until(lambda: listens(url))
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            answers = await asyncio.gather(*(sign_up(client, f"worker{number}@example.com") for number in range(8)))
            assert {answer.status_code for answer in answers} == {200}
        assert await server.stop() == 0
        assert not listens(url)


async def test_several_processes_on_sqlite_are_refused_in_a_sentence(tmp_path: Path, sqlite: str) -> None:
    status, said = await refusal(tmp_path, sqlite, "--workers", "2")
    assert status == 1
    assert "more than one process needs PostgreSQL" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"port": "abc"}, "port: expected an integer between 0 and 65535, got 'abc' (environment PENSTOCK_PORT)"),
        ({"jwt_secret": "short"}, "jwt_secret: expected 32 bytes or more"),
        ({"forgot_password_body": "no link"}, "forgot_password_body: expected ${TOKEN} or ${URL}"),
        ({"potr": "80"}, "potr: no such setting"),
    ],
)
async def test_a_wrong_setting_is_said_in_a_sentence(
    tmp_path: Path, sqlite: str, settings: dict[str, str], expected: str
) -> None:
    status, said = await refusal(tmp_path, sqlite, **settings)
    assert status == 1
    assert expected in said
    assert "Traceback" not in said
    assert not (tmp_path / "penstock.db").exists()


async def test_a_port_in_use_is_said_in_a_sentence(tmp_path: Path, sqlite: str) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        status, said = await refusal(tmp_path, sqlite, "--port", str(other.getsockname()[1]))
    assert status != 0
    assert "in use" in said
    assert "Traceback" not in said


async def test_callers_who_vanish_hurt_nobody(tmp_path: Path, sqlite: str) -> None:
    body = b"email=ada%40example.com&password=correct+horse"
    whole = (
        b"POST /user/create HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    )
    async with running(tmp_path, sqlite) as server:
        url = await server.url()
        port = int(url.rpartition(":")[2])
        for sent in [whole[:5], whole[:60], whole[:-10], whole] * 5:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            await writer.drain()
            writer.transport.abort()
        staying = [await asyncio.open_connection("127.0.0.1", port) for _ in range(20)]
        for _, writer in staying:
            writer.write(whole[:-10])
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
            assert (await sign_up(client, "grace@example.com")).status_code == 200
            assert (await client.get("/readyz")).status_code == 200
        for _, writer in staying:
            writer.transport.abort()
        assert await server.stop() == 0
        assert "Traceback" not in server.log.read_text()
        assert '"exception"' not in server.log.read_text()
