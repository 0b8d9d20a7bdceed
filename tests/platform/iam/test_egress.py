"""Attacks on what we connect to: forbidden addresses in every spelling, names that change their mind, redirects."""

import asyncio
from ipaddress import ip_address

import httpx
import pytest

from penstock.egress import Egress, EgressDenied, Unresolved, denial
from penstock.settings import EGRESS_DENY, SettingsError, load

from .services import Asked, Reply, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def answering(*answers: list[str]) -> Egress:
    """A policy whose name server gives these answers, one after the other."""
    waiting = list(answers)

    async def resolve(_: str, __: int) -> list[str]:
        return waiting.pop(0) if len(waiting) > 1 else waiting[0]

    return Egress(EGRESS_DENY, resolve=resolve)


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "2852039166",
        "0xA9FEA9FE",
        "0xa9.0xfe.0xa9.0xfe",
        "0251.0376.0251.0376",
        "169.16689662",
        "[::ffff:169.254.169.254]",
        "::ffff:a9fe:a9fe",
        "::169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fe80::1",
        "fe80::1%lo",
        "fd00:ec2::254",
        "fd00:0ec2:0000::0254",
        "100.100.100.200",
        "168.63.129.16",
        "metadata.google.internal",
        "METADATA.google.internal.",
        "instance-data",
    ],
)
async def test_metadata_and_link_local_addresses_are_refused_in_every_spelling(host: str) -> None:
    with pytest.raises(EgressDenied):
        await Egress(EGRESS_DENY).addresses(host, 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "10.1.2.3", "192.168.1.1", "8.8.8.8", "fd00::1"])
async def test_loopback_private_and_public_addresses_are_reached(host: str) -> None:
    assert await Egress(EGRESS_DENY).addresses(host, 80)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "::ffff:127.0.0.1", "127.1", "0", "::ffff:0.0.0.0"])
async def test_who_forbids_loopback_forbids_its_other_names_too(host: str) -> None:
    with pytest.raises(EgressDenied):
        await Egress(["127.0.0.0/8", "::1/128"]).addresses(host, 80)


def test_allowed_networks_are_holes_in_denied_ones() -> None:
    egress = Egress(["0.0.0.0/0", "::/0"], ["10.1.0.0/16"])
    assert egress.permits(ip_address("10.1.2.3"))
    assert not egress.permits(ip_address("10.2.2.3"))
    assert not egress.permits(ip_address("2001:db8::1"))


async def test_an_operator_may_allow_the_metadata_address() -> None:
    egress = Egress(EGRESS_DENY, ["169.254.169.254/32"])
    assert await egress.addresses("169.254.169.254", 80) == ["169.254.169.254"]
    with pytest.raises(EgressDenied):
        await egress.addresses("169.254.169.253", 80)


async def test_one_forbidden_address_among_good_ones_spoils_the_name() -> None:
    with pytest.raises(EgressDenied):
        await answering(["127.0.0.1", "169.254.169.254"]).addresses("innocent.example", 80)


async def test_a_name_without_addresses_is_said_to_be_none() -> None:
    with pytest.raises(Unresolved):
        await Egress(EGRESS_DENY).addresses("no-such-host.invalid", 80)
    with pytest.raises(Unresolved):
        await answering([]).addresses("empty.example", 80)
    with pytest.raises(Unresolved):
        await Egress(EGRESS_DENY).addresses("a" * 300, 80)


def hello(_: Asked) -> Reply:
    return 200, {}, b"hello"


async def test_a_request_goes_to_the_checked_address_under_the_name_that_was_asked_for() -> None:
    with serving(hello) as service:
        async with answering(["127.0.0.1"]).client() as client:
            answer = await client.get(f"http://innocent.example:{service.port}/")
    assert answer.text == "hello"
    assert service.asked[0].headers["host"] == f"innocent.example:{service.port}"


async def test_a_name_that_turns_bad_after_the_check_is_not_asked_again() -> None:
    """DNS rebinding: the first answer passes, the second is where the attacker wants us."""
    asked = []

    async def resolve(host: str, _: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"] if len(asked) == 1 else ["169.254.169.254"]

    with serving(hello) as service:
        async with Egress(EGRESS_DENY, resolve=resolve).client() as client:
            assert (await client.get(f"http://rebind.example:{service.port}/")).text == "hello"
            assert asked == ["rebind.example"]
        async with Egress(EGRESS_DENY, resolve=resolve).client() as client:
            with pytest.raises(httpx.ConnectError) as refused:
                await client.get(f"http://rebind.example:{service.port}/")
    assert denial(refused.value) is not None


async def test_a_forbidden_address_is_an_error_of_httpx_that_says_so() -> None:
    async with Egress(EGRESS_DENY).client() as client:
        for url in ("http://169.254.169.254/latest/meta-data/", "http://[::ffff:a9fe:a9fe]/", "http://2852039166/"):
            with pytest.raises(httpx.ConnectError, match="not allowed here"):
                await client.get(url)


async def test_redirects_are_not_followed() -> None:
    def away(_: Asked) -> Reply:
        return 302, {"location": "http://169.254.169.254/latest/meta-data/"}, b""

    with serving(away) as service:
        async with Egress(EGRESS_DENY).client() as client:
            assert (await client.get(service.url)).status_code == 302
            with pytest.raises(httpx.ConnectError, match="not allowed here"):
                await client.get(service.url, follow_redirects=True)


async def test_a_proxy_of_the_environment_does_not_get_around_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(hello) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        async with Egress(EGRESS_DENY).client() as client:
            with pytest.raises(httpx.ConnectError):
                await client.get("http://169.254.169.254/")
    assert proxy.asked == []


async def test_a_name_server_that_does_not_answer_is_not_waited_for() -> None:
    async def never(_: str, __: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    async with Egress(EGRESS_DENY, resolve=never).client(timeout=0.05) as client:
        with pytest.raises(httpx.ConnectTimeout):
            await client.get("http://slow.example/")


def test_networks_that_are_none_stop_the_start() -> None:
    with pytest.raises(SettingsError, match="egress_deny"):
        load(environ={}, overrides={"egress_deny": ["metadata"]})
