"""The log: what happened to which request, and never a password, a query or a local variable."""

import io
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import structlog

from penstock.accounts.hooks import Hooks
from penstock.http import logs
from penstock.settings import load
from tests.conftest import Serve

pytestmark = pytest.mark.anyio

PASSWORD = "s3cret-correct-horse"
Read = Callable[[], str]


@pytest.fixture(params=["json", "console"])
def written(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Iterator[Read]:
    """What was logged, at the most talkative level, in each format."""
    import logging

    handlers = logging.root.handlers[:]
    logs.configure(load(environ={}, overrides={"log_format": request.param, "log_level": "debug"}).settings)
    yield lambda: capsys.readouterr().err
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers


@pytest.fixture
def database_url(sqlite_url: str) -> str:
    """One kind is enough: nothing here depends on it."""
    return sqlite_url


def boom(*_: Any) -> None:
    password = PASSWORD  # a local variable, as a careless hook has it
    raise RuntimeError(f"the database of the shop is away, tried {len(password)} times")


async def sign_up(client: httpx.AsyncClient) -> httpx.Response:
    return await client.post("/user/create", data={"email": "ada@example.com", "password": PASSWORD, "signin": "1"})


async def test_a_failure_is_logged_with_its_traceback_and_answered_without_it(serve: Serve, written: Read) -> None:
    async with serve(hooks=Hooks(on_auth_event=boom)) as client:
        answer = await sign_up(client)
    log = written()
    assert answer.status_code == 500
    for private in ("shop", "RuntimeError", "Traceback", "boom", "test_logs", PASSWORD):
        assert private not in answer.text + str(answer.headers)
    for useful in ("the database of the shop is away", "RuntimeError", "boom", answer.headers["x-request-id"]):
        assert useful in log
    assert PASSWORD not in log


async def test_no_line_holds_a_password_a_token_or_a_query(serve: Serve, written: Read) -> None:
    async with serve() as client:
        await sign_up(client)
        cookie = client.cookies["session"]
        await client.get("/user/auth", params={"email": "ada@example.com", "password": PASSWORD})
        await client.get("/user/auth", params={"email": "ada@example.com", "password": f"wrong {PASSWORD}"})
        await client.post("/user/auth", json={"email": "ada@example.com", "password": f"wrong {PASSWORD}"})
        await client.post("/user/resetpassword", data={"token": "t0ken" * 8, "password": PASSWORD})
        await client.get("/nowhere", params={"q": PASSWORD})
        await client.get("/project", params={"projectName": PASSWORD, "x": "1"})
    log = written()
    assert "/user/auth" in log
    for private in (PASSWORD, cookie, "t0ken", "projectName", "?"):
        assert private not in log


async def test_a_path_cannot_forge_a_line(serve: Serve, written: Read) -> None:
    async with serve() as client:
        await client.get("/a%0Aforged%1B[31m%0D")
    lines = written().splitlines()
    assert any("/a" in line and "forged" in line for line in lines)
    assert not any(line.startswith("forged") for line in lines)
    assert not any("forged\x1b" in line for line in lines)


async def test_each_request_leaves_one_line_with_its_id(serve: Serve, written: Read) -> None:
    async with serve() as client:
        answers = [await client.get("/healthz"), await client.get("/nowhere"), await sign_up(client)]
    lines = written().splitlines()
    for answer in answers:
        assert len([line for line in lines if answer.headers["x-request-id"] in line]) == 1


async def test_elsewhere_than_on_a_terminal_each_line_is_one_json_object(
    serve: Serve, written: Read, request: pytest.FixtureRequest
) -> None:
    if "console" in request.node.callspec.id:
        pytest.skip("that is for people")
    async with serve(hooks=Hooks(on_auth_event=boom)) as client:
        await sign_up(client)
        await client.get("/nowhere")
    for line in written().splitlines():
        entry = json.loads(line)
        assert {"event", "level", "timestamp"} <= set(entry)


async def test_what_libraries_say_goes_the_same_way_and_from_warnings_on(written: Read) -> None:
    import logging

    logging.getLogger("a.library").warning("careful with %s", "that")
    logging.getLogger("a.library").info("never mind")
    try:
        boom()
    except RuntimeError:
        logging.getLogger("a.library").exception("it broke")
    log = written()
    assert "careful with that" in log
    assert "a.library" in log
    assert "never mind" not in log
    assert "the database of the shop is away" in log
    assert PASSWORD not in log


async def test_quiet_reads_are_not_logged_at_the_default_level(serve: Serve, written: Read) -> None:
    logs.configure(load(environ={}, overrides={"log_format": "json"}).settings)
    async with serve() as client:
        await client.get("/healthz")
        await client.get("/nowhere")
    log = written()
    assert "/healthz" not in log
    assert "/nowhere" in log


async def test_a_log_that_cannot_be_written_does_not_stop_the_server(
    serve: Serve, written: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    async with serve(hooks=Hooks(on_auth_event=boom)) as client:
        monkeypatch.setattr(sys, "stderr", FullDisk())
        answer = await sign_up(client)
        monkeypatch.undo()
    assert answer.status_code == 500
    assert answer.json()["status"] == 500
    assert written() == ""
