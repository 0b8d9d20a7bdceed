"""A workshop for responses, true and false: a minimal identity provider of the tests that signs whatever it is told.

The true ones of a provider that we did not write come from `tests/peers/saml-idp.mjs`.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import lxml.etree  # type: ignore[import-untyped]
import xmlsec as untyped_xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from penstock.accounts.saml import IdentityProvider, Keypair, ServiceProvider

etree: Any = lxml.etree
xmlsec: Any = untyped_xmlsec
"""Its stubs name constants otherwise than they are named."""
Tree = Any
"""An element of lxml, which has no types."""

NOW = 1_800_000_000.0
REQUEST_ID = "_request"
ENTITY_ID = "https://idp.example.org/metadata"
SP_ENTITY_ID = "https://penstock.example/user/saml/metadata"
ACS_URL = "https://penstock.example/user/saml/acs"
NS = {
    "samlp": "urn:oasis:names:tc:SAML:2.0:protocol",
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
    "xs": "http://www.w3.org/2001/XMLSchema",
    "xsi": "http://www.w3.org/2001/XMLSchema-instance",
}
EMAIL = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"


def make_keys(kind: str = "rsa") -> Keypair:
    key = (
        ec.generate_private_key(ec.SECP256R1())
        if kind == "ec"
        else rsa.generate_private_key(65537, {"rsa": 2048, "short": 1024}[kind])
    )
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "forge")])
    start = datetime(2026, 1, 1, tzinfo=UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return Keypair(
        certificate.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode(),
    )


def provider(*keys: Keypair, entity_id: str = ENTITY_ID) -> IdentityProvider:
    return IdentityProvider(entity_id, "https://idp.example.org/sso", tuple(pair.certificate for pair in keys), "")


def service(keypair: Keypair) -> ServiceProvider:
    return ServiceProvider(SP_ENTITY_ID, ACS_URL, keypair)


def at(offset: float) -> str:
    return datetime.fromtimestamp(NOW + offset, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, kw_only=True)
class Claims:
    """Everything that a response can say; the defaults are all as they should be. None leaves a thing out."""

    issuer: str = ENTITY_ID
    response_issuer: str | None = ENTITY_ID
    destination: str | None = ACS_URL
    response_in_response_to: str | None = REQUEST_ID
    status: Sequence[str] = ("urn:oasis:names:tc:SAML:2.0:status:Success",)
    name_id: str = "ann@example.org"
    name_format: str | None = EMAIL
    method: str = "urn:oasis:names:tc:SAML:2.0:cm:bearer"
    recipient: str | None = ACS_URL
    in_response_to: str | None = REQUEST_ID
    confirmed_from: str | None = None
    confirmed_until: str | None = at(300)
    not_before: str | None = at(-10)
    not_on_or_after: str | None = at(300)
    audiences: Sequence[Sequence[str]] = ((SP_ENTITY_ID,),)
    more_conditions: Sequence[str] = ()
    authenticated: bool = True
    session_until: str | None = None
    attributes: Sequence[tuple[str, str]] = field(default=(("mail", "ann@example.org"),))


def _add(parent: Tree, name: str, text: str | None = None, **attributes: str | None) -> Tree:
    prefix, _, local = name.partition(":")
    child = etree.SubElement(
        parent, f"{{{NS[prefix]}}}{local}", {key: value for key, value in attributes.items() if value is not None}
    )
    child.text = text
    return child


def build(claims: Claims) -> Tree:
    """A response, not signed."""
    root = etree.Element(
        f"{{{NS['samlp']}}}Response",
        {"ID": "_response", "Version": "2.0", "IssueInstant": at(0)},
        nsmap={"samlp": NS["samlp"], "saml": NS["saml"], "xs": NS["xs"], "xsi": NS["xsi"]},
    )
    for name, value in (("Destination", claims.destination), ("InResponseTo", claims.response_in_response_to)):
        if value is not None:
            root.set(name, value)
    if claims.response_issuer is not None:
        _add(root, "saml:Issuer", claims.response_issuer)
    node = _add(root, "samlp:Status")
    for code in claims.status:
        node = _add(node, "samlp:StatusCode", Value=code)
    assertion = _add(root, "saml:Assertion", ID="_assertion", Version="2.0", IssueInstant=at(0))
    _add(assertion, "saml:Issuer", claims.issuer)
    _add_subject(assertion, claims)
    conditions = _add(assertion, "saml:Conditions", NotBefore=claims.not_before, NotOnOrAfter=claims.not_on_or_after)
    for audiences in claims.audiences:
        restriction = _add(conditions, "saml:AudienceRestriction")
        for audience in audiences:
            _add(restriction, "saml:Audience", audience)
    for xml in claims.more_conditions:
        conditions.append(etree.fromstring(xml))
    if claims.authenticated:
        statement = _add(
            assertion,
            "saml:AuthnStatement",
            AuthnInstant=at(0),
            SessionIndex="_session",
            SessionNotOnOrAfter=claims.session_until,
        )
        context = _add(statement, "saml:AuthnContext")
        _add(context, "saml:AuthnContextClassRef", "urn:oasis:names:tc:SAML:2.0:ac:classes:Password")
    if claims.attributes:
        attributes = _add(assertion, "saml:AttributeStatement")
        for name, value in claims.attributes:
            text = _add(_add(attributes, "saml:Attribute", Name=name), "saml:AttributeValue", value)
            text.set(f"{{{NS['xsi']}}}type", "xs:string")
    return root


def _add_subject(assertion: Tree, claims: Claims) -> None:
    subject = _add(assertion, "saml:Subject")
    _add(subject, "saml:NameID", claims.name_id, Format=claims.name_format)
    _add(
        _add(subject, "saml:SubjectConfirmation", Method=claims.method),
        "saml:SubjectConfirmationData",
        Recipient=claims.recipient,
        InResponseTo=claims.in_response_to,
        NotBefore=claims.confirmed_from,
        NotOnOrAfter=claims.confirmed_until,
    )


def assertion_of(root: Tree) -> Tree:
    return root.find("saml:Assertion", NS)


def sign(
    element: Tree,
    keys: Any,
    *,
    method: Any = xmlsec.Transform.RSA_SHA256,
    digest: Any = xmlsec.Transform.SHA256,
    c14n: Any = xmlsec.Transform.EXCL_C14N,
    transforms: Sequence[Any] = (xmlsec.Transform.ENVELOPED, xmlsec.Transform.EXCL_C14N),
    uris: Sequence[str] | None = None,
    prefixes: str = "",
    tail: str | None = None,
    certificate: str | None = None,
) -> Tree:
    """Sign an element in its place as a provider does; every choice of the signature can be made a wrong one."""
    xmlsec.tree.add_ids(element.getroottree().getroot(), ["ID"])
    signature = xmlsec.template.create(element, c14n, method, ns="ds")
    element.insert(0 if element.find("saml:Issuer", NS) is None else 1, signature)
    signature.tail = tail
    for uri in uris if uris is not None else [f"#{element.get('ID')}"]:
        reference = xmlsec.template.add_reference(signature, digest, uri=uri)
        for transform in transforms:
            node = xmlsec.template.add_transform(reference, transform)
            if prefixes and transform == xmlsec.Transform.EXCL_C14N:
                etree.SubElement(
                    node, "{http://www.w3.org/2001/10/xml-exc-c14n#}InclusiveNamespaces", PrefixList=prefixes
                )
    context = xmlsec.SignatureContext()
    if isinstance(keys, Keypair):
        keys = xmlsec.Key.from_memory(keys.private_key, xmlsec.KeyFormat.PEM, None)
    context.key = keys
    context.sign(signature)
    if certificate is not None:
        data = _add(_add(signature, "ds:KeyInfo"), "ds:X509Data")
        _add(data, "ds:X509Certificate", "".join(certificate.strip().splitlines()[1:-1]))
    return signature


def encode(document: Tree | bytes | str) -> str:
    """As the form field SAMLResponse bears it."""
    if isinstance(document, str):
        document = document.encode()
    elif not isinstance(document, bytes):
        document = etree.tostring(document)
    return base64.b64encode(document).decode()


def decode(saml_response: str) -> Tree:
    return etree.fromstring(base64.b64decode(saml_response))


def reparsed(root: Tree) -> Tree:
    """lxml does not find by name the elements that xmlsec has put into its tree."""
    return etree.fromstring(etree.tostring(root))


def true_response(keys: Keypair, claims: Claims | None = None) -> Tree:
    """A response with a signed assertion."""
    root = build(claims or Claims())
    sign(assertion_of(root), keys)
    return reparsed(root)
