"""`call: asyncapi` against real brokers and servers, each protocol both ways."""

import asyncio
import contextlib
import json
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import aiormq
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket

from penstock.engine.faults import Fault
from penstock.engine.tasks import asyncapi
from penstock.engine.tasks.asyncapi.document import Document
from penstock.engine.tasks.work import Work
from tests.platform.iam.certificates import Authority

from . import brokers
from .http_peer import said, served, working
from .kafka import Kafka, kafka

pytestmark = pytest.mark.anyio
received: SimpleQueue[Any] = SimpleQueue()
BASIC = {"basic": {"username": "user", "password": "pass"}}


async def hook(request: Request) -> Response:
    received.put({"headers": dict(request.headers), "body": await request.json(), "method": request.method})
    return Response(status_code=202)


async def feed(request: Request) -> Response:
    async def events() -> AsyncIterator[bytes]:
        for number in range(3):
            yield f': a comment\nid: {number}\ndata: {{"number":\ndata: {number}}}\n\n'.encode()
        try:
            await asyncio.Event().wait()
        finally:
            received.put("left")

    return StreamingResponse(events(), media_type="text/event-stream")


async def listing(request: Request) -> Response:
    return Response(b'{"number": 1}\n{"number": 2}', media_type="application/x-ndjson")


async def endless(request: Request) -> Response:
    async def line() -> AsyncIterator[bytes]:
        while True:
            yield b"data: " + b"x" * 10_000 + b"\n"
            await asyncio.sleep(0)

    return StreamingResponse(line(), media_type="text/event-stream")


async def refused(request: Request) -> Response:
    return JSONResponse({}, status_code=403)


async def room(socket: WebSocket) -> None:
    await socket.accept()
    if socket.query_params.get("x") is None and socket.headers.get("authorization") != "Bearer t0ken":
        await socket.close(4001)
        return
    for number in range(2):
        await socket.send_json({"number": number})
    async for message in socket.iter_text():
        received.put(message)
    received.put("left")


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    routes = [
        Route("/api/hook", hook, methods=["POST", "PUT"]),
        Route("/api/feed", feed),
        Route("/api/listing", listing),
        Route("/api/endless", endless),
        Route("/api/refused", refused),
        WebSocketRoute("/api/room", room),
    ]
    with served(Starlette(routes=routes), ws="websockets-sansio") as url:
        yield url.removeprefix("http://")


