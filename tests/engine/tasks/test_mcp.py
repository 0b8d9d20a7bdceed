"""`call: mcp` against servers made with the protocol's official SDK, over HTTP and as processes."""

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from penstock.engine.faults import Fault
from penstock.engine.tasks import mcp
from penstock.engine.tasks.work import Authorization

from . import mcp_peer
from .http_peer import LIMITS, said, served, working
from .running import gone

pytestmark = pytest.mark.anyio

PROGRAM = str(Path(mcp_peer.__file__))
STDIO = {"stdio": {"command": sys.executable, "arguments": [PROGRAM]}}
seen: list[dict[str, str]] = []


def recording(app: Any) -> Any:
    async def recorded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            seen.append({"method": scope["method"]} | headers)
        await app(scope, receive, send)

    return recorded


@pytest.fixture(scope="module", params=["events", "json"])
def peer(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    app = mcp_peer.peer.streamable_http_app(json_response=request.param == "json")
    with served(recording(app)) as url:
        yield {"http": {"endpoint": f"{url}/mcp"}}


def tool(name: str, transport: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    return {"method": "tools/call", "parameters": {"name": name, "arguments": arguments}, "transport": transport}


async def test_each_method_of_the_reference_gives_the_result_of_the_server(peer: dict[str, Any]) -> None:
    async def asked(method: str, **parameters: Any) -> Any:
        given = {"method": method, "transport": peer} | ({"parameters": parameters} if parameters else {})
        return (await mcp.perform(given, work)).output

    async with working() as work:
        assert {each["name"] for each in (await asked("tools/list"))["tools"]} >= {"add", "never"}
        added = await asked("tools/call", name="add", arguments={"a": 1, "b": 2})
        assert added["content"][0]["text"] == "3"
        assert [each["name"] for each in (await asked("prompts/list"))["prompts"]] == ["greet"]
        greeting = await asked("prompts/get", name="greet", arguments={"name": "Ada"})
        assert greeting["messages"][0]["content"]["text"] == "Greet Ada!"
        assert [each["uri"] for each in (await asked("resources/list"))["resources"]] == ["notes://today"]
        assert (await asked("resources/read", uri="notes://today"))["contents"][0]["text"] == "rain"
        templates = await asked("resources/templates/list")
        assert templates["resourceTemplates"][0]["uriTemplate"] == "notes://{day}"


async def test_a_call_is_a_session_of_its_own_that_is_ended(peer: dict[str, Any]) -> None:
    seen.clear()
    endpoint = {"uri": peer["http"]["endpoint"], "authentication": {"bearer": {"token": "t0ken"}}}
    transport = {"http": {"endpoint": endpoint, "headers": {"X-Team": "blue"}}}
    async with working() as work:
        performed = await mcp.perform(tool("add", transport, a=1, b=1), work)
    assert performed.authorization == Authorization("Bearer", "t0ken")
    assert [each["method"] for each in seen] == ["POST", "POST", "POST", "DELETE"]
    assert len({each.get("mcp-session-id") for each in seen[1:]}) == 1
    assert {each["mcp-protocol-version"] for each in seen[1:]} == {"2025-06-18"}
    assert {each["authorization"] for each in seen} == {"Bearer t0ken"}
    assert {each["x-team"] for each in seen} == {"blue"}
    assert [each.get("idempotency-key") for each in seen] == [None, None, "key-1", None]
    assert said(work)[0].startswith(f"info MCP tools/call {endpoint['uri']} ")


async def test_a_tool_that_says_error_has_answered(peer: dict[str, Any]) -> None:
    async with working() as work:
        output = (await mcp.perform(tool("refuse", peer), work)).output
    assert output["isError"] is True
    assert "not today" in output["content"][0]["text"]


async def test_an_error_of_the_protocol_is_a_runtime_error(peer: dict[str, Any]) -> None:
    async with working() as work:
        with pytest.raises(Fault) as fault:
            await mcp.perform({"method": "prompts/get", "parameters": {"name": "missing"}, "transport": peer}, work)
    assert fault.value.error.type.endswith("/runtime")
    assert "JSON-RPC error" in str(fault.value)


async def test_a_message_between_does_not_confuse_the_answer(peer: dict[str, Any]) -> None:
    async with working() as work:
        given = tool("chatty", peer)
        given["parameters"]["_meta"] = {"progressToken": "here"}
        assert (await mcp.perform(given, work)).output["content"][0]["text"] == "done"


async def test_a_cancelled_call_ends_what_the_server_does(peer: dict[str, Any]) -> None:
    async with working() as work:
        call = asyncio.create_task(mcp.perform(tool("never", peer, marker="x"), work))
        assert await asyncio.to_thread(mcp_peer.happened.get, timeout=30) == "began x"
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await asyncio.to_thread(mcp_peer.happened.get, timeout=30) == "ended x"


async def test_its_own_timeout_is_a_timeout(peer: dict[str, Any]) -> None:
    for seconds in LIMITS:
        async with working() as work:
            with pytest.raises(Fault) as fault:
                await mcp.perform(tool("never", peer, marker="y") | {"timeout": {"seconds": seconds}}, work)
        assert fault.value.error.type.endswith("/timeout")
        assert fault.value.error.status == 408
        with suppress(Empty):
            assert mcp_peer.happened.get(timeout=30) == "began y"
            break
    assert mcp_peer.happened.get(timeout=30) == "ended y"


async def test_an_answer_over_the_limit_is_not_read(peer: dict[str, Any]) -> None:
    async with working(answer_bytes=20_000) as work:
        with pytest.raises(Fault, match="Answer too large"):
            await mcp.perform(tool("repeat", peer, text="0123456789", times=100_000), work)


async def test_a_denied_address_is_not_connected_to(peer: dict[str, Any]) -> None:
    async with working(deny=("127.0.0.0/8",)) as work:
        with pytest.raises(Fault, match="Address not allowed") as fault:
            await mcp.perform({"method": "tools/list", "transport": peer}, work)
    assert fault.value.error.status == 403


@pytest.fixture(scope="module")
def broken() -> Iterator[str]:
    """Servers that are none, by path."""

    async def endless(request: Request) -> Response:
        async def events() -> Any:
            while True:
                yield b"data: {}\n\n" * 1000
                await asyncio.sleep(0)  # where uvicorn learns that its caller is gone

        return StreamingResponse(events(), media_type="text/event-stream")

    async def answer(request: Request) -> Response:
        match request.path_params["what"]:
            case "html":
                return Response("<p>hello", media_type="text/html")
            case "list":
                return JSONResponse([1, 2])
            case "elsewhere":
                return Response(status_code=307, headers={"location": "http://169.254.169.254/mcp?token=x"})
            case "packed":
                return Response(b"x", headers={"content-encoding": "gzip"}, media_type="application/json")
            case "none":
                return JSONResponse({"jsonrpc": "2.0", "id": "initialize", "result": {}})
            case _:
                return PlainTextResponse("no entry", status_code=401)

    with served(
        Starlette(routes=[Route("/endless", endless, methods=["POST"]), Route("/{what}", answer, methods=["POST"])])
    ) as url:
        yield url


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("html", 500, "something else than JSON-RPC"),
        ("list", 500, "something else than JSON-RPC"),
        ("elsewhere", 307, "sends to http://169.254.169.254/mcp: name that address"),
        ("packed", 500, "packs its answer"),
        ("none", 500, "without a version"),
        ("unauthorized", 401, "answered with status 401"),
        ("endless", 500, "more than 10,000 messages"),
    ],
)
async def test_what_is_no_mcp_server_is_told_as_such(broken: str, path: str, status: int, sentence: str) -> None:
    async with working() as work:
        with pytest.raises(Fault) as fault:
            await mcp.perform({"method": "tools/list", "transport": {"http": {"endpoint": f"{broken}/{path}"}}}, work)
    assert fault.value.error.type.endswith("/communication")
    assert fault.value.error.status == status
    assert sentence in str(fault.value)


