"""Metadata in both directions, and the keypair that it announces."""

from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

from penstock.accounts.saml import (
    Keypair,
    SamlError,
    ServiceProvider,
    begin,
    make_keypair,
    read_metadata,
    service_provider_metadata,
)

from . import forge
from .forge import etree

MD = "urn:oasis:names:tc:SAML:2.0:metadata"
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
SSO = f'<md:SingleSignOnService Binding="{REDIRECT}" Location="https://idp.example/sso"/>'


def key(keys: Keypair, use: str = ' use="signing"') -> str:
    certificate = "\n".join(keys.certificate.strip().splitlines()[1:-1])
    return (
        f"<md:KeyDescriptor{use}><ds:KeyInfo><ds:X509Data><ds:X509Certificate>\n{certificate}\n"
        "</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>"
    )


def entity(inside: str, *, entity_id: str = "https://idp.example", role: str = "IDPSSODescriptor") -> str:
    return (
        f'<md:EntityDescriptor xmlns:md="{MD}" xmlns:ds="{forge.NS["ds"]}" entityID="{entity_id}">'
        f'<md:{role} protocolSupportEnumeration="{forge.NS["samlp"]}">{inside}</md:{role}></md:EntityDescriptor>'
    )


def entities(*inside: str) -> str:
    return f'<md:EntitiesDescriptor xmlns:md="{MD}">{"".join(inside)}</md:EntitiesDescriptor>'


def test_metadata_says_who_the_provider_is_where_it_signs_in_and_with_which_keys(
    keys: Keypair, foreign_keys: Keypair
) -> None:
    xml = entity(key(keys) + key(foreign_keys, "") + key(make_keypair(), ' use="encryption"') + key(keys) + SSO)
    idp = read_metadata(xml)
    assert (idp.entity_id, idp.sso_url, idp.xml) == ("https://idp.example", "https://idp.example/sso", xml)
    assert idp.certificates == (keys.certificate, foreign_keys.certificate)


def test_metadata_may_be_bytes_with_a_mark_a_declaration_and_comments(keys: Keypair) -> None:
    xml = f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- ours -->{entity("<!-- keys -->" + key(keys) + SSO)}'
    idp = read_metadata(b"\xef\xbb\xbf" + xml.encode())
    assert idp.entity_id == "https://idp.example"
    assert read_metadata(idp.xml) == idp


def test_a_list_with_one_identity_provider_is_that_provider(keys: Keypair) -> None:
    service = entity("", entity_id="https://sp.example", role="SPSSODescriptor")
    assert read_metadata(entities(service, entities(entity(key(keys) + SSO)))).entity_id == "https://idp.example"


