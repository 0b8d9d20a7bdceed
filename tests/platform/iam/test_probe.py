"""Testing a provider is a real attempt: it works, or the message says why not."""

import hashlib
import hmac
import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx
import msgspec
import pytest

from penstock.app import create_app
from penstock.egress import Egress
from penstock.platform.iam.probe import Outcome
from penstock.settings import SettingsError, load
from tests.conftest import Serve
from tests.ports import free_port

from .certificates import Authority
from .house import House, host_of, set_up
from .services import Asked, Reply, serving

pytestmark = pytest.mark.anyio
Files = tuple[Path, Path]


@pytest.fixture
def closed_port() -> int:
    """Where nobody listens."""
    return free_port()


# --- OpenID Connect


async def test_a_real_issuer_passes(house: House, peers: dict[str, Any]) -> None:
    success, message = await house.tested(await house.oidc(peers["strict"]))
    assert success, message
    assert message == f"the issuer {peers['strict']} answers, with 4 signing keys"


async def test_wrong_client_credentials_are_said_to_be_wrong(house: House, peers: dict[str, Any]) -> None:
    success, message = await house.tested(await house.oidc(peers["strict"], client_secret="wrong"))
    assert (success, message) == (
        False,
        f"{host_of(peers['strict'])} does not accept the client_id or the client_secret",
    )


async def test_a_document_of_another_issuer_is_refused(house: House, peers: dict[str, Any]) -> None:
    stolen = peers["strict"] + "/.well-known/openid-configuration"
    provider = await house.oidc("https://victim.example", discovery_url=stolen)
    assert await house.tested(provider) == (
        False,
        f"the discovery document of {host_of(stolen)} speaks for another issuer than https://victim.example",
    )


async def test_a_refused_connection_and_an_unknown_host_are_told_apart(house: House, closed_port: int) -> None:
    provider = await house.oidc(f"http://127.0.0.1:{closed_port}")
    assert await house.tested(provider) == (False, f"127.0.0.1:{closed_port} refused the connection")
    config = {"issuer": "https://no-such-host.invalid", "client_id": "x"}
    provider = await house.provider("oidc", config, "unknown host")
    assert await house.tested(provider) == (False, "there is no host no-such-host.invalid")


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[::ffff:169.254.169.254]", "2852039166", "metadata.google.internal"]
)
async def test_no_type_reaches_the_metadata_service(house: House, host: str) -> None:
    url, xml = f"http://{host}", {"metadata_url": f"http://{host}/"}
    token = {"server": url, "token": "t"}
    keys = {"region": "eu-central-1", "access_key_id": "A" * 20, "secret_access_key": "s", "endpoint_url": url}
    directory = {"url": f"ldap://{host}", "base_dn": "dc=x"}
    kinds: dict[str, Any] = {"saml": xml, "kubernetes": token, "aws_iam": keys, "ldap": directory}
    kinds["oidc"] = {"issuer": url, "client_id": "x"}
    for kind, config in kinds.items():
        success, message = await house.tested(await house.provider(kind, config))
        assert not success
        assert message.endswith("is not allowed here (egress_deny)"), (kind, message)


async def test_a_redirect_to_the_metadata_service_is_not_followed(house: House) -> None:
    def away(_: Asked) -> Reply:
        return 302, {"location": "http://169.254.169.254/"}, b""

    with serving(away) as service:
        success, message = await house.tested(await house.provider("saml", {"metadata_url": service.url}))
        assert not success
        assert message.endswith("answered with a redirect, which is not followed; configure where it leads")
        assert len(service.asked) == 1


async def test_a_discovery_document_cannot_lead_us_to_the_metadata_service(house: House) -> None:
    document: dict[str, str] = {}

    def reply(_: Asked) -> Reply:
        return 200, {}, msgspec.json.encode(document)

    with serving(reply) as service:
        names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
        document |= {"issuer": service.url} | dict.fromkeys(names, "http://169.254.169.254/latest/user-data")
        success, message = await house.tested(await house.oidc(service.url))
        assert (success, message) == (False, "the address of 169.254.169.254 is not allowed here (egress_deny)")


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"issuer": 7}', b"\xff", b"[" * 100_000])
async def test_nonsense_is_a_failure_and_not_an_error(house: House, body: bytes) -> None:
    with serving(lambda _: (200, {}, body)) as service:
        success, _ = await house.tested(await house.oidc(service.url))
        assert not success


# --- SAML


