"""Basic, bearer, digest and certificates, each against a server that looks closely."""

import hashlib
import re
import ssl
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from yarl import URL

from penstock.engine.faults import STANDARD, Error, Fault
from penstock.engine.tasks import http
from penstock.engine.tasks.authentication import digest, headers, read
from penstock.engine.tasks.secrets import Secrets
from penstock.engine.tasks.work import Authorization, Performed, Work

from .http_peer import app as echoing
from .http_peer import said, served, working

pytestmark = pytest.mark.anyio

PASSWORD = 'pä:ß w"ord'


async def call(work: Work, address: str, policy: Any, method: str = "get", **arguments: Any) -> Performed:
    endpoint = {"uri": address, "authentication": policy}
    return await http.perform({"method": method, "endpoint": endpoint, **arguments}, work)


async def fault(work: Work, address: str, policy: Any) -> Error:
    with pytest.raises(Fault) as raised:
        await call(work, address, policy)
    return raised.value.error


@pytest.mark.parametrize(
    ("policy", "sent"),
    [
        (
            {"basic": {"username": "ann", "password": PASSWORD}},
            "Basic " + b64encode(f"ann:{PASSWORD}".encode()).decode(),
        ),
        ({"basic": {"use": "pair"}}, "Basic " + b64encode(b"bob:1234").decode()),
        ({"bearer": {"token": "t-1"}}, "Bearer t-1"),
        ({"bearer": {"use": "plain"}}, "Bearer t-2"),
        ({"bearer": {"use": "object"}}, "Bearer t-3"),
    ],
)
async def test_who_we_are_is_in_the_header_and_in_the_authorization(policy: Any, sent: str) -> None:
    secrets = {"pair": '{"username": "bob", "password": 1234}', "plain": "t-2\n", "object": '{"token": "t-3"}'}
    async with working(secrets=secrets) as work:
        found, authorization = await headers(policy, work)
    scheme, _, parameter = sent.partition(" ")
    assert (found, authorization) == ({"Authorization": sent}, Authorization(scheme, parameter))


@pytest.mark.parametrize(
    ("policy", "kind"),
    [
        ({"basic": {"username": "a:b", "password": "c"}}, "configuration"),
        ({"basic": {"password": "c"}}, "configuration"),
        ({"bearer": {"token": "a\r\nb"}}, "configuration"),
        ({"bearer": {"use": "nothing"}}, "authorization"),
        ({"basic": {"use": "plain"}}, "configuration"),
        ({"basic": {}, "bearer": {}}, "configuration"),
        ({"magic": {}}, "configuration"),
        ({"digest": {"username": "a", "password": "b"}}, "configuration"),
    ],
)
async def test_a_policy_that_cannot_be_used_says_so(policy: Any, kind: str) -> None:
    async with working(secrets={"plain": "text"}) as work:
        with pytest.raises(Fault) as raised:
            await headers(policy, work)
    assert raised.value.error.type == STANDARD + kind


async def test_no_policy_sends_nothing() -> None:
    async with working() as work:
        assert await headers(None, work) == ({}, None)


