"""AsyncAPI over Kafka. A channel is a topic.

Who listens without a group hears what comes from then on. A group goes on where it was left, and begins with the oldest
message that there is; a message counts as consumed when its reader has taken it and wants another, or leaves.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError

from penstock.engine import faults
from penstock.engine.tasks import authentication, reaching
from penstock.engine.tasks.asyncapi.credentials import credentials, secured
from penstock.engine.tasks.asyncapi.document import located
from penstock.engine.tasks.asyncapi.kafka_batches import unpacked_to_a_bound
from penstock.engine.tasks.asyncapi.kafka_cluster import REQUEST_MS, Access, Cluster, ended, reason
from penstock.engine.tasks.asyncapi.target import Inbound, Outbound, Target
from penstock.engine.tasks.authentication import certificate
from penstock.engine.tasks.event_stream import too_large
from penstock.engine.tasks.work import Work

# What documents call a kind of security, and what Kafka calls it.
_MECHANISMS = {
    "plain": "PLAIN",
    "userPassword": "PLAIN",
    "scramSha256": "SCRAM-SHA-256",
    "scramSha512": "SCRAM-SHA-512",
    "oauth2": "OAUTHBEARER",
    "openIdConnect": "OAUTHBEARER",
}
_FOREVER_MS = 2**31 - 1
unpacked_to_a_bound()


async def publish(target: Target, message: Outbound, work: Work) -> None:
    key, headers = _key(target, message)
    own = {"Idempotency-Key": work.key, **headers}
    cluster = await _cluster(target, work)
    producer = AIOKafkaProducer(acks="all", request_timeout_ms=REQUEST_MS, max_request_size=_FOREVER_MS)
    cluster.cluster = producer.client.cluster
    producer.client = producer._sender.client = cluster
    async with _told(target):
        try:
            await producer.start()
            await cluster.look_for(_topic_of(target))
            await cluster.unless_lost(
                producer.send_and_wait(
                    _topic_of(target),
                    message.payload,
                    key=None if key is None else key.encode(),
                    headers=[(name, value.encode()) for name, value in own.items()],
                )
            )
        finally:
            # Not its own `stop`, which would go on with what could not be sent.
            producer._closed = True
            await cluster.closed_after(producer._sender.close())


async def subscribe(target: Target, work: Work) -> AsyncGenerator[Inbound]:
    most = work.tools.limits.answer_bytes
    group = _said(target.bindings.get("groupId"))
    cluster = await _cluster(target, work)
    consumer = AIOKafkaConsumer(
        group_id=group,
        auto_offset_reset="latest" if group is None else "earliest",
        enable_auto_commit=False,
        isolation_level="read_committed",
        session_timeout_ms=30_000,
        # How long a workflow works on a message is its own affair: that it lives is told by heartbeats.
        max_poll_interval_ms=_FOREVER_MS,
        fetch_max_bytes=2 * most,
        max_partition_fetch_bytes=most,
        request_timeout_ms=REQUEST_MS,
    )
    consumer._client = cluster
    async with _told(target):
        try:
            await consumer.start()
            await cluster.look_for(_topic_of(target))
            consumer.subscribe([_topic_of(target)])
            while True:
                record = await cluster.unless_lost(consumer.getone())
                if len(record.value or b"") > most:
                    raise too_large(most, str(target))
                try:
                    yield Inbound(b"null" if record.value is None else record.value, _headers(record))
                finally:
                    if group is not None:
                        await _consumed(cluster, consumer, record, work)
        finally:
            await cluster.closed_after(consumer.stop())


async def _consumed(cluster: Cluster, consumer: AIOKafkaConsumer, record: ConsumerRecord, work: Work) -> None:
    place = TopicPartition(record.topic, record.partition)
    committing = cluster.unless_lost(consumer.commit({place: record.offset + 1}))
    if not await ended(committing, reaching.CONNECT_SECONDS):
        work.says(
            "warn", f"the brokers did not take down that a message of {record.topic} was consumed: it comes again"
        )


def _topic_of(target: Target) -> str:
    return _said(target.channel.get("topic")) or target.address


def _key(target: Target, message: Outbound) -> tuple[str | None, Mapping[str, str]]:
    """What the message's binding says: where it is, what it is, or that there is one: then it is the header `key`."""
    described = target.message.get("key")
    if described is None:
        return None, message.headers
    location = described.get("location") if isinstance(described, Mapping) else described
    if isinstance(location, str) and location.startswith("$message."):
        found = located(location, {"headers": message.headers, "payload": _payload(message)})
        if found is None:
            raise faults.configuration("Key missing", f"the message has nothing at {location[:200]}, where its key is")
        return str(found), message.headers
    if (fixed := _said(described)) is not None:
        return fixed, message.headers
    return message.headers.get("key"), {name: value for name, value in message.headers.items() if name != "key"}


def _payload(message: Outbound) -> Any:
    try:
        return msgspec.json.decode(message.payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _said(described: Any) -> str | None:
    """A text, or the only one that a schema allows, or would take."""
    if isinstance(described, str):
        return described or None
    if not isinstance(described, Mapping):
        return None
    allowed = described.get("enum")
    only = allowed[0] if isinstance(allowed, list) and len(allowed) == 1 else described.get("default")
    value = described.get("const", only)
    return value if isinstance(value, str) and value else None


def _headers(record: ConsumerRecord) -> dict[str, str]:
    headers = {name: _text(value) for name, value in record.headers}
    place = {"topic": record.topic, "partition": str(record.partition), "offset": str(record.offset)}
    return headers | place | ({} if record.key is None else {"key": _text(record.key)})


def _text(value: bytes | None) -> str:
    return (value or b"").decode(errors="replace")


async def _cluster(target: Target, work: Work) -> Cluster:
    return Cluster(target, await access(target, work), await _secured(target, work), work)


async def access(target: Target, work: Work) -> Access:
    wanted = [_MECHANISMS[kind] for kind in target.security if kind in _MECHANISMS]
    if target.policy is None:
        if wanted:
            raise faults.configuration(
                "Authentication missing", f"{target} asks for {' or '.join(wanted)}: give the task an `authentication`"
            )
        return Access()
    policy = authentication.read(target.policy, work.secrets)
    if policy.scheme == "certificate":
        if not target.tls:
            raise policy.fault("it is shown in TLS, and the server's protocol is kafka, not kafka-secure")
        return Access()
    user, password = await credentials(target.policy, work)
    if user is None:
        return Access("OAUTHBEARER", password=password)
    by_password = [mechanism for mechanism in wanted if mechanism != "OAUTHBEARER"]
    return Access(by_password[0] if by_password else "PLAIN", user, password)


async def _secured(target: Target, work: Work) -> ssl.SSLContext | None:
    policy = authentication.read(target.policy, work.secrets) if target.policy is not None else None
    if policy is not None and policy.scheme == "certificate":
        return await certificate.context(policy, work.tools.http)
    return await secured(target, work)


@asynccontextmanager
async def _told(target: Target) -> AsyncIterator[None]:
    try:
        yield
    except UnknownTopicOrPartitionError:
        raise faults.communication("No such topic", f"{target}: the brokers know no topic of this name") from None
    except (KafkaError, OSError, TimeoutError, ValueError) as error:
        raise faults.communication("Kafka failed", f"{target}: {reason(error)}") from error
