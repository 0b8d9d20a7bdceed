"""Who is calling: forwarding headers count only from a trusted proxy, and only as far as proxies wrote them."""

import pytest

from penstock.http.origin import Origin, find
from penstock.settings import TrustedProxies

PROXY, CALLER, FORGED = "10.0.0.1", "203.0.113.7", "6.6.6.6"
TRUSTED = TrustedProxies.parse(["10.0.0.0/8", "::1"])


def seen(peer: str, *headers: tuple[str, str], scheme: str = "http") -> Origin:
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in (("Host", "direct"), *headers)]
    return find(peer, scheme, raw, TRUSTED)


@pytest.mark.parametrize(
    "header",
    [
        ("X-Forwarded-For", FORGED),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.example"),
        ("Forwarded", f"for={FORGED};proto=https;host=evil.example"),
    ],
)
@pytest.mark.parametrize("peer", [CALLER, "2001:db8::7", "", "testclient"])
def test_what_an_untrusted_peer_writes_is_ignored(peer: str, header: tuple[str, str]) -> None:
    assert seen(peer, header) == Origin(peer, "http", "direct", host_is_vouched_for=False)


def test_a_trusted_proxy_is_believed() -> None:
    origin = seen(
        PROXY,
        ("X-Forwarded-For", CALLER),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "penstock.example"),
    )
    assert origin == Origin(CALLER, "https", "penstock.example", host_is_vouched_for=True)
    assert origin.base_url == "https://penstock.example"


@pytest.mark.parametrize(
    ("proto", "host", "base_url"),
    [
        ("https", "penstock.example:443", "https://penstock.example"),
        ("http", "penstock.example:80", "http://penstock.example"),
        ("http", "penstock.example:443", "http://penstock.example:443"),
        ("https", "penstock.example:8443", "https://penstock.example:8443"),
        ("https", "[2001:db8::443]", "https://[2001:db8::443]"),
        ("https", "[2001:db8::443]:443", "https://[2001:db8::443]"),
    ],
)
def test_the_usual_port_is_not_part_of_the_address(proto: str, host: str, base_url: str) -> None:
    """Browsers do not send it in `Origin`, and providers compare addresses letter by letter."""
    assert seen(PROXY, ("X-Forwarded-Proto", proto), ("X-Forwarded-Host", host)).base_url == base_url
    assert seen(PROXY, ("Host", host), ("X-Forwarded-Proto", proto)).base_url == base_url
    assert seen(CALLER, ("Host", host), scheme=proto).base_url == base_url


def test_a_proxy_that_names_no_host_vouches_for_none() -> None:
    assert seen(PROXY, ("X-Forwarded-For", CALLER)) == Origin(CALLER, "http", "direct", host_is_vouched_for=False)


@pytest.mark.parametrize(
    ("chain", "client"),
    [
        (f"{FORGED}, {CALLER}", CALLER),
        (f"{FORGED}, {CALLER}, 10.9.9.9", CALLER),
        (f"{FORGED}, 10.1.1.1, {CALLER}, 10.9.9.9, 10.8.8.8", CALLER),
        ("10.1.1.1, 10.2.2.2", "10.1.1.1"),
        (f"{CALLER}:4711", CALLER),
        ("2001:db8::7", "2001:db8::7"),
        ("[2001:db8::7]:4711", "2001:db8::7"),
        ("[2001:DB8:0::7]", "2001:db8::7"),
        (f"{FORGED}, ::ffff:10.0.0.9", FORGED),
        (f" ,, {CALLER} , ", CALLER),
        (f"{FORGED}, unknown", PROXY),
        (f"{FORGED}, garbage, 10.9.9.9", "10.9.9.9"),
        (f"{FORGED}, 1.2.3.4.5", PROXY),
        (f"{FORGED}, <script>", PROXY),
        ("", PROXY),
        (",,,", PROXY),
    ],
)
def test_the_chain_is_walked_from_the_nearest_hop_outwards_until_it_leaves_our_proxies(chain: str, client: str) -> None:
    assert seen(PROXY, ("X-Forwarded-For", chain)).client == client


def test_several_headers_are_one_chain() -> None:
    assert seen(PROXY, ("X-Forwarded-For", FORGED), ("X-Forwarded-For", CALLER)).client == CALLER
    assert seen(PROXY, ("X-Forwarded-For", CALLER), ("X-Forwarded-For", "10.9.9.9")).client == CALLER


def test_of_several_schemes_and_hosts_the_nearest_proxys_counts() -> None:
    origin = seen(
        PROXY,
        ("X-Forwarded-Proto", "http"),
        ("X-Forwarded-Proto", "http, https"),
        ("X-Forwarded-Host", "evil.example, penstock.example"),
    )
    assert (origin.scheme, origin.host) == ("https", "penstock.example")


@pytest.mark.parametrize("scheme", ["gopher", "", "javascript", "https://x"])
def test_a_scheme_that_is_none_is_ignored(scheme: str) -> None:
    assert seen(PROXY, ("X-Forwarded-Proto", scheme)).scheme == "http"


@pytest.mark.parametrize(
    ("line", "origin"),
    [
        (f"for={CALLER};proto=https;host=penstock.example", Origin(CALLER, "https", "penstock.example", True)),
        (f'For="{CALLER}:4711"; Proto=HTTPS', Origin(CALLER, "https", "direct")),
        ('for="[2001:db8::7]:4711"', Origin("2001:db8::7", "http", "direct")),
        ('for="[2001:db8::7]"', Origin("2001:db8::7", "http", "direct")),
        (f"for={FORGED}, for={CALLER};proto=https, for=10.9.9.9", Origin(CALLER, "http", "direct")),
        (f"for={FORGED}, for=_hidden", Origin(PROXY, "http", "direct")),
        (f"for={FORGED}, for=unknown;proto=https", Origin(PROXY, "https", "direct")),
        (f'for="{FORGED}, for={CALLER}', Origin(CALLER, "http", "direct")),
        ("proto=https", Origin(PROXY, "https", "direct")),
        (";;,,==,for", Origin(PROXY, "http", "direct")),
        ("", Origin(PROXY, "http", "direct")),
    ],
)
def test_rfc_7239_is_understood(line: str, origin: Origin) -> None:
    assert seen(PROXY, ("Forwarded", line)) == origin


def test_a_forwarded_header_that_slipped_through_a_proxy_of_the_other_kind_is_ignored() -> None:
    """The usual proxy writes X-Forwarded-For and hands on every other header, whatever the caller put there."""
    forged = ("Forwarded", f"for={FORGED};host=evil.example;proto=https")
    for headers in ([forged, ("X-Forwarded-For", CALLER)], [("X-Forwarded-For", CALLER), forged]):
        assert seen(PROXY, *headers) == Origin(CALLER, "http", "direct", host_is_vouched_for=False)


def test_a_proxy_on_ipv6_or_on_an_ipv4_address_in_ipv6_clothes_is_recognized() -> None:
    for proxy in ("::1", "::ffff:10.0.0.1"):
        assert seen(proxy, ("X-Forwarded-For", CALLER)).client == CALLER