class Certified(NamedTuple):
    authority: Path
    key: Path
    certificate: Path


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """A certificate for `localhost`."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = Authority()
    (folder / "authority.pem").write_text(authority.pem)
    return Certified(folder / "authority.pem", *authority.certify(folder, "localhost"))


@pytest.fixture(scope="module")
def nats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[brokers.Ports]:
    with brokers.nats(tmp_path_factory.mktemp("nats")) as ports:
        yield ports


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with brokers.valkey(tmp_path_factory.mktemp("valkey")) as port:
        yield port


@pytest.fixture(scope="module")
def mosquitto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with brokers.mosquitto(tmp_path_factory.mktemp("mosquitto")) as port:
        yield port


@pytest.fixture(scope="module")
def rabbitmq(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with brokers.rabbitmq(tmp_path_factory.mktemp("rabbitmq")) as port:
        yield port


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kafka]:
    with kafka() as found:
        yield found


def second(folder: Path, **servers: str) -> dict[str, Any]:
    """A document of AsyncAPI 2.6, with a channel for each path of the web server and one of brokers."""
    described = {name: {"url": url, "protocol": name} for name, url in servers.items()}
    channels: dict[str, Any] = {name: {} for name in ("hook", "feed", "listing", "endless", "refused", "room")}
    channels["hook"] = {"publish": {"operationId": "tell", "bindings": {"http": {"method": "PUT"}}}}
    return written(folder, {"asyncapi": "2.6.0", "servers": described, "channels": channels})


def third(folder: Path, protocol: str, host: str, address: str = "chat.rooms.7", **more: Any) -> dict[str, Any]:
    message = {"correlationId": {"location": "$message.payload#/id"}}
    return written(
        folder,
        {
            "asyncapi": "3.0.0",
            "servers": {"main": {"host": host, "protocol": protocol} | more.pop("server", {})},
            "channels": {
                "chat": {
                    "address": address,
                    "servers": [{"$ref": "#/servers/main"}],
                    "messages": {"said": {"$ref": "#/components/messages/said"}},
                }
                | more
            },
            "operations": {
                "say": {"action": "send", "channel": {"$ref": "#/channels/chat"}},
                "hear": {"action": "receive", "channel": {"$ref": "#/channels/chat"}},
            },
            "components": {"messages": {"said": message}},
        },
    )


def written(folder: Path, document: dict[str, Any]) -> dict[str, Any]:
    file = folder / "asyncapi.json"
    file.write_text(json.dumps(document))
    return {"document": {"endpoint": file.as_uri()}}


async def taken(arguments: dict[str, Any], work: Work, count: int) -> list[Any]:
    messages: list[Any] = []
    async with asyncio.timeout(60), aclosing(asyncapi.subscribe(arguments, work)) as subscription:
        async for message in subscription:
            messages.append(message)
            if len(messages) == count:
                break
    return messages


async def fault_of(arguments: dict[str, Any], work: Work) -> Fault:
    with pytest.raises(Fault) as fault:
        await taken(arguments, work, 1) if "subscription" in arguments else await asyncapi.perform(arguments, work)
    return fault.value


async def test_over_http_a_message_is_a_request(web: str, tmp_path: Path) -> None:
    given = second(tmp_path, http=f"http://{web}/api") | {"operation": "tell", "authentication": BASIC}
    message = {"payload": {"greetings": "hello"}, "headers": {"X-Foo": "bar"}}
    async with working(files=tmp_path) as work:
        assert (await asyncapi.perform(given | {"message": message}, work)).output == message
    request = received.get(timeout=30)
    assert (request["method"], request["body"]) == ("PUT", {"greetings": "hello"})
    assert request["headers"]["x-foo"] == "bar"
    assert request["headers"]["idempotency-key"] == "key-1"
    assert request["headers"]["authorization"].startswith("Basic ")
    assert said(work)[-1].startswith(f"info published to http://{web} hook ")


async def test_over_http_messages_are_events_or_lines_until_the_reader_leaves(web: str, tmp_path: Path) -> None:
    given = second(tmp_path, http=f"{web}/api") | {"subscription": {}}
    async with working(files=tmp_path) as work:
        feed = await taken(given | {"channel": "feed"}, work, 3)
        assert [each["payload"] for each in feed] == [{"number": 0}, {"number": 1}, {"number": 2}]
        assert await asyncio.to_thread(received.get, timeout=30) == "left"
        listing = await taken(given | {"channel": "listing"}, work, 3)
        assert [each["payload"] for each in listing] == [{"number": 1}, {"number": 2}]


async def test_over_http_an_event_over_the_limit_and_a_refusal_are_told(web: str, tmp_path: Path) -> None:
    given = second(tmp_path, http=f"{web}/api") | {"subscription": {}}
    async with working(files=tmp_path, answer_bytes=50_000) as work:
        assert "more than 50,000 bytes" in str(await fault_of(given | {"channel": "endless"}, work))
        assert (await fault_of(given | {"channel": "refused"}, work)).error.status == 403


async def test_over_a_websocket_messages_go_both_ways(web: str, tmp_path: Path) -> None:
    given = second(tmp_path, ws=f"ws://{web}/api") | {"channel": "room", "protocol": "ws"}
    token = {"authentication": {"bearer": {"token": "t0ken"}}}
    async with working(files=tmp_path) as work:
        heard = await taken(given | token | {"subscription": {}}, work, 2)
        assert [each["payload"]["number"] for each in heard] == [0, 1]
        assert await asyncio.to_thread(received.get, timeout=30) == "left"
        await asyncapi.perform(given | token | {"message": {"payload": {"text": "hi"}}}, work)
        assert json.loads(await asyncio.to_thread(received.get, timeout=30)) == {"text": "hi"}
        assert await asyncio.to_thread(received.get, timeout=30) == "left"
        assert "ended with code 4001" in str(await fault_of(given | {"subscription": {}}, work))
        assert (await fault_of(given | {"channel": "hook", "subscription": {}}, work)).error.title == "No WebSocket"


@pytest.fixture(params=["nats", "mqtt", "mqtt5", "redis", "amqp", "kafka"])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """A task's arguments, for a broker of each kind."""
    if request.param == "redis":
        return third(tmp_path, "redis", f"127.0.0.1:{request.getfixturevalue('valkey')}")
    if request.param == "mqtt5":
        port = request.getfixturevalue("mosquitto")
        return third(tmp_path, "mqtt5", f"127.0.0.1:{port}", "chat/rooms/7") | {"authentication": BASIC}
    if request.param == "amqp":
        port, bindings = request.getfixturevalue("rabbitmq"), {"amqp": {"exchange": {"name": "amq.topic"}}}
        return third(tmp_path, "amqp", f"127.0.0.1:{port}", bindings=bindings) | {"authentication": BASIC}
    if request.param == "kafka":
        cluster = request.getfixturevalue("cluster")
        return third(tmp_path, "kafka", cluster.host, cluster.topic("chat.rooms.7"))
    port = getattr(request.getfixturevalue("nats"), request.param)
    address = "chat/rooms/7" if request.param == "mqtt" else "chat.rooms.7"
    return third(tmp_path, request.param, f"127.0.0.1:{port}", address) | {"authentication": BASIC}


