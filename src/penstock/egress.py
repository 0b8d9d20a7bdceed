"""What we connect to on somebody else's word: the policy for every address that a user hands us.

A name is resolved once; every address it has is checked; the connection goes to an address that was checked. Nobody
asks the name server a second time, so its second answer (DNS rebinding) matters to nobody. Redirects are followed by
no client made here: each would be a new address that a stranger hands us.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

import httpcore
import httpx

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]

# Where clouds tell a machine who it is, and hand out its credentials.
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}
)
_METADATA = ip_address("169.254.169.254")
_THIS_HOST = {ip_address("0.0.0.0"): ip_address("127.0.0.1"), ip_address("::"): ip_address("::1")}  # noqa: S104
_NAT64 = IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48")
_IPV4_COMPATIBLE = IPv6Network("::/96")
_CONNECT_SECONDS = 10.0


class EgressDenied(httpcore.ConnectError):
    """The policy forbids this address. The message is for a person, and names no address that they did not give."""


class Unresolved(httpcore.ConnectError):
    """There is no such host."""


async def _resolve(host: str, port: int) -> list[str]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class Egress:
    """`deny` are networks that nobody reaches, but for those in `allow`. `resolve` is the name server's answer."""

    def __init__(self, deny: Iterable[str], allow: Iterable[str] = (), *, resolve: Resolve = _resolve) -> None:
        self._deny = [ip_network(network, strict=False) for network in deny]
        self._allow = [ip_network(network, strict=False) for network in allow]
        self._resolve = resolve

    async def addresses(self, host: str, port: int) -> list[str]:
        """The addresses of a host, each of which may be connected to; else EgressDenied or Unresolved.

        One bad address spoils the name: whoever answers with a good one and a bad one hopes that we take the bad.
        """
        name = host.strip("[]").rstrip(".").lower()
        if name in _METADATA_NAMES and not self.permits(_METADATA):
            raise EgressDenied(f"the address {name} is not allowed here (egress_deny)")
        try:
            found = await self._resolve(name, port)
        except (OSError, UnicodeError) as error:
            raise Unresolved(f"there is no host {name[:253]}") from error
        if not found:
            raise Unresolved(f"there is no host {name[:253]}")
        for address in found:
            if not self.permits(ip_address(address.partition("%")[0])):
                raise EgressDenied(f"the address of {name[:253]} is not allowed here (egress_deny)")
        return found

    def permits(self, address: Address) -> bool:
        return all(self._permits(form) for form in _forms(address))

    def _permits(self, address: Address) -> bool:
        if any(address in network for network in self._allow if network.version == address.version):
            return True
        return not any(address in network for network in self._deny if network.version == address.version)

    def client(self, *, tls: ssl.SSLContext | None = None, **options: Any) -> httpx.AsyncClient:
        """An HTTP client that obeys. It follows no redirects, keeps no cookies and knows no proxy of the environment:
        a proxy would resolve names by itself, unchecked."""
        return httpx.AsyncClient(
            transport=GuardedTransport(self, tls or ssl.create_default_context()),
            trust_env=False,
            follow_redirects=False,
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            **options,
        )


def _forms(address: Address) -> list[Address]:
    """The address, and every other one that a packet to it may arrive at."""
    forms: list[Address] = [address]
    if isinstance(address, IPv6Address):
        number = int(address)
        if address.ipv4_mapped is not None:
            forms.append(address.ipv4_mapped)
        if address.sixtofour is not None:
            forms.append(address.sixtofour)
        if address.teredo is not None:
            forms.extend(address.teredo)
        if any(address in network for network in _NAT64) or (address in _IPV4_COMPATIBLE and number > 1):
            forms.append(IPv4Address(number & 0xFFFFFFFF))
    forms.extend(_THIS_HOST[form] for form in tuple(forms) if form in _THIS_HOST)
    return forms


class _Backend(httpcore.AsyncNetworkBackend):
    """Where connections are opened: to a checked address, while HTTP and TLS still speak of the host by its name."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface of httpcore
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout if timeout is not None else _CONNECT_SECONDS):
                addresses = await self._egress.addresses(host, port)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"the name {host[:253]} was not resolved in time") from error
        failure: Exception = Unresolved(f"there is no host {host[:253]}")
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure

    async def connect_unix_socket(self, *_: Any, **__: Any) -> httpcore.AsyncNetworkStream:
        raise EgressDenied("sockets of this machine are not allowed here")

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


class GuardedTransport(httpx.AsyncHTTPTransport):
    """httpx's own transport, over a pool whose connections obey the policy.

    The pool keeps connections by host name, not by address: one that showed the certificate of a name is used for no
    other name that shares its address.
    """

    def __init__(self, egress: Egress, tls: ssl.SSLContext) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls, max_connections=100, keepalive_expiry=5.0, network_backend=_Backend(egress)
        )


def denial(error: BaseException | None) -> EgressDenied | None:
    """The policy's refusal behind an error of httpx, if that is what it was."""
    while error is not None:
        if isinstance(error, EgressDenied):
            return error
        error = error.__cause__ or error.__context__
    return None
