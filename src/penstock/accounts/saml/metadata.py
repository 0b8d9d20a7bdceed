"""Who the two sides are: an identity provider as its metadata describes it, and ourselves as we describe us to it.

A signature on metadata is not looked at: the operator who registers the document vouches for it.
"""

import base64
import binascii
from urllib.parse import urlsplit

from lxml import etree  # type: ignore[import-untyped]
from msgspec import Struct

from .errors import SamlError
from .keys import Keypair, provider_certificate
from .parsing import METADATA, SIGNATURE, Element, children, parse, text_of

MAX_METADATA = 1024 * 1024
MAX_CERTIFICATES = 16
"""Every certificate costs a try at each sign-in; a rotation needs two."""
PROTOCOL_SUPPORT = "urn:oasis:names:tc:SAML:2.0:protocol"
REDIRECT = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
POST = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST"
EMAIL_FORMAT = "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"


class IdentityProvider(Struct, frozen=True):
    """A registered identity provider: what its metadata (`xml`) says that matters to us."""

    entity_id: str
    sso_url: str
    certificates: tuple[str, ...]
    """PEM. Several while the provider rotates its key; a response may be signed by any of them."""
    xml: str


class ServiceProvider(Struct, frozen=True):
    """Ourselves: the name that assertions must be addressed to, and where they must be posted.

    Both must come from the configuration. Taken from a request's Host header, they would let an attacker who runs
    another service at the same provider play here, under that service's name, the assertions that were made for it.
    """

    entity_id: str
    acs_url: str
    keypair: Keypair


def read_metadata(xml: str | bytes) -> IdentityProvider:
    # Half a surrogate pair has no encoding; `parse` then says that the document is not UTF-8.
    data = xml.encode("utf-8", "surrogatepass") if isinstance(xml, str) else xml
    root = parse(data, max_size=MAX_METADATA, comments=True)
    entity, descriptor = _the_provider(root)
    return IdentityProvider(
        entity_id=_entity_id(entity),
        sso_url=_sso_url(descriptor),
        certificates=_signing_certificates(descriptor),
        xml=data.decode("utf-8-sig"),
    )


def _the_provider(root: Element) -> tuple[Element, Element]:
    if root.tag not in {METADATA + "EntityDescriptor", METADATA + "EntitiesDescriptor"}:
        raise SamlError("The document is not SAML metadata: its root is not an EntityDescriptor.")
    found = [
        (entity, descriptor)
        for entity in root.iter(METADATA + "EntityDescriptor")
        for descriptor in children(entity, METADATA + "IDPSSODescriptor")
        if PROTOCOL_SUPPORT in (descriptor.get("protocolSupportEnumeration") or "").split()
    ]
    if not found:
        raise SamlError("The metadata describes no SAML 2.0 identity provider.")
    if len(found) > 1:
        raise SamlError(
            f"The metadata describes {len(found)} identity providers; register each with a document of its own."
        )
    return found[0]


def _entity_id(entity: Element) -> str:
    entity_id = entity.get("entityID") or ""
    if not 0 < len(entity_id) <= 1024 or entity_id != entity_id.strip() or not entity_id.isprintable():
        raise SamlError("The metadata has no usable entityID.")
    return entity_id


def _sso_url(descriptor: Element) -> str:
    services = children(descriptor, METADATA + "SingleSignOnService")
    for service in services:
        if service.get("Binding") == REDIRECT:
            return _web_address(service.get("Location") or "")
    if any(service.get("Binding") == POST for service in services):
        raise SamlError(
            "The identity provider takes sign-in requests by HTTP-POST only; enable its HTTP-Redirect binding."
        )
    raise SamlError("The metadata has no sign-in address with the HTTP-Redirect binding.")


def _web_address(url: str) -> str:
    """Browsers will be sent there: `javascript:` and the like must not pass."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.fragment
    except ValueError:
        usable = False
    if not usable or not url.isascii() or not url.isprintable() or " " in url:
        raise SamlError("The sign-in address in the metadata is not a web address.")
    return url


def _signing_certificates(descriptor: Element) -> tuple[str, ...]:
    """A KeyDescriptor without `use` serves both purposes; one for encryption never signs."""
    found: dict[str, None] = {}
    for key in children(descriptor, METADATA + "KeyDescriptor"):
        if key.get("use") in {None, "signing"}:
            for node in key.iter(SIGNATURE + "X509Certificate"):
                found[provider_certificate(_decode("".join(text_of(node).split())))] = None
    if not found:
        raise SamlError("The metadata has no signing certificate.")
    if len(found) > MAX_CERTIFICATES:
        raise SamlError(f"The metadata has more than {MAX_CERTIFICATES} signing certificates.")
    return tuple(found)


def _decode(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise SamlError("A signing certificate in the metadata is not base64.") from error


def service_provider_metadata(sp: ServiceProvider) -> str:
    """What an identity provider's administrator imports.

    No key for encryption is announced: assertions already travel under TLS, and providers that see one encrypt
    by themselves, some with ciphers that `encryption` refuses.
    """
    root = etree.Element(
        METADATA + "EntityDescriptor",
        entityID=sp.entity_id,
        nsmap={"md": METADATA[1:-1], "ds": SIGNATURE[1:-1]},
    )
    descriptor = etree.SubElement(
        root,
        METADATA + "SPSSODescriptor",
        AuthnRequestsSigned="true",
        WantAssertionsSigned="true",
        protocolSupportEnumeration=PROTOCOL_SUPPORT,
    )
    key = etree.SubElement(descriptor, METADATA + "KeyDescriptor", use="signing")
    info = etree.SubElement(key, SIGNATURE + "KeyInfo")
    data = etree.SubElement(info, SIGNATURE + "X509Data")
    lines = sp.keypair.certificate.strip().splitlines()
    etree.SubElement(data, SIGNATURE + "X509Certificate").text = "".join(lines[1:-1])
    etree.SubElement(descriptor, METADATA + "NameIDFormat").text = EMAIL_FORMAT
    etree.SubElement(
        descriptor,
        METADATA + "AssertionConsumerService",
        Binding=POST,
        Location=sp.acs_url,
        index="0",
        isDefault="true",
    )
    xml: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return xml.decode()