async def test_what_is_published_to_a_broker_is_received_from_it(broker: dict[str, Any], tmp_path: Path) -> None:
    async with working(files=tmp_path) as work:
        listening = asyncio.create_task(taken(broker | {"operation": "hear", "subscription": {}}, work, 2))
        saying = broker | {"operation": "say"}
        # Who listens is known to the broker a moment later; what was said before is for nobody.
        while not listening.done():
            await asyncapi.perform(saying | {"message": {"payload": {"id": "c-1"}, "headers": {"X-Foo": "bar"}}}, work)
            await asyncio.wait({listening}, timeout=0.05)
        first, _ = await listening
    assert first["payload"] == {"id": "c-1"}
    assert first["correlationId"] == "c-1"
    if "nats" in str(said(work)):
        assert first["headers"]["X-Foo"] == "bar"
        assert first["headers"]["Nats-Msg-Id"] == "key-1"
    elif "mqtt5" in str(said(work)):
        assert first["headers"] == {"Idempotency-Key": "key-1", "X-Foo": "bar", "topic": "chat/rooms/7"}
    elif "amqp" in str(said(work)):
        assert first["headers"] == {"message_id": "key-1", "X-Foo": "bar"}
    elif "kafka" in str(said(work)):
        assert first["headers"].items() >= {"Idempotency-Key": "key-1", "X-Foo": "bar", "topic": "chat.rooms.7"}.items()
    else:
        assert any("have no headers: they are left out" in each for each in said(work))


async def test_a_queue_of_amqp_keeps_messages_and_one_that_is_not_there_is_told(rabbitmq: int, tmp_path: Path) -> None:
    connection = await aiormq.connect(f"amqp://user:pass@127.0.0.1:{rabbitmq}/")
    await (await connection.channel()).queue_declare("orders")
    await connection.close()
    given = third(tmp_path, "amqp", f"127.0.0.1:{rabbitmq}", "orders") | {"authentication": BASIC}
    async with working(files=tmp_path) as work:
        for number in range(3):
            await asyncapi.perform(given | {"operation": "say", "message": {"payload": number}}, work)
        hear = given | {"operation": "hear", "subscription": {}}
        # Each is taken once, by whoever comes.
        assert [each["payload"] for each in await taken(hear, work, 2)] == [0, 1]
        assert [each["payload"] for each in await taken(hear, work, 1)] == [2]
        nowhere = third(tmp_path, "amqp", f"127.0.0.1:{rabbitmq}", "nowhere") | {"authentication": BASIC}
        for doing in ({"operation": "say", "message": {"payload": 1}}, {"operation": "hear", "subscription": {}}):
            fault = await fault_of(nowhere | doing, work)
            assert fault.error.title == "AMQP failed"
            assert "nowhere" in str(fault)


