"""`call: a2a` against an agent made with the protocol's official SDK."""

import asyncio
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from penstock.engine.faults import Fault
from penstock.engine.tasks import a2a
from penstock.engine.tasks.work import Authorization

from . import a2a_peer
from .http_peer import said, served, working

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def agent() -> Iterator[str]:
    with served(a2a_peer.app) as url:
        a2a_peer.card.supported_interfaces[0].url = f"{url}/a2a"
        yield url


@pytest.fixture(autouse=True)
def forgotten() -> None:
    a2a_peer.seen.clear()
    while not a2a_peer.happened.empty():
        a2a_peer.happened.get()


async def happens(what: str) -> None:
    """Until it does. What an earlier test asked for may come to the agent late."""
    while await asyncio.to_thread(a2a_peer.happened.get, timeout=60) != what:
        pass


def message(text: str) -> dict[str, Any]:
    return {"message": {"parts": [{"kind": "text", "text": text}]}}


def card_of(url: str) -> dict[str, Any]:
    return {"endpoint": f"{url}/.well-known/agent-card.json"}


async def test_a_message_to_the_agent_of_a_card_is_answered(agent: str) -> None:
    async with working() as work:
        given = {"method": "message/send", "agentCard": card_of(agent), "parameters": message("hello")}
        output = (await a2a.perform(given, work)).output
    assert output["role"] == "agent"
    assert output["parts"][0]["text"] == "hello to you"
    assert a2a_peer.seen[-1]["idempotency-key"] == "key-1"
    assert said(work)[-1].startswith(f"info A2A message/send {agent}/a2a ")


async def test_a_message_sent_again_has_the_same_id(agent: str) -> None:
    async with working() as work:
        for _ in range(2):
            await a2a.perform(
                {"method": "message/send", "server": f"{agent}/a2a", "parameters": message("hello")}, work
            )
    first, second = a2a_peer.happened.get(timeout=30), a2a_peer.happened.get(timeout=30)
    assert first == second
    assert UUID(first.split()[1]).version == 5


async def test_a_stream_is_the_list_of_its_results(agent: str) -> None:
    async with working() as work:
        given = {"method": "message/stream", "server": f"{agent}/a2a", "parameters": message("sales")}
        output = (await a2a.perform(given, work)).output
    assert [each["kind"] for each in output] == [
        "task",
        "status-update",
        "artifact-update",
        "artifact-update",
        "status-update",
    ]
    assert output[2]["artifact"]["parts"][0]["text"] == "first of sales"
    assert output[-1]["status"]["state"] == "completed"


async def test_tasks_are_looked_at_watched_and_cancelled(agent: str) -> None:
    server = f"{agent}/a2a"
    async with working() as work:

        async def asked(method: str, **parameters: Any) -> Any:
            return (await a2a.perform({"method": method, "server": server, "parameters": parameters}, work)).output

        task = await asked("message/send", **message("wait"), configuration={"blocking": False})
        watching = asyncio.create_task(asked("tasks/resubscribe", id=task["id"]))
        await happens("watched")
        assert (await asked("tasks/get", id=task["id"]))["status"]["state"] in ("submitted", "working")
        config = {"taskId": task["id"], "pushNotificationConfig": {"url": "http://127.0.0.1:9/told", "id": "1"}}
        await asked("tasks/pushNotificationConfig/set", **config)
        got = await asked("tasks/pushNotificationConfig/list", id=task["id"])
        assert [each["pushNotificationConfig"]["url"] for each in got] == ["http://127.0.0.1:9/told"]
        deleted = {"id": task["id"], "pushNotificationConfigId": "1"}
        assert await asked("tasks/pushNotificationConfig/delete", **deleted) is None
        assert (await asked("tasks/cancel", id=task["id"]))["status"]["state"] == "canceled"
        assert (await watching)[-1]["status"]["state"] == "canceled"


async def test_an_error_of_the_agent_is_a_runtime_error(agent: str) -> None:
    async with working() as work:
        with pytest.raises(Fault, match="JSON-RPC error -32001") as fault:
            await a2a.perform({"method": "tasks/get", "server": f"{agent}/a2a", "parameters": {"id": "x"}}, work)
    assert fault.value.error.type.endswith("/runtime")


