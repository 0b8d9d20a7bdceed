"""Sending a browser to its identity provider with a signed request. Remembering the request is left to the caller."""

import base64
import secrets
import time
import zlib
from datetime import UTC, datetime
from urllib.parse import quote_plus

from lxml import etree  # type: ignore[import-untyped]

from .keys import sign
from .metadata import POST, IdentityProvider, ServiceProvider
from .parsing import ASSERTION, PROTOCOL

RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
MAX_RELAY_STATE = 80
"""SAML's bindings allow providers to drop what is longer."""


def begin(sp: ServiceProvider, idp: IdentityProvider, *, relay_state: str, now: float | None = None) -> tuple[str, str]:
    """Where to send the browser, and the id that the answer must name (`verify`'s `expected_request_id`).

    `relay_state` comes back with the answer, unsigned: make it a random handle, never an address to go to.
    """
    if len(relay_state.encode()) > MAX_RELAY_STATE:
        raise ValueError(f"relay_state is longer than {MAX_RELAY_STATE} bytes")
    request_id = "_" + secrets.token_hex(20)
    xml = _authn_request(sp, idp, request_id, time.time() if now is None else now)
    parameters = [("SAMLRequest", base64.b64encode(_deflate(xml)).decode())]
    if relay_state:
        parameters.append(("RelayState", relay_state))
    parameters.append(("SigAlg", RSA_SHA256))
    # The signature covers the query exactly as it is sent, so it is encoded once, here.
    query = "&".join(f"{name}={quote_plus(value)}" for name, value in parameters)
    signature = base64.b64encode(sign(sp.keypair, query.encode())).decode()
    joint = "&" if "?" in idp.sso_url else "?"
    return f"{idp.sso_url}{joint}{query}&Signature={quote_plus(signature)}", request_id


def _authn_request(sp: ServiceProvider, idp: IdentityProvider, request_id: str, now: float) -> bytes:
    root = etree.Element(
        PROTOCOL + "AuthnRequest",
        ID=request_id,
        Version="2.0",
        IssueInstant=datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        Destination=idp.sso_url,
        AssertionConsumerServiceURL=sp.acs_url,
        ProtocolBinding=POST,
        nsmap={"samlp": PROTOCOL[1:-1], "saml": ASSERTION[1:-1]},
    )
    etree.SubElement(root, ASSERTION + "Issuer").text = sp.entity_id
    # No Format: many providers answer an error to one that they were not set up for; our metadata asks for email.
    etree.SubElement(root, PROTOCOL + "NameIDPolicy", AllowCreate="true")
    xml: bytes = etree.tostring(root)
    return xml


def _deflate(data: bytes) -> bytes:
    """Raw DEFLATE (RFC 1951), as the Redirect binding wants it."""
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(data) + compressor.flush()