async def test_a_message_over_the_limit_is_refused(broker: dict[str, Any], tmp_path: Path) -> None:
    async with working(files=tmp_path) as work, working(files=tmp_path, answer_bytes=2_000) as small:
        listening = asyncio.create_task(fault_of(broker | {"operation": "hear", "subscription": {}}, small))
        while not listening.done():
            await asyncapi.perform(broker | {"operation": "say", "message": {"payload": "x" * 3_000}}, work)
            await asyncio.wait({listening}, timeout=0.05)
        assert "more than 2,000 bytes" in str(await listening)


@pytest.mark.parametrize("broker", ["nats", "mqtt", "mqtt5"], indirect=True)
async def test_what_waits_to_be_taken_is_bounded_and_what_is_left_out_is_told(
    broker: dict[str, Any], tmp_path: Path
) -> None:
    async with working(files=tmp_path) as work, working(files=tmp_path, answer_bytes=2_000) as small:
        say = broker | {"operation": "say", "message": {"payload": "x" * 1_500}}
        async with aclosing(asyncapi.subscribe(broker | {"operation": "hear", "subscription": {}}, small)) as messages:
            first = asyncio.ensure_future(anext(messages))
            while not first.done():
                await asyncapi.perform(say, work)
                await asyncio.wait({first}, timeout=0.05)
            # Nobody takes any more: at some time there are 8,000 bytes of them.
            async with asyncio.timeout(60):
                while "come faster than they are taken" not in str(said(small)):
                    await asyncapi.perform(say, work)
            assert (await anext(messages))["payload"] == "x" * 1_500


@pytest.mark.parametrize(
    ("server", "named"),
    [
        ({"protocol": "mqtt", "protocolVersion": "5.0"}, "mqtt5"),
        ({"protocol": "mqtt", "protocolVersion": "3.1.1"}, "mqtt"),
        ({"protocol": "mqtts", "protocolVersion": 5}, "mqtt5 in TLS"),
        ({"protocol": "mqtt5", "host": "mqtts://broker"}, "mqtt5 in TLS"),
        ({"protocol": "mqtt5", "host": "mqtt://broker"}, "mqtt5"),
    ],
)
def test_the_fifth_version_of_mqtt_has_two_names(server: dict[str, Any], named: str) -> None:
    described = {"host": "broker", **server}
    operation = {"channel": {"address": "a"}, "bindings": {"mqtt": {"qos": 2}}}
    data = {"asyncapi": "3.0.0", "servers": {"main": described}, "operations": {"say": operation}}
    target = Document(data, "here").target({"operation": "say", "protocol": named.split(maxsplit=1)[0]})
    assert (target.protocol + (" in TLS" if target.tls else ""), target.bindings) == (named, {"qos": 2})


@pytest.mark.parametrize("listens", [False, True])
async def test_a_broker_is_left_when_the_reader_is_cancelled(
    broker: dict[str, Any], tmp_path: Path, listens: bool
) -> None:
    async with working(files=tmp_path) as work:
        before = asyncio.all_tasks()
        listening = asyncio.create_task(taken(broker | {"operation": "hear", "subscription": {}}, work, 1_000))
        while not any("subscribed" in each for each in said(work)):
            await asyncio.sleep(0)  # then it connects
        if listens:
            for _ in range(3):
                await asyncapi.perform(broker | {"operation": "say", "message": {"payload": {}}}, work)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        async with asyncio.timeout(30):  # what was cancelled with it ends; what was not never would
            while asyncio.all_tasks() != before:
                await asyncio.sleep(0)


@pytest.mark.parametrize("protocol", ["nats", "mqtt", "mqtt5", "redis", "amqp", "kafka"])
async def test_a_server_that_says_nothing_is_left_when_the_task_is_cancelled(tmp_path: Path, protocol: str) -> None:
    left: asyncio.Queue[None] = asyncio.Queue()
    begun = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            # Who only looks whether somebody listens says nothing either. NATS waits to be greeted.
            writer.write(b'INFO {"max_payload": 1000}\r\n' if protocol == "nats" else b"")
            if await reader.read(1):
                begun.set()
                with contextlib.suppress(ConnectionError):
                    await reader.read()
                left.put_nowait(None)

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, working(files=tmp_path) as work:
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        given = third(tmp_path, protocol, host, "chat") | {"operation": "say", "message": {"payload": {}}}
        before = asyncio.all_tasks()
        saying = asyncio.create_task(asyncapi.perform(given, work))
        async with asyncio.timeout(60):
            await begun.wait()
            for _ in range(100):
                await asyncio.sleep(0)  # it has said what it says, and waits for an answer
            saying.cancel()
            await asyncio.wait({saying})
            assert saying.cancelled()
            await left.get()
        assert not [task for task in asyncio.all_tasks() - before if "silent" not in str(task)]