async def test_metadata_by_address_and_by_document_pass(house: House, saml_peer: dict[str, Any]) -> None:
    by_url = await house.provider("saml", {"metadata_url": saml_peer["metadata_url"]}, "by url")
    success, message = await house.tested(by_url)
    assert success, message
    xml = httpx.get(saml_peer["metadata_url"]).text
    success, message = await house.tested(await house.provider("saml", {"metadata_xml": xml}, "by document"))
    assert success, message
    assert message.startswith(f"the metadata of {saml_peer['metadata_url']} is usable")


async def test_an_expired_signing_certificate_fails(
    house: House, saml_peer: dict[str, Any], authority: Authority, tmp_path: Path
) -> None:
    _, expired = authority.certify(tmp_path, "idp.example", days=-3)
    body = "".join(expired.read_text().strip().splitlines()[1:-1])
    xml = httpx.get(saml_peer["metadata_url"]).text
    xml = re.sub(r"(<(?:\w+:)?X509Certificate>)[^<]+", rf"\g<1>{body}", xml)
    success, message = await house.tested(await house.provider("saml", {"metadata_xml": xml}))
    assert not success
    assert message.startswith("the signing certificate in the metadata expired on ")


# --- Kubernetes


def cluster(asked: Asked) -> Reply:
    if asked.headers.get("authorization") != "Bearer right":
        return 401, {}, b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Unauthorized","code":401}'
    assert asked.path == "/version"
    return 200, {"content-type": "application/json"}, b'{"major":"1","minor":"34","gitVersion":"v1.34.1"}'


async def test_a_cluster_passes_with_its_token_and_its_authority(
    house: House, authority: Authority, server_files: Files
) -> None:
    with serving(cluster, server_files) as service:
        config = {"server": service.url, "token": "right", "ca_certificate": authority.pem, "cluster_name": "prod"}
        assert await house.tested(await house.provider("kubernetes", config)) == (True, "prod answers, version v1.34.1")
        wrong = await house.provider("kubernetes", config | {"token": "wrong"}, "wrong token")
        assert await house.tested(wrong) == (
            False,
            f"localhost:{service.port} did not accept the credentials (status 401)",
        )


async def test_a_certificate_of_somebody_else_is_refused_before_the_token_is_sent(
    house: House, authority: Authority, server_files: Files, tmp_path: Path
) -> None:
    with serving(cluster, server_files) as service:
        config = {"server": service.url, "token": "right", "ca_certificate": Authority().pem}
        success, message = await house.tested(await house.provider("kubernetes", config, "another authority"))
        assert not success
        assert message.startswith(f"the certificate of localhost:{service.port} was not accepted: ")
        config = {"server": f"https://127.0.0.1:{service.port}", "token": "right", "ca_certificate": authority.pem}
        success, message = await house.tested(await house.provider("kubernetes", config, "another name"))
        assert not success
        assert "was not accepted: IP address mismatch" in message
        assert service.asked == []
    expired = authority.certify(tmp_path, "localhost", days=-1)
    with serving(cluster, expired) as service:
        config = {"server": service.url, "token": "right", "ca_certificate": authority.pem}
        success, message = await house.tested(await house.provider("kubernetes", config, "expired"))
        assert message == f"the certificate of localhost:{service.port} was not accepted: certificate has expired"
    with serving(cluster) as plain:
        config = {"server": f"https://localhost:{plain.port}", "token": "right"}
        success, message = await house.tested(await house.provider("kubernetes", config, "no tls"))
        assert message == f"localhost:{plain.port} does not speak TLS as we do"


# --- AWS

ACCESS, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
ROLE = "arn:aws:iam::123456789012:role/penstock"


