"""A Kafka cluster that we did not write: librdkafka's own, in this process. It knows no TLS and no SASL."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress
from functools import partial
from itertools import chain
from typing import Any

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition

from .brokers import copied

LIMIT = 60.0


class Kafka(msgspec.Struct, frozen=True):
    """Of three brokers, each of which has a part of every topic."""

    client: Producer
    ports: tuple[int, ...]

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.ports[0]}"

    def topic(self, name: str) -> str:
        """Asking for it makes it."""
        self.client.list_topics(name, timeout=LIMIT)
        return name

    def put(self, topic: str, value: bytes | None, packed: str = "none", **message: Any) -> None:
        """By another client than ours."""
        producer = Producer({"bootstrap.servers": self.servers, "compression.type": packed, "log_level": 0})
        producer.produce(topic, value, **message)
        assert producer.flush(LIMIT) == 0

    def read(self, topic: str, count: int) -> list[Message]:
        """The oldest that are there, as another client than ours finds them."""
        with self._reader("nobody") as consumer:
            consumer.assign([TopicPartition(topic, part, OFFSET_BEGINNING) for part in self._parts(topic)])
            return [_came(consumer.poll(LIMIT)) for _ in range(count)]

    def consume(self, group: str, topic: str, part: int, offset: int) -> None:
        """For a group, what is before this."""
        with self._reader(group) as consumer:
            consumer.commit(offsets=[TopicPartition(topic, part, offset)], asynchronous=False)

    def consumed(self, group: str, topic: str) -> list[int]:
        """What a group has consumed, in each part of the topic where it has."""
        with self._reader(group) as consumer:
            found = consumer.committed([TopicPartition(topic, part) for part in self._parts(topic)], timeout=LIMIT)
        return [each.offset for each in found if each.offset >= 0]

    def _parts(self, topic: str) -> list[int]:
        return list(self.client.list_topics(topic, timeout=LIMIT).topics[topic].partitions)

    @contextmanager
    def _reader(self, group: str) -> Iterator[Consumer]:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group, "log_level": 0})
        try:
            yield consumer
        finally:
            consumer.close()


def _came(message: Message | None) -> Message:
    assert message is not None
    assert message.error() is None
    return message


@contextmanager
def kafka() -> Iterator[Kafka]:
    client = Producer({"test.mock.num.brokers": 3, "log_level": 0})
    brokers = client.list_topics(timeout=LIMIT).brokers.values()
    yield Kafka(client, tuple(broker.port for broker in brokers))


@asynccontextmanager
async def elsewhere(kafka: Kafka, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Another address, at which each broker is reached by its port, until this ends. The brokers know nothing of it."""
    address = "127.0.0.2"
    ended = asyncio.Event()
    under_way: set[asyncio.Task[None]] = set()

    async def relay(port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        under_way.add(asyncio.current_task())  # type: ignore[arg-type]
        with closing(writer), suppress(asyncio.CancelledError):
            if ended.is_set():
                return
            inner, outer = await asyncio.open_connection("127.0.0.1", port)
            with closing(outer):
                await asyncio.gather(copied(reader, outer), copied(inner, writer), return_exceptions=True)

    async with AsyncExitStack() as stack:
        serving = [await asyncio.start_server(partial(relay, port), address, port, ssl=tls) for port in kafka.ports]
        for server in serving:
            await stack.enter_async_context(server)
        try:
            yield address
        finally:
            # Who was cut off comes back at once, and finds nobody. Who came just now must be let in before a server
            # closes: else it would forget their connection.
            ended.set()
            for listening in chain.from_iterable(server.sockets for server in serving):
                asyncio.get_running_loop().remove_reader(listening)
            await asyncio.sleep(0)
            for server in serving:
                server.close()
            for each in under_way:
                each.cancel()
            await asyncio.gather(*under_way)