@pytest.mark.parametrize(
    ("protocol", "asked", "answers"),
    [
        ("nats", b"PING\r\n", [b'INFO {"max_payload": 1000}\r\n', b"PONG\r\n", b"PONG\r\nMSG chat 1 2000000000\r\n"]),
        ("redis", b"\r\n", [b"", b"$2000000000\r\n"]),
    ],
)
async def test_a_server_that_does_not_come_to_an_end_is_left(
    tmp_path: Path, protocol: str, asked: bytes, answers: list[bytes]
) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            writer.write(answers[0])
            for answer in answers[1:]:
                await reader.readuntil(asked)
                writer.write(answer)
            for _ in range(10_000):
                writer.write(bytes(10_000))
                await writer.drain()
            await reader.read()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    async with server, working(files=tmp_path, answer_bytes=10_000) as work, asyncio.timeout(60):
        given = third(tmp_path, protocol, f"127.0.0.1:{server.sockets[0].getsockname()[1]}", "chat")
        fault = await fault_of(given | {"operation": "hear", "subscription": {}}, work)
    assert fault.error.type.endswith("/communication")


@pytest.mark.parametrize("protocol", ["tls", "mqtts", "secure-mqtt5", "rediss", "amqps"])
async def test_in_tls_the_certificate_is_checked_against_the_name_of_the_host(
    protocol: str,
    nats: brokers.Ports,
    mosquitto: int,
    rabbitmq: int,
    valkey: int,
    certified: Certified,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certified.authority))
    read_by: list[threading.Thread] = []

    def read(*whose: Any, made: Any = ssl.create_default_context) -> ssl.SSLContext:
        if not whose:
            read_by.append(threading.current_thread())
        return made(*whose)  # type: ignore[no-any-return]

    monkeypatch.setattr(ssl, "create_default_context", read)
    plain = {"mqtts": nats.mqtt, "secure-mqtt5": mosquitto, "rediss": valkey, "amqps": rabbitmq}
    policy = {} if protocol == "rediss" else {"authentication": BASIC}
    say = {"operation": "say", "message": {"payload": {}}} | policy
    async with contextlib.AsyncExitStack() as stack:
        if protocol in plain:
            relay = brokers.in_tls(plain[protocol], certified.key, certified.certificate)
            port = await stack.enter_async_context(relay)
        else:
            port = stack.enter_context(brokers.nats(tmp_path, (certified.key, certified.certificate))).nats
        work = await stack.enter_async_context(working(files=tmp_path))
        bindings = {"amqp": {"exchange": {"name": "amq.topic"}}}
        named = third(tmp_path, protocol, f"localhost:{port}", "chat", bindings=bindings)
        await asyncapi.perform(named | say, work)
        fault = await fault_of(third(tmp_path, protocol, f"127.0.0.1:{port}", "chat", bindings=bindings) | say, work)
        assert "certificate" in str(fault).lower()
    # It takes 50 ms of a processor: in the thread of the loop, nobody else would be served meanwhile.
    assert [thread is threading.main_thread() for thread in read_by] == [False]


async def test_nats_is_not_told_a_password_in_the_clear_where_tls_is_meant(nats: brokers.Ports, tmp_path: Path) -> None:
    given = third(tmp_path, "tls", f"127.0.0.1:{nats.nats}", "chat") | {"operation": "say", "authentication": BASIC}
    async with working(files=tmp_path) as work:
        fault = await fault_of(given | {"message": {"payload": {}}}, work)
    assert "does not ask for TLS" in str(fault)