async def test_a_process_is_started_only_where_the_server_allows_it() -> None:
    async with working() as work:
        with pytest.raises(Fault, match="to the setting `processes`") as fault:
            await mcp.perform({"method": "tools/list", "transport": STDIO}, work)
    assert fault.value.error.type.endswith("/configuration")


async def test_a_process_answers_and_knows_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_SECRET_KEY", "ours")
    transport = {"stdio": STDIO["stdio"] | {"environment": {"TEAM": "blue"}}}
    async with working(processes=frozenset({"mcp"})) as work:
        output = (await mcp.perform(tool("environment", transport), work)).output
    names = {each["text"] for each in output["content"]}
    assert {"PATH", "TEAM"} <= names
    assert not any(name.startswith("PENSTOCK") for name in names)


async def test_a_process_that_ends_says_why_without_secrets() -> None:
    async with working(processes=frozenset({"mcp"}), secrets={"api": "s3cret-value"}) as work:
        with pytest.raises(Fault, match=r"it said: cannot go on, token \*{8}"):
            await mcp.perform(tool("end", STDIO), work)


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (["no-such-program-here"], "no-such-program-here cannot be started: no such file"),
        (["/"], "cannot be started"),
        (["true"], "ended before it answered"),
        (["yes"], "something else than JSON-RPC"),
        (["head", "-c", "3000000", "/dev/zero"], "more than 1,000,000 bytes"),
    ],
)
async def test_what_is_no_mcp_program_is_told_as_such(command: list[str], sentence: str) -> None:
    transport = {"stdio": {"command": command[0], "arguments": command[1:]}}
    async with working(processes=frozenset({"mcp"}), answer_bytes=1_000_000) as work:
        with pytest.raises(Fault) as fault:
            await mcp.perform({"method": "tools/list", "transport": transport}, work)
    assert sentence in str(fault.value)


async def test_a_cancelled_process_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    os.mkfifo(pids)
    script = f"sleep 1000 & echo $$ $! > {pids}; wait"
    transport = {"stdio": {"command": "sh", "arguments": ["-c", script]}}
    async with working(processes=frozenset({"mcp"})) as work:
        call = asyncio.create_task(mcp.perform({"method": "tools/list", "transport": transport}, work))
        shell, child = map(int, (await asyncio.to_thread(pids.read_text)).split())
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
    assert gone(shell)
    assert gone(child)


async def test_an_unknown_method_lists_those_that_there_are() -> None:
    async with working() as work:
        with pytest.raises(Fault, match="resources/templates/list"):
            await mcp.perform({"method": "tools/delete", "transport": STDIO}, work)