def test_the_address_may_have_a_query_of_its_own(keys: Keypair, sp: ServiceProvider) -> None:
    idp = read_metadata(entity(key(keys) + SSO.replace("/sso", "/sso?tenant=7&amp;x=")))
    url, _ = begin(sp, idp, relay_state="")
    assert urlsplit(url).query.startswith("tenant=7&x=&SAMLRequest=")
    assert "RelayState" not in url


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda k: "", "not well-formed"),
        (lambda k: "\ud800", "not UTF-8"),
        (lambda k: "<html/>", "not SAML metadata"),
        (lambda k: "<!DOCTYPE x []>" + entity(k + SSO), "DTD"),
        (lambda k: entity(k + SSO, role="SPSSODescriptor"), "no SAML 2.0 identity provider"),
        (lambda k: entity(k + SSO).replace(":2.0:protocol", ":1.1:protocol"), "no SAML 2.0 identity provider"),
        (lambda k: entities(entity(k + SSO), entity(k + SSO, entity_id="https://b.example")), "2 identity providers"),
        (lambda k: entity(k + SSO, entity_id=""), "no usable entityID"),
        (lambda k: entity(k + SSO, entity_id="a" * 1025), "no usable entityID"),
        (entity, "no sign-in address"),
        (lambda k: entity(k + SSO.replace(REDIRECT, POST)), "HTTP-POST only"),
        (lambda k: entity(k + SSO.replace("https://idp.example/sso", "javascript:alert(1)")), "not a web address"),
        (lambda k: entity(k + SSO.replace("https://idp.example/sso", "//idp.example/sso")), "not a web address"),
        (lambda k: entity(k + SSO.replace("https://idp.example/sso", "https://[/")), "not a web address"),
        (lambda k: entity(k + SSO.replace("/sso", "/s so")), "not a web address"),
        (lambda k: entity(k + SSO.replace("/sso", "/sso#x")), "not a web address"),
        (lambda k: entity(SSO), "no signing certificate"),
        (lambda k: entity(k.replace("signing", "encryption") + SSO), "no signing certificate"),
        (lambda k: entity(k.replace("MII", "!II") + SSO), "not base64"),
        (lambda k: entity(k.replace("MII", "AAA") + SSO), "cannot be read"),
        (lambda k: entity(key(forge.make_keys("short")) + SSO), "too short: 1024 bits"),
        (lambda k: entity(k + SSO) + " " * 1024 * 1024, "larger than 1024 KiB"),
        (lambda k: entity("<md:Extensions>" + "<a>" * 70 + "</a>" * 70 + "</md:Extensions>" + k + SSO), "nested"),
    ],
)
def test_metadata_that_is_of_no_use_is_refused_with_the_reason(keys: Keypair, make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(SamlError, match=message):
        read_metadata(make(key(keys)))


def test_more_certificates_than_any_rotation_needs_are_refused() -> None:
    private = rsa.generate_private_key(65537, 2048)
    name, start = x509.Name([]), datetime(2026, 1, 1, tzinfo=UTC)
    descriptors = []
    for serial in range(1, 18):
        builder = x509.CertificateBuilder(name, name, private.public_key(), serial, start, start + timedelta(days=9))
        pem = builder.sign(private, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
        descriptors.append(key(Keypair(pem, "")))
    assert len(read_metadata(entity("".join(descriptors[:16]) + SSO)).certificates) == 16
    with pytest.raises(SamlError, match="more than 16"):
        read_metadata(entity("".join(descriptors) + SSO))


def test_our_metadata_follows_the_schema_and_says_what_we_want(sp: ServiceProvider) -> None:
    odd = ServiceProvider('https://p.example/"<&', "https://p.example/acs?a=1&b=2", sp.keypair)
    xml = service_provider_metadata(odd)
    root = etree.fromstring(xml.encode())
    assert OneLogin_Saml2_XML.validate_xml(xml.encode(), "saml-schema-metadata-2.0.xsd") != "invalid_xml"
    assert root.get("entityID") == odd.entity_id
    descriptor = root.find(f"{{{MD}}}SPSSODescriptor")
    assert descriptor.get("AuthnRequestsSigned") == descriptor.get("WantAssertionsSigned") == "true"
    service = descriptor.find(f"{{{MD}}}AssertionConsumerService")
    assert (service.get("Location"), service.get("Binding")) == (odd.acs_url, POST)
    assert root.findtext(".//{*}X509Certificate") in sp.keypair.certificate.replace("\n", "")


def test_a_new_keypair_is_rsa_of_3072_bits_good_for_ten_years_and_keeps_its_secret(sp: ServiceProvider) -> None:
    certificate = x509.load_pem_x509_certificate(sp.keypair.certificate.encode())
    public = certificate.public_key()
    assert isinstance(public, rsa.RSAPublicKey)
    assert public.key_size == 3072
    assert isinstance(certificate.signature_hash_algorithm, hashes.SHA256)
    assert certificate.not_valid_after_utc > datetime.now(UTC) + timedelta(days=3650)
    assert "PRIVATE" in sp.keypair.private_key
    assert "PRIVATE" not in repr(sp) + repr(sp.keypair)


def test_a_relay_state_that_providers_may_drop_is_a_mistake_of_the_caller(sp: ServiceProvider, keys: Keypair) -> None:
    begin(sp, forge.provider(keys), relay_state="x" * 80)
    with pytest.raises(ValueError, match="80 bytes"):
        begin(sp, forge.provider(keys), relay_state="x" * 81)


def test_every_request_has_an_id_of_its_own(sp: ServiceProvider, keys: Keypair) -> None:
    ids = {begin(sp, forge.provider(keys), relay_state="")[1] for _ in range(10)}
    assert len(ids) == 10
    assert all(len(request_id) == 41 for request_id in ids)
