"""`call: asyncapi` over Kafka, against a cluster of three brokers: what other protocols do not have.

What all protocols have in common is in `test_asyncapi`. The cluster knows no SASL: who is let in is not seen here.
"""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from penstock.egress import Egress
from penstock.engine.faults import Fault
from penstock.engine.tasks import asyncapi
from penstock.engine.tasks.asyncapi import kafka_batches, kafka_cluster, over_kafka
from penstock.engine.tasks.asyncapi.document import Document
from penstock.engine.tasks.work import Work
from tests.platform.iam.certificates import Authority

from .http_peer import said, working
from .kafka import Kafka, elsewhere, kafka
from .test_asyncapi import fault_of, taken, written

pytestmark = pytest.mark.anyio
HEAR = {"operation": "hear", "subscription": {}}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kafka]:
    with kafka() as found:
        yield found


def described(folder: Path, host: str, topic: str, group: Any = None, key: Any = None, **server: Any) -> dict[str, Any]:
    channel = {"$ref": "#/channels/chat"}
    message = {"bindings": {"kafka": {"key": key}}}
    return written(
        folder,
        {
            "asyncapi": "3.0.0",
            "servers": {"main": {"host": host, "protocol": "kafka"} | server},
            "channels": {"chat": {"address": "chat", "bindings": {"kafka": {"topic": topic}}}},
            "operations": {
                "say": {"action": "send", "channel": channel, "messages": [message]},
                "hear": {"action": "receive", "channel": channel, "bindings": {"kafka": {"groupId": group}}},
            },
        },
    )


def saying(payload: Any, **headers: str) -> dict[str, Any]:
    return {"operation": "say", "message": {"payload": payload, "headers": headers}}


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ({"type": "string", "location": "$message.payload#/id"}, "o-7"),
        ("$message.header#/region", "north"),
        ({"type": "string", "enum": ["always"]}, "always"),
        ({"type": "string"}, "given"),
        (None, None),
    ],
)
async def test_a_message_has_the_key_that_its_binding_describes(
    cluster: Kafka, tmp_path: Path, key: Any, found: str | None
) -> None:
    topic = cluster.topic(f"keys-{found}")
    async with working(files=tmp_path) as work:
        given = described(tmp_path, cluster.host, topic, key=key)
        await asyncapi.perform(given | saying({"id": "o-7"}, region="north", key="given"), work)
    (message,) = await asyncio.to_thread(cluster.read, topic, 1)
    assert (message.key(), message.value()) == (found and found.encode(), b'{"id":"o-7"}')
    headers = dict(message.headers() or {})
    assert headers.items() >= {"Idempotency-Key": b"key-1", "region": b"north"}.items()
    # It is a header like others, unless the document says that there are keys, and not where.
    assert ("key" in headers) == (found != "given")


async def test_of_several_brokers_the_first_that_answers_is_asked(cluster: Kafka, tmp_path: Path) -> None:
    topic = cluster.topic("several")
    async with working(files=tmp_path) as work:
        await asyncapi.perform(described(tmp_path, f"127.0.0.1:9, {cluster.host}", topic) | saying("x"), work)
        fault = await fault_of(described(tmp_path, "127.0.0.1:9,127.0.0.1:10", topic) | saying("x"), work)
    assert "127.0.0.1:10: the connection was refused" in str(fault)


async def test_a_key_that_is_not_where_the_document_says_is_told(cluster: Kafka, tmp_path: Path) -> None:
    given = described(tmp_path, cluster.host, "keys", key={"location": "$message.payload#/order/id"})
    async with working(files=tmp_path) as work:
        assert "nothing at $message.payload#/order/id" in str(await fault_of(given | saying({"order": {}}), work))


async def test_a_group_goes_on_where_it_was_and_a_message_counts_when_it_was_taken(
    cluster: Kafka, tmp_path: Path
) -> None:
    group = f"shop-{uuid4()}"
    topic = cluster.topic(f"orders-of-{group}")
    for number in range(3):
        cluster.put(topic, str(number).encode(), partition=2, key="k")
    cluster.put(topic, b"oldest", partition=0)
    cluster.consume(group, topic, 2, 1)
    async with working(files=tmp_path) as work:
        given = described(tmp_path, cluster.host, topic, {"type": "string", "enum": [group]})
        async with aclosing(asyncapi.subscribe(given | HEAR, work)) as messages:
            heard = [await anext(messages) for _ in range(3)]
            last = heard[-1]["headers"]
            consumed = await asyncio.to_thread(cluster.consumed, group, topic)
            # All but the last, which its reader may still be at work on.
            assert sum(consumed) == 3 + 1 - 1
        assert await asyncio.to_thread(cluster.consumed, group, topic) == [1, 3]
    # Of a part that the group does not know, from the oldest on.
    assert {each["payload"]: each["headers"]["offset"] for each in heard} == {1: "1", 2: "2", "oldest": "0"}
    assert last["topic"] == topic