@pytest.mark.parametrize("protocol", ["nats", "mqtt", "mqtt5", "amqp"])
async def test_a_wrong_password_is_told_as_such(
    nats: brokers.Ports, mosquitto: int, rabbitmq: int, tmp_path: Path, protocol: str
) -> None:
    wrong = {"authentication": {"basic": {"username": "user", "password": "s3cret"}}}
    port = {"mqtt5": mosquitto, "amqp": rabbitmq}.get(protocol) or getattr(nats, protocol)
    given = third(tmp_path, protocol, f"127.0.0.1:{port}", "chat") | wrong
    async with working(files=tmp_path) as work:
        fault = await fault_of(given | {"operation": "say", "message": {"payload": {}}}, work)
    assert fault.error.type.endswith("/communication")
    assert "uthoriz" in str(fault) or "Login was refused" in str(fault)
    assert "s3cret" not in str(fault)


@pytest.mark.parametrize("protocol", ["http", "ws", "nats", "mqtt", "mqtt5", "redis", "amqp", "kafka"])
async def test_no_protocol_reaches_what_is_not_allowed(tmp_path: Path, protocol: str) -> None:
    given = third(tmp_path, protocol, "127.0.0.1:9", "chat") | {"operation": "say", "message": {"payload": {}}}
    async with working(files=tmp_path, deny=("127.0.0.0/8",)) as work:
        fault = await fault_of(given, work)
    assert (fault.error.title, fault.error.status) == ("Address not allowed", 403)
    async with working(files=tmp_path) as work:
        assert (await fault_of(given, work)).error.title == "Not reachable"


async def test_a_channel_and_a_server_are_filled_from_message_and_variables(web: str, tmp_path: Path) -> None:
    variables = {"port": {"enum": [web.rpartition(":")[2]]}, "version": {"default": "api"}}
    given = third(
        tmp_path,
        "http",
        "127.0.0.1:{port}",
        "/{what}",
        server={"pathname": "/{version}", "variables": variables},
        parameters={"what": {"location": "$message.payload#/to"}},
    ) | {"operation": "say"}
    server = {"server": {"name": "main", "variables": {"port": web.rpartition(":")[2]}}}
    async with working(files=tmp_path) as work:
        await asyncapi.perform(given | server | {"message": {"payload": {"to": "hook"}}}, work)
        assert received.get(timeout=30)["body"] == {"to": "hook"}
        assert "its variable 'port'" in str(await fault_of(given | {"message": {"payload": {"to": "hook"}}}, work))
        assert "'what' of the channel" in str(await fault_of(given | server | {"message": {"payload": {}}}, work))


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"operation": "shout"}, "no operation shout; it has: say, hear"),
        ({"server": {"name": "other"}}, "no server other; it has: main"),
        ({"protocol": "mqtt"}, "no server with protocol mqtt"),
        ({"operation": None, "channel": "news"}, "no channel news; it has: chat"),
        ({}, "'pulsar' is none of those that can be called: amqp, http, kafka, mqtt, mqtt5, nats, redis, ws"),
    ],
)
async def test_what_the_document_does_not_have_is_told_with_what_it_has(
    tmp_path: Path, change: dict[str, Any], sentence: str
) -> None:
    given = third(tmp_path, "pulsar", "127.0.0.1:9") | {"operation": "say", "message": {"payload": {}}}
    async with working(files=tmp_path) as work:
        fault = await fault_of(given | change, work)
    assert fault.error.type.endswith("/configuration")
    assert sentence in str(fault)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"openapi": "3.1.0"},
        {"asyncapi": "3.0.0", "operations": {"say": {"$ref": "#/operations/say"}}},
        {"asyncapi": "3.0.0", "operations": {"say": {"$ref": "http://elsewhere/x"}}},
        {"asyncapi": "3.0.0", "operations": {"say": {"channel": 7}}},
        {"asyncapi": "2.6.0", "channels": [1], "servers": "x"},
        {
            "asyncapi": "3.0.0",
            "operations": {"say": {"channel": {"address": "x"}}},
            "servers": {"a": {"protocol": "http", "host": "[::"}},
        },
    ],
)
async def test_a_broken_document_is_refused(tmp_path: Path, document: Any) -> None:
    given = written(tmp_path, document) | {"operation": "say", "message": {"payload": {}}}
    async with working(files=tmp_path) as work:
        assert (await fault_of(given, work)).error.type.endswith("/configuration")