# RFC 7616, 3.9.1 has this challenge and these two answers.
_CHALLENGE = (
    'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
_ANSWERS = {
    "MD5": "8ca523f5e9506fed4657c9700eebdbec",
    "SHA-256": "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
}


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256"])
def test_the_digest_is_that_of_the_standards_example(algorithm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ")
    policy = read({"digest": {"username": "Mufasa", "password": "Circle of Life"}}, Secrets({}))
    url = URL("http://www.example.org/dir/index.html")
    found = digest.authorization(policy, [_CHALLENGE.format(algorithm)], "GET", url)
    assert found is not None
    assert f'response="{_ANSWERS[algorithm]}"' in found.parameter


def test_the_strongest_challenge_is_answered_wherever_it_stands() -> None:
    policy = read({"digest": {"username": "a", "password": "b"}}, Secrets({}))
    url = URL("http://x/")
    mixed = 'Basic realm="x, y", Digest nonce="1", algorithm=MD5, Digest nonce="2", algorithm=SHA-256, Bearer x="y"'
    found = digest.authorization(policy, [mixed], "GET", url)
    assert found is not None
    assert 'nonce="2"' in found.parameter
    for useless in ("", "Digest", "Negotiate", 'Digest nonce="1", algorithm=SHA-1', 'Digest nonce="1", qop="auth-int"'):
        assert digest.authorization(policy, [useless], "GET", url) is None


def _digesting(algorithm: str) -> Starlette:
    """Asks for a digest, and computes it anew from the parts of the answer."""
    name = algorithm.removesuffix("-sess")

    def digested(*parts: str) -> str:
        return hashlib.new({"MD5": "md5", "SHA-256": "sha256"}[name], ":".join(parts).encode()).hexdigest()

    async def answer(request: Request) -> Response:
        header = request.headers.get("authorization", "")
        said = {
            key: (quoted or plain) for key, quoted, plain in re.findall(r'(\w+)=(?:"((?:\\.|[^"])*)"|([^ ,]+))', header)
        }
        challenge = f'Digest realm="the realm", nonce="n1", qop="auth", algorithm={algorithm}, opaque="o"'
        refused = Response("", 401, headers={"WWW-Authenticate": challenge})
        if not said:
            return refused
        secret = digested("ann", "the realm", PASSWORD)
        if algorithm != name:
            secret = digested(secret, "n1", said["cnonce"])
        target = request.scope["raw_path"].decode() + "?" + request.url.query
        wanted = digested(secret, "n1", said["nc"], said["cnonce"], "auth", digested(request.method, target))
        good = said["response"] == wanted and said["opaque"] == "o" and said["uri"] == target
        return JSONResponse((await request.body()).decode()) if good else refused

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST"])])


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256", "SHA-256-sess"])
async def test_a_digest_convinces_the_server_and_a_wrong_one_is_refused_once(algorithm: str) -> None:
    with served(_digesting(algorithm)) as url:
        async with working() as work:
            right = {"digest": {"username": "ann", "password": PASSWORD}}
            performed = await call(work, f"{url}/a%20b", right, "post", query={"q": "1 2"}, body={"x": 1})
            wrong = await fault(work, f"{url}/a?b", {"digest": {"username": "ann", "password": "wrong"}})
            assert PASSWORD not in str(said(work))
    assert performed.output == '{"x":1}'
    assert performed.authorization is not None
    assert performed.authorization.scheme == "Digest"
    assert wrong.status == 401


class Certificates(msgspec.Struct):
    """An authority, a server's certificate and a client's."""

    directory: Path
    authority: str
    client: str
    key: str
    sealed_key: str


def _pem(key: ec.EllipticCurvePrivateKey, password: bytes | None = None) -> str:
    sealing = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, sealing).decode()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    directory = tmp_path_factory.mktemp("certificates")
    root = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])

    def certificate(name: str, key: ec.EllipticCurvePrivateKey, *, authority: bool = False) -> str:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=1))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), critical=False)
        )
        if authority:
            usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        return builder.sign(root, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    authority = certificate("authority", root, authority=True)
    server, client = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    (directory / "authority.pem").write_text(authority)
    (directory / "server.pem").write_text(certificate("server", server) + _pem(server))
    return Certificates(directory, authority, certificate("client", client), _pem(client), _pem(client, b"open sesame"))


@pytest.fixture(scope="module")
def guarded(certificates: Certificates) -> Iterator[str]:
    """A server that lets nobody in without a certificate of its authority."""
    server = certificates.directory / "server.pem"
    authority = certificates.directory / "authority.pem"
    with served(echoing, ssl_certfile=str(server), ssl_ca_certs=str(authority), ssl_cert_reqs=ssl.CERT_REQUIRED) as url:
        yield url


async def test_a_certificate_opens_the_door(certificates: Certificates, guarded: str) -> None:
    whole = f"{certificates.client}\n{certificates.key}"
    members = {"certificate": certificates.client, "key": certificates.key, "authority": certificates.authority}
    sealed = {**members, "key": certificates.sealed_key, "passphrase": "open sesame"}
    secrets = {"inline": msgspec.json.encode(members).decode(), "sealed": msgspec.json.encode(sealed).decode()}
    async with working(secrets=secrets) as work:
        for policy in (
            {"use": "inline"},
            {"use": "sealed"},
            {"certificate": whole, "authority": certificates.authority},
        ):
            performed = await call(work, f"{guarded}/x", {"certificate": policy}, "post", body={"a": 1})
            assert performed.output["body"] == '{"a":1}'


async def test_without_the_right_certificates_there_is_no_connection(certificates: Certificates, guarded: str) -> None:
    trusting = ssl.create_default_context(cadata=certificates.authority)
    members = {"certificate": certificates.client, "key": certificates.key}
    async with working() as work:
        stranger = await fault(work, guarded, {"certificate": members})  # the server's authority is not known to us
    async with working(tls=trusting) as work:
        nobody = await fault(work, guarded, None)  # the server wants a certificate
    assert (stranger.title, stranger.status) == ("Certificate not trusted", 500)
    assert nobody.title in ("No secure connection", "Connection lost")


@pytest.mark.parametrize(
    "change",
    [{"key": "nonsense"}, {"certificate": ""}, {"key": ""}, {"authority": "nonsense"}, {"passphrase": "wrong"}],
)
async def test_certificates_that_are_none_are_a_clear_fault(certificates: Certificates, change: dict[str, str]) -> None:
    members = {"certificate": certificates.client, "key": certificates.sealed_key, "passphrase": "open sesame"} | change
    async with working() as work:
        error = await fault(work, "https://127.0.0.1:9/", {"certificate": members})
    assert error.type == STANDARD + "configuration"