async def test_a_broker_that_names_others_leads_nowhere_that_is_not_allowed(cluster: Kafka, tmp_path: Path) -> None:
    topic = cluster.topic("inner")
    async with elsewhere(cluster) as address, working(files=tmp_path, deny=("127.0.0.1/32",)) as work:
        given = described(tmp_path, f"{address}:{cluster.ports[0]}", topic, "g")
        for doing in (saying({}), HEAR):
            fault = await fault_of(given | doing, work)
            assert (fault.error.title, fault.error.status) == ("Address not allowed", 403)
            assert "names a broker that cannot be used" in str(fault)


def led(work: Work, address: str) -> None:
    """Whatever is asked for is found at this address."""

    async def found(name: str, port: int) -> list[str]:
        return [address]

    work.tools.egress = Egress((), resolve=found)


@pytest.mark.parametrize("names", [("localhost", "127.0.0.1"), ("localhost",), ("127.0.0.1",)])
async def test_in_tls_every_broker_shows_a_certificate_for_its_own_name(
    cluster: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    authority = Authority()
    (tmp_path / "authority.pem").write_text(authority.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    key, certificate = authority.certify(tmp_path, *names)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    topic = cluster.topic("secret")
    async with elsewhere(cluster, tls) as address, working(files=tmp_path) as work:
        led(work, address)
        given = described(tmp_path, f"localhost:{cluster.ports[0]}", topic, protocol="kafka-secure")
        if len(names) == 2:
            await asyncapi.perform(given | saying("hush"), work)
            (message,) = await asyncio.to_thread(cluster.read, topic, 1)
            assert message.value() == b"hush"
        else:
            # The first broker is asked for by its name, and names the others by their addresses.
            fault = await fault_of(given | saying("hush"), work)
            assert fault.error.title == "TLS failed"
            assert "certificate" in str(fault)
            assert ("its broker at" in str(fault)) == (names == ("localhost",))


async def test_a_broker_of_a_private_authority_is_shown_a_certificate_of_ours(cluster: Kafka, tmp_path: Path) -> None:
    authority = Authority()
    (tmp_path / "client").mkdir()
    key, certificate = authority.certify(tmp_path, "127.0.0.1")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cadata=authority.pem)
    tls.load_cert_chain(certificate, key)
    tls.verify_mode = ssl.CERT_REQUIRED
    own_key, own = authority.certify(tmp_path / "client", "penstock")
    topic = cluster.topic("mutual")
    policy = {"certificate": own.read_text(), "key": own_key.read_text(), "authority": authority.pem}
    async with elsewhere(cluster, tls) as address, working(files=tmp_path) as work:
        led(work, address)
        given = described(tmp_path, cluster.host, topic, protocol="kafka-secure") | saying("hush")
        await asyncapi.perform(given | {"authentication": {"certificate": policy}}, work)
        (message,) = await asyncio.to_thread(cluster.read, topic, 1)
        assert message.value() == b"hush"
        assert (await fault_of(given, work)).error.title == "TLS failed"
        clear = described(tmp_path, cluster.host, topic) | saying("hush")
        fault = await fault_of(clear | {"authentication": {"certificate": policy}}, work)
        assert "kafka-secure" in str(fault)


async def test_a_topic_that_is_not_there_is_told_and_not_made(cluster: Kafka, tmp_path: Path) -> None:
    async with working(files=tmp_path) as work:
        given = described(tmp_path, cluster.host, "nowhere")
        for doing in (saying({}), HEAR):
            assert (await fault_of(given | doing, work)).error.title == "No such topic"
    assert "nowhere" not in cluster.client.list_topics(timeout=60).topics


async def test_who_listens_is_told_when_no_broker_is_left(
    cluster: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_cluster, "PATIENCE", 0)
    topic = cluster.topic("lost")
    async with working(files=tmp_path) as work:
        async with elsewhere(cluster) as address:
            led(work, address)
            given = described(tmp_path, cluster.host, topic, "lost")
            await asyncapi.perform(given | saying(1), work)
            messages = asyncapi.subscribe(given | HEAR, work)
            assert (await anext(messages))["payload"] == 1
        with pytest.raises(Fault) as fault:
            await anext(messages)
    assert fault.value.error.title == "Not reachable"


def awaited(coroutine: Any) -> list[str]:
    return [coroutine.__name__, *awaited(coroutine.cr_await)] if hasattr(coroutine, "cr_await") else []


async def test_who_is_cancelled_while_a_group_gathers_leaves_nothing_behind(cluster: Kafka, tmp_path: Path) -> None:
    topic = cluster.topic("gathering")
    async with working(files=tmp_path) as work:
        before = asyncio.all_tasks()
        listening = asyncio.create_task(taken(described(tmp_path, cluster.host, topic, "slow") | HEAR, work, 1))
        # Brokers give others of a new group three seconds to come.
        while not any("perform_group_join" in awaited(task.get_coro()) for task in asyncio.all_tasks()):
            await asyncio.sleep(0)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        # It is waited for, but not for ever: on a busy machine the library takes longer.
        async with asyncio.timeout(60):
            while asyncio.all_tasks() != before:
                await asyncio.sleep(0.01)


async def test_an_answer_without_end_is_refused(tmp_path: Path) -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\x7f\xff\xff\xff" + bytes(1000))
        with suppress(ConnectionError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(endless, "127.0.0.1", 0)
    async with server, working(files=tmp_path) as work:
        given = described(tmp_path, f"127.0.0.1:{server.sockets[0].getsockname()[1]}", "chat")
        fault = await fault_of(given | saying({}), work)
    assert "more than" in str(fault)


@pytest.mark.parametrize("packed", ["gzip", "snappy", "lz4", "zstd"])
async def test_packed_messages_are_read_unless_they_become_too_many_bytes(
    cluster: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: str
) -> None:
    topic = cluster.topic(f"packed-{packed}")
    monkeypatch.setattr(kafka_batches, "MOST", 200_000)
    async with working(files=tmp_path) as work:
        given = described(tmp_path, cluster.host, topic)
        listening = asyncio.create_task(taken(given | HEAR, work, 1))
        while not listening.done():
            await asyncio.to_thread(cluster.put, topic, b"x" * 100_000, packed, headers={"X-Foo": "bar"})
            await asyncio.wait({listening}, timeout=0.05)
        (message,) = await listening
        assert (message["payload"], message["headers"]["X-Foo"]) == ("x" * 100_000, "bar")
        refused = asyncio.create_task(fault_of(given | HEAR, work))
        while not refused.done():
            await asyncio.to_thread(cluster.put, topic, b"x" * 900_000, packed)
            await asyncio.wait({refused}, timeout=0.05)
        assert "more than 200,000 bytes" in str(await refused)


async def test_a_message_without_a_value_is_null(cluster: Kafka, tmp_path: Path) -> None:
    topic = cluster.topic("tombstones")
    async with working(files=tmp_path) as work:
        listening = asyncio.create_task(taken(described(tmp_path, cluster.host, topic) | HEAR, work, 1))
        while not listening.done():
            await asyncio.to_thread(cluster.put, topic, None, key="o-7")
            await asyncio.wait({listening}, timeout=0.05)
        (message,) = await listening
    assert (message["payload"], message["headers"]["key"]) == (None, "o-7")


@pytest.mark.parametrize(
    ("kinds", "policy", "mechanism"),
    [
        ([], {"basic": {"username": "u", "password": "p"}}, "PLAIN"),
        (["X509", "scramSha512"], {"basic": {"username": "u", "password": "p"}}, "SCRAM-SHA-512"),
        (["scramSha256"], {"basic": {"username": "u", "password": "p"}}, "SCRAM-SHA-256"),
        (["userPassword"], {"basic": {"username": "u", "password": "p"}}, "PLAIN"),
        (["scramSha256"], {"bearer": {"token": "t"}}, "OAUTHBEARER"),
        ([], None, None),
    ],
)
@pytest.mark.parametrize("version", ["2.6.0", "3.0.0"])
async def test_the_document_says_by_which_mechanism_one_is_let_in(
    tmp_path: Path, kinds: list[str], policy: dict[str, Any] | None, mechanism: str | None, version: str
) -> None:
    is_third = version[0] == "3"
    schemes = {kind: {"type": kind} for kind in kinds}
    security: list[Any] = [
        {"$ref": f"#/components/securitySchemes/{kind}"} if is_third else {kind: []} for kind in kinds
    ]
    server = {"host" if is_third else "url": "broker", "protocol": "kafka-secure", "security": security}
    channels = {"chat": {"address": "chat"}}
    data = {"asyncapi": version, "servers": {"main": server}, "channels": channels}
    target = Document(data | {"components": {"securitySchemes": schemes}}, "here").target(
        {"channel": "chat", "authentication": policy}
    )
    assert (target.tls, target.port) == (True, 9093)
    async with working(files=tmp_path) as work:
        assert (await over_kafka.access(target, work)).mechanism == mechanism


async def test_an_authentication_that_is_missing_or_not_asked_for_is_told(cluster: Kafka, tmp_path: Path) -> None:
    async with working(files=tmp_path) as work:
        given = described(tmp_path, cluster.host, cluster.topic("doors"), security=[{"type": "scramSha256"}])
        fault = await fault_of(given | saying({}), work)
        assert "asks for SCRAM-SHA-256: give the task an `authentication`" in str(fault)
        policy = {"basic": {"username": "user", "password": "s3cret"}}
        fault = await fault_of(given | saying({}) | {"authentication": policy}, work)
        assert "the broker asks for no authentication" in str(fault)
        assert "s3cret" not in str(fault) + str(said(work))
