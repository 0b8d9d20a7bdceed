"""Where a message goes, or comes from: what an AsyncAPI document and a task say, put together."""

from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from penstock.engine import faults
from penstock.engine.tasks.work import Work

# By the protocol's names: the client that speaks it, whether in TLS, and the port where none is given.
_PROTOCOLS = {
    "amqp": ("amqp", False, 5672),
    "amqps": ("amqp", True, 5671),
    "http": ("http", False, 80),
    "https": ("http", True, 443),
    "ws": ("ws", False, 80),
    "wss": ("ws", True, 443),
    "mqtt": ("mqtt", False, 1883),
    "mqtts": ("mqtt", True, 8883),
    "secure-mqtt": ("mqtt", True, 8883),
    "mqtt5": ("mqtt5", False, 1883),
    "secure-mqtt5": ("mqtt5", True, 8883),
    "redis": ("redis", False, 6379),
    "rediss": ("redis", True, 6379),
    "nats": ("nats", False, 4222),
    "tls": ("nats", True, 4222),
    "kafka": ("kafka", False, 9092),
    "kafka-secure": ("kafka", True, 9093),
}
BUILT = ("amqp", "http", "kafka", "mqtt", "mqtt5", "nats", "redis", "ws")


class Target(msgspec.Struct, frozen=True):
    protocol: str
    """One of those that are built."""
    tls: bool
    host: str
    port: int
    path: str
    """Of the server, before the channel's."""
    address: str
    """Of the channel: a path, a topic, a subject."""
    content_type: str
    bindings: Mapping[str, Any]
    """What the document says about this protocol only, of the operation."""
    correlation: str | None
    """Where in a message its correlation id is."""
    policy: Mapping[str, Any] | None
    channel: Mapping[str, Any] = {}
    """What it says about this protocol of the channel."""
    message: Mapping[str, Any] = {}
    """What it says about this protocol of the message."""
    security: tuple[str, ...] = ()
    """The kinds of security that the server knows, of which one is used."""
    others: tuple[tuple[str, int], ...] = ()
    """Where the same is found when the first place does not answer."""

    def __str__(self) -> str:
        return f"{self.protocol}://{self.host}:{self.port} {self.address}"


class Outbound(msgspec.Struct, frozen=True):
    payload: bytes
    headers: Mapping[str, str]


class Inbound(msgspec.Struct, frozen=True):
    payload: bytes
    headers: Mapping[str, str] = {}
    content_type: str | None = None
    """Where the protocol says one."""


def telling_once(target: Target, work: Work) -> Callable[[], None]:
    """For brokers that do not wait for who listens: messages are left out when too many of them wait to be taken."""
    said: list[bool] = []

    def lost() -> None:
        if not said:
            said.append(True)
            work.says("warn", f"messages of {target} come faster than they are taken: some are left out")

    return lost


class Client(Protocol):
    """Each protocol is a module of this shape."""

    async def publish(self, target: Target, message: Outbound, work: Work) -> None: ...

    def subscribe(self, target: Target, work: Work) -> AsyncGenerator[Inbound]: ...


class Place(msgspec.Struct, frozen=True):
    """Of a server, as its document gives it."""

    protocol: str
    tls: bool
    host: str
    port: int
    path: str
    others: tuple[tuple[str, int], ...] = ()


def family(protocol: str) -> str:
    """The protocol without its "s": who asks for http takes https."""
    return _PROTOCOLS.get(protocol, (protocol, False, 0))[0]


def versioned(protocol: str, version: Any) -> str:
    """Documents call it `mqtt5`, or `mqtt` in version 5."""
    is_fifth = family(protocol) == "mqtt" and str(version).partition(".")[0] == "5"
    return {"mqtt": "mqtt5"}.get(protocol, "secure-mqtt5") if is_fifth else protocol


def place_of(url: str, protocol: str, path: str) -> Place:
    if family(protocol) == "kafka" and "," in url:
        # As Kafka's own clients are told of a cluster.
        scheme, _, listed = url.rpartition("://")
        places = [place_of(f"{scheme or protocol}://{each.strip()}", protocol, path) for each in listed.split(",")]
        return msgspec.structs.replace(places[0], others=tuple((each.host, each.port) for each in places[1:]))
    try:
        parts = urlsplit(url if "://" in url else f"{protocol}://{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = urlsplit("")
    if not host:
        raise faults.configuration("Not a server", "the AsyncAPI document's server has no host that can be called")
    # A scheme of the same kind says more than the protocol: `mqtts://` of protocol mqtt.
    scheme = versioned(parts.scheme, 5) if family(protocol) == "mqtt5" else parts.scheme
    name = scheme if family(scheme) == family(protocol) else protocol
    if name not in _PROTOCOLS:
        raise faults.configuration(
            "Protocol not supported", f"{protocol[:50]!r} is none of those that can be called: {', '.join(BUILT)}"
        )
    client, tls, usual = _PROTOCOLS[name]
    return Place(client, tls, host, port or usual, (parts.path + path).rstrip("/"))
