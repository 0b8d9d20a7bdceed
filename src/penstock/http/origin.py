"""Who is calling, and under which address they reached us. Forwarding headers count only from a trusted proxy."""

from ipaddress import ip_address

import msgspec

from penstock.settings import TrustedProxies

Headers = list[tuple[bytes, bytes]]
_NAMES = ("proto", "host")
_USUAL_PORT = {"http": ":80", "https": ":443"}


class Origin(msgspec.Struct, frozen=True, gc=False):
    """`client` is the caller's address, `scheme` and `host` are what stood in their address bar."""

    client: str
    scheme: str
    host: str
    host_is_vouched_for: bool = False
    """A trusted proxy named the host. Otherwise the caller did, who may name any."""

    @property
    def base_url(self) -> str:
        return f"{self.scheme}://{self.host}"


def find(client: str, scheme: str, headers: Headers, trusted: TrustedProxies) -> Origin:
    host = _last(headers, b"host")
    forwarding = [name for name, _ in headers if name.startswith((b"x-forwarded-", b"forwarded"))]
    if not forwarding or not _trusts(trusted, client):
        return Origin(client, scheme, _shown(host, scheme))
    if any(name.startswith(b"x-forwarded-") for name in forwarding):
        # A proxy that writes these hands on a `Forwarded` that the caller wrote, so that one does not count here.
        hops = ",".join(_every(headers, b"x-forwarded-for")).split(",")
        element = {name: _last(headers, b"x-forwarded-" + name.encode()).split(",")[-1].strip() for name in _NAMES}
    else:
        elements = _forwarded(headers)
        hops, element = [each.get("for", "") for each in elements], elements[-1]
    proto = element.get("proto", "").lower()
    scheme = proto if proto in {"http", "https"} else scheme
    named = element.get("host")
    return Origin(_first_untrusted(hops, trusted) or client, scheme, _shown(named or host, scheme), bool(named))


def _shown(host: str, scheme: str) -> str:
    """As it stands in an address bar: some proxies write the usual port, too, and no browser does."""
    return host.removesuffix(_USUAL_PORT.get(scheme, ":"))


def _forwarded(headers: Headers) -> list[dict[str, str]]:
    """RFC 7239: what each proxy wrote, the nearest one last."""
    return [
        {
            name.strip().lower(): value.strip().strip('"')
            for name, _, value in (pair.partition("=") for pair in element.split(";"))
        }
        for element in ",".join(_every(headers, b"forwarded")).split(",")
    ]


def _first_untrusted(hops: list[str], trusted: TrustedProxies) -> str | None:
    """From the nearest hop outwards, the first that is not one of our own proxies.

    What stands further left was written by the caller, who may write anything.
    """
    found = None
    for hop in reversed([hop for hop in hops if hop.strip()]):
        address = _address(hop)
        if address is None:
            return found
        found = address
        if not _trusts(trusted, address):
            return found
    return found


def _address(hop: str) -> str | None:
    """The bare address of `1.2.3.4:5`, `[::1]:5` or `::1`; None for anything else."""
    text = hop.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        return str(ip_address(text))
    except ValueError:
        return None


def _trusts(trusted: TrustedProxies, client: str) -> bool:
    try:
        address = ip_address(client)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in network for network in trusted)


def _every(headers: Headers, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in headers if key == name]


def _last(headers: Headers, name: bytes) -> str:
    values = _every(headers, name)
    return values[-1] if values else ""