async def test_an_agent_that_takes_too_long_is_left(agent: str) -> None:
    async with working(seconds=0.3) as work:
        with pytest.raises(Fault, match=r"did not answer message/send in 0\.3 seconds"):
            await a2a.perform({"method": "message/send", "server": f"{agent}/a2a", "parameters": message("wait")}, work)


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[str]:
    """Cards that other servers may have, by path; and an agent that tells which headers it got."""

    async def card(request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        match request.path_params["what"]:
            case "key":
                schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
                return JSONResponse({"url": f"{base}/headers", "security": [{"key": []}], "securitySchemes": schemes})
            case "grpc":
                other = [{"url": f"{base}/headers", "transport": "JSONRPC"}]
                return JSONResponse(
                    {"url": f"{base}/grpc", "preferredTransport": "GRPC", "additionalInterfaces": other}
                )
            case "thief":
                return JSONResponse({"url": f"{base.replace('127.0.0.1', 'localhost')}/headers"})
            case _:
                return JSONResponse({"name": "nobody"})

    async def headers(request: Request) -> Response:
        asked = await request.json()
        return JSONResponse({"jsonrpc": "2.0", "id": asked["id"], "result": dict(request.headers)})

    async def never(request: Request) -> Response:
        a2a_peer.happened.put("asked")
        while (await request.receive())["type"] != "http.disconnect":
            pass
        a2a_peer.happened.put("left")
        return Response()

    routes = [
        Route("/cards/{what}", card),
        Route("/headers", headers, methods=["POST"]),
        Route("/never", never, methods=["POST"]),
    ]
    with served(Starlette(routes=routes)) as url:
        yield url


async def headers_sent(url: str, card: str) -> Any:
    endpoint = {"uri": f"{url}/cards/{card}", "authentication": {"bearer": {"token": "t0ken"}}}
    given = {"method": "tasks/get", "agentCard": {"endpoint": endpoint}, "parameters": {"id": "1"}}
    async with working() as work:
        return await a2a.perform(given, work)


async def test_the_credentials_of_a_card_are_for_its_agent(elsewhere: str) -> None:
    performed = await headers_sent(elsewhere, "grpc")
    assert performed.output["authorization"] == "Bearer t0ken"
    assert performed.authorization == Authorization("Bearer", "t0ken")


async def test_an_api_key_is_sent_where_the_card_wants_it(elsewhere: str) -> None:
    output = (await headers_sent(elsewhere, "key")).output
    assert output["x-key"] == "t0ken"
    assert "authorization" not in output


async def test_a_card_gets_no_credentials_sent_to_another_host(elsewhere: str) -> None:
    assert "authorization" not in (await headers_sent(elsewhere, "thief")).output


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"method": "message/send", "server": "http://127.0.0.1:9/"}, "needs parameters with a message"),
        ({"method": "message/shout", "server": "http://127.0.0.1:9/"}, "is none of message/send"),
        ({"method": "tasks/list"}, "needs an agentCard or a server"),
        ({"method": "tasks/list", "server": "http://127.0.0.1:9/"}, "no connection to http://127.0.0.1:9/"),
    ],
)
async def test_what_cannot_be_sent_says_what_is_missing(given: dict[str, Any], sentence: str) -> None:
    async with working() as work:
        with pytest.raises(Fault) as fault:
            await a2a.perform(given, work)
    assert sentence in str(fault.value)


async def test_a_card_without_an_address_says_so(elsewhere: str) -> None:
    with pytest.raises(Fault, match="names no JSON-RPC address"):
        await headers_sent(elsewhere, "nothing")


async def test_a_cancelled_call_leaves_the_agent(elsewhere: str) -> None:
    async with working() as work:
        given = {"method": "message/stream", "server": f"{elsewhere}/never", "parameters": message("wait")}
        call = asyncio.create_task(a2a.perform(given, work))
        await happens("asked")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await happens("left")