def signature_of(asked: Asked, secret: str) -> str:
    """As AWS computes it, from what was sent alone (their documentation, written a second time)."""
    said = dict(part.strip().split("=", 1) for part in asked.headers["authorization"].split(" ", 1)[1].split(","))
    scope = said["Credential"].split("/", 1)[1]
    names = said["SignedHeaders"].split(";")
    canonical = f"{asked.method}\n{asked.path}\n\n"
    canonical += "".join(f"{name}:{asked.headers[name].strip()}\n" for name in names)
    canonical += "\n" + ";".join(names) + "\n" + hashlib.sha256(asked.body).hexdigest()
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{asked.headers['x-amz-date']}\n{scope}\n{digest}"
    key = ("AWS4" + secret).encode()
    for part in scope.split("/"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def sts(asked: Asked) -> Reply:
    form = {name: values[0] for name, values in parse_qs(asked.body.decode()).items()}
    session = asked.headers.get("x-amz-security-token")
    secret = SECRET if session is None else "secret+of+the/role"
    sent = asked.headers["authorization"].rpartition("Signature=")[2]
    if sent != signature_of(asked, secret):
        return 403, {}, b"<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>"
    if form["Action"] == "AssumeRole":
        if form["RoleArn"] != ROLE:
            return 403, {}, b"<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>"
        credentials = b"<AccessKeyId>ASIAEXAMPLE000000000</AccessKeyId><SessionToken>token</SessionToken>"
        return 200, {}, credentials + b"<SecretAccessKey>secret+of+the/role</SecretAccessKey>"
    who = b"user/ann" if session is None else b"assumed-role/penstock/penstock-test"
    return 200, {}, b"<GetCallerIdentityResult><Arn>arn:aws:sts::123456789012:" + who + b"</Arn>"


async def test_access_keys_are_shown_to_sts_by_signature_and_never_sent(house: House) -> None:
    with serving(sts) as service:
        config = {"region": "eu-central-1", "access_key_id": ACCESS, "secret_access_key": SECRET}
        config["endpoint_url"] = service.url
        provider = await house.provider("aws_iam", config)
        assert await house.tested(provider) == (True, "signed in to AWS as arn:aws:sts::123456789012:user/ann")
        assert SECRET not in str(service.asked)
        wrong = await house.provider("aws_iam", config | {"secret_access_key": "wrong"}, "wrong")
        assert await house.tested(wrong) == (False, "AWS does not accept the access key (SignatureDoesNotMatch)")


async def test_a_role_is_taken_on(house: House) -> None:
    with serving(sts) as service:
        config = {"region": "eu-central-1", "access_key_id": ACCESS, "secret_access_key": SECRET}
        config |= {"endpoint_url": service.url, "role_arn": ROLE}
        provider = await house.provider("aws_iam", config)
        assert await house.tested(provider) == (
            True,
            "signed in to AWS as arn:aws:sts::123456789012:assumed-role/penstock/penstock-test",
        )
        refused = await house.provider("aws_iam", config | {"role_arn": ROLE + "2"}, "another role")
        assert await house.tested(refused) == (
            False,
            "AWS does not let this access key take on the role (AccessDenied)",
        )


# --- types of a deployment's own


class Working:
    async def test(self, config: dict[str, Any], egress: Egress) -> Outcome:
        assert isinstance(egress, Egress)
        return Outcome(True, f"hello {config['name']}")


class Broken:
    async def test(self, config: dict[str, Any], egress: Egress) -> Outcome:
        raise RuntimeError(f"{config['password']}")


class NotOne:
    pass


async def test_a_type_without_implementation_fails_with_a_message(house: House) -> None:
    assert await house.tested(await house.provider("custom", {})) == (
        False,
        "there is no implementation of the type custom here (iam_types)",
    )


async def test_a_type_by_import_path_is_tried_and_its_mistakes_are_kept_in(serve: Serve) -> None:
    types = {"custom": f"{__name__}:Working", "broken": f"{__name__}:Broken"}
    async with serve(iam_types=types) as client:
        house = await set_up(client)
        assert await house.tested(await house.provider("custom", {"name": "you"})) == (True, "hello you")
        provider = await house.provider("broken", {"password": "hidden"})
        success, message = await house.tested(provider)
        assert not success
        assert "hidden" not in message


@pytest.mark.parametrize("path", ["no_such_module:Class", "os:no_such", "no-colon", f"{__name__}:NotOne"])
def test_a_type_that_cannot_be_loaded_stops_the_start(path: str) -> None:
    with pytest.raises(SettingsError, match="iam_types"):
        create_app(load(environ={}, overrides={"iam_types": {"custom": path}}).settings)


async def test_the_result_is_in_the_audit_log(house: House) -> None:
    provider = await house.provider("custom", {})
    await house.tested(provider)
    path = f"/companies/{house.company['id']}/audit?action=iam_provider.test"
    entry = (await house.owner.get(path)).json()["items"][0]
    assert entry["resource_id"] == provider["id"]
    assert entry["details"]["success"] is False


async def test_trying_addresses_one_after_the_other_is_limited(house: House) -> None:
    provider = await house.provider("custom", {})
    path = f"/iam/providers/{provider['id']}/test"
    statuses = [(await house.owner.post(path)).status_code for _ in range(31)]
    assert statuses == [200] * 30 + [429]
