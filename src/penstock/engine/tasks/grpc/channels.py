"""Connections to gRPC services, kept while they are used: to an address that the policy allows.

The DSL has no word for TLS. Whoever is called over the public network is called with it; a loopback or private address
in the clear, but for port 443. `https://` or `http://` before the host says it otherwise. No port is 443.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from penstock import __version__
from penstock.egress import Egress
from penstock.engine import faults
from penstock.engine.tasks import reaching
from penstock.engine.tasks.grpc.proto import Proto
from penstock.engine.tasks.kept import Kept
from penstock.engine.tasks.work import Limits

if TYPE_CHECKING:
    import grpc.aio

_TLS_PORT = 443
_MOST_IDLE = 64
_MOST_PROTO_BYTES = 16 * 1024 * 1024


class Place(msgspec.Struct, frozen=True):
    host: str
    port: int
    tls: bool | None
    """None: as its address says."""

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def place_of(host: str, port: int | None) -> Place:
    scheme, separator, rest = host.rpartition("://")
    if separator and scheme not in ("http", "https"):
        raise faults.configuration("Not a host", "before the host of a gRPC service may stand http:// or https://")
    tls = {"https": True, "http": False}.get(scheme)
    return Place(rest.rstrip("/"), port or _TLS_PORT, tls)


class _Kept:
    def __init__(self, channel: "grpc.aio.Channel") -> None:
        self.channel = channel
        self.users = 0


class Grpc:
    """Made once for a server, and closed with it. `authorities` are the certificates that are trusted, as PEM."""

    def __init__(self, egress: Egress, limits: Limits, *, authorities: bytes | None = None) -> None:
        self._egress = egress
        self._limits = limits
        self._authorities = authorities
        self._channels: dict[Any, _Kept] = {}
        self.protos: Kept[Proto] = Kept(_MOST_PROTO_BYTES, lambda proto: 10_000 + 10 * proto.size)

    @asynccontextmanager
    async def channel(self, place: Place) -> AsyncIterator["grpc.aio.Channel"]:
        addresses = await reaching.addresses(self._egress, place.host, place.port)
        key = (place, *addresses)
        kept = self._channels.pop(key, None)
        if kept is None:
            kept = _Kept(await self._opened(place, addresses))
        # The one that was used last is the last: those before it are closed first.
        self._channels[key] = kept
        kept.users += 1
        try:
            yield kept.channel
        finally:
            kept.users -= 1
            await self._close_idle()

    async def close(self) -> None:
        await self.protos.close()
        for kept in self._channels.values():
            await kept.channel.close()
        self._channels.clear()

    async def _close_idle(self) -> None:
        idle = [key for key, kept in self._channels.items() if kept.users == 0]
        for key in idle[: max(0, len(idle) - _MOST_IDLE)]:
            await self._channels.pop(key).channel.close()

    async def _opened(self, place: Place, addresses: list[str]) -> "grpc.aio.Channel":
        address = await reaching.listening(place.host, place.port, addresses)
        # It takes half a second, and few need it.
        await asyncio.to_thread(import_module, "grpc.aio")
        return self._made(place, address)

    def _made(self, place: Place, address: str) -> "grpc.aio.Channel":
        import grpc.aio  # noqa: PLC0415

        target = f"ipv6:[{address}]:{place.port}" if ":" in address else f"ipv4:{address}:{place.port}"
        options: list[tuple[str, Any]] = [
            ("grpc.default_authority", str(place)),
            ("grpc.ssl_target_name_override", place.host),
            ("grpc.max_receive_message_length", self._limits.answer_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.primary_user_agent", f"penstock/{__version__}"),
            # A proxy of the environment would connect to whom it likes, and a retry be a second call.
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.service_config_disable_resolution", 1),
        ]
        if place.tls if place.tls is not None else place.port == _TLS_PORT or _is_public(address):
            credentials = grpc.ssl_channel_credentials(self._authorities or _authorities())
            return grpc.aio.secure_channel(target, credentials, options=options)
        return grpc.aio.insecure_channel(target, options=options)


def _is_public(address: str) -> bool:
    return ip_address(address.partition("%")[0]).is_global


def _authorities() -> bytes | None:
    """Those of the machine; gRPC's own where it has none."""
    place = ssl.get_default_verify_paths().cafile
    return Path(place).read_bytes() if place else None
