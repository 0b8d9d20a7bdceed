"""The provider's answer: `peek` finds out whose it claims to be, `verify` whether it is.

python3-saml gives the schemas, the signature check and the decryption. Its response class is not used: it takes
`Destination` and `Recipient` by prefix and part, an absent audience, `InResponseTo` or `NotOnOrAfter` for a good one,
reads the first of several addresses, and has a clock that cannot be set. Accepting an assertion only once, and a
request only from whom it was sent to, is left to the caller.
"""

import base64
import binascii
import re
import time

from msgspec import Struct
from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

from .conditions import answers, check_conditions, check_confirmation, check_session
from .encryption import opened
from .errors import SamlError
from .identity import attributes_of, email_of
from .metadata import IdentityProvider, ServiceProvider
from .parsing import (
    ASSERTION,
    PROTOCOL,
    SIGNATURE,
    Element,
    children,
    only,
    optional,
    parse,
    refuse_ambiguous_ids,
    text_of,
)
from .signature import as_signed

MAX_RESPONSE = 256 * 1024
_SUCCESS = "urn:oasis:names:tc:SAML:2.0:status:Success"
_STATUS = re.compile(r"urn:oasis:names:tc:SAML:2\.0:status:([A-Za-z]{1,40})")


class Assertion(Struct, frozen=True):
    """What a registered provider said, verified. Whether it may speak for the email: `speaks_for`."""

    issuer: str
    assertion_id: str
    """Accept it once: remember (issuer, assertion_id) until `not_on_or_after`."""
    in_response_to: str | None
    name_id: str
    name_id_format: str | None
    """A `transient` name is another one at each sign-in: not a key to find an account by."""
    email: str
    attributes: dict[str, list[str]]
    not_on_or_after: int
    """Unix seconds; from then on `verify` refuses the assertion by itself."""
    session_index: str | None
    session_not_on_or_after: int | None
    """Unix seconds at which the provider wants our session to end, if it said so."""


def peek(saml_response: str) -> tuple[str, str | None]:
    """The issuer and the request that a response CLAIMS. Untrusted: only to look up what `verify` needs."""
    root = _read(saml_response)
    issuer = optional(root, ASSERTION + "Issuer")
    if issuer is None:
        assertion = optional(root, ASSERTION + "Assertion")
        if assertion is None:
            raise SamlError("The response does not name its issuer.")
        issuer = only(assertion, ASSERTION + "Issuer")
    return text_of(issuer), root.get("InResponseTo")


def verify(
    sp: ServiceProvider,
    idp: IdentityProvider,
    saml_response: str,
    *,
    expected_request_id: str | None,
    now: float | None = None,
) -> Assertion:
    """The assertion in a response, if everything about it is right; else SamlError.

    `expected_request_id` is the id that `begin` returned, None for a sign-in that began at the provider.
    """
    now = time.time() if now is None else now
    document = _read(saml_response)
    _check_status(document)
    _check_structure(document)
    response = as_signed(document, PROTOCOL + "Response", idp.certificates, max_size=MAX_RESPONSE)
    signed = response is not None
    envelope = document if response is None else response
    _check_envelope(envelope, sp, idp, expected_request_id, signed=signed)
    if children(document, ASSERTION + "EncryptedAssertion"):
        document = envelope = opened(envelope, sp, signed=signed, max_size=MAX_RESPONSE)
        _check_structure(document)
    assertion = as_signed(document, ASSERTION + "Assertion", idp.certificates, max_size=MAX_RESPONSE)
    if assertion is None:
        if not signed:
            raise SamlError("Neither the response nor its assertion is signed.")
        assertion = only(envelope, ASSERTION + "Assertion")
    return _read_assertion(assertion, sp, idp, expected_request_id, now)


def _read(saml_response: str) -> Element:
    if len(saml_response) > MAX_RESPONSE * 3 // 2:
        raise SamlError(f"The response is larger than {MAX_RESPONSE // 1024} KiB.")
    try:
        # Some providers break the lines; anything else that is not base64 is refused, not skipped.
        data = base64.b64decode(saml_response.replace("\r", "").replace("\n", ""), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SamlError("The response is not base64.") from error
    root = parse(data, max_size=MAX_RESPONSE)
    if root.tag != PROTOCOL + "Response" or root.get("Version") != "2.0":
        raise SamlError("The document is not a SAML 2.0 response.")
    return root


def _check_status(root: Element) -> None:
    code = only(only(root, PROTOCOL + "Status"), PROTOCOL + "StatusCode")
    if code.get("Value") == _SUCCESS:
        return
    # Only names of the standard's own form are repeated: nothing here is signed, and a person will read it.
    known = [
        match[1] for node in code.iter(PROTOCOL + "StatusCode") if (match := _STATUS.fullmatch(node.get("Value") or ""))
    ]
    raise SamlError(f"The identity provider refused the sign-in: {', '.join(known[:2]) or 'unknown status'}.")


def _check_structure(root: Element) -> None:
    """One assertion in its place, signatures only where they belong: all that wrapping attacks need is refused here.

    Names count in any namespace, so that nothing that another reader might take for an assertion goes along.
    """
    refuse_ambiguous_ids(root)
    named: dict[str, list[Element]] = {"Assertion": [], "EncryptedAssertion": [], "Response": [], "Signature": []}
    for element in root.iter("*"):
        named.get(element.tag.rpartition("}")[2], []).append(element)
    assertions = named["Assertion"] + named["EncryptedAssertion"]
    if len(assertions) != 1:
        raise SamlError(f"The response must have exactly one assertion; it has {len(assertions)}.")
    if assertions[0] not in [
        *children(root, ASSERTION + "Assertion"),
        *children(root, ASSERTION + "EncryptedAssertion"),
    ]:
        raise SamlError("The assertion is not where it belongs in the response.")
    if named["Response"] != [root]:
        raise SamlError("The response has another response inside.")
    signed = [signature.getparent() for signature in named["Signature"] if signature.tag == SIGNATURE + "Signature"]
    if len(signed) != len(named["Signature"]) or any(parent not in (root, assertions[0]) for parent in signed):
        raise SamlError("The response has a signature where none belongs.")
    if OneLogin_Saml2_XML.validate_xml(root, "saml-schema-protocol-2.0.xsd") is not root:
        raise SamlError("The response does not follow the SAML schema.")


def _check_envelope(
    response: Element, sp: ServiceProvider, idp: IdentityProvider, request_id: str | None, *, signed: bool
) -> None:
    issuer = optional(response, ASSERTION + "Issuer")
    if issuer is None and (signed or children(response, ASSERTION + "EncryptedAssertion")):
        raise SamlError("The response does not name its issuer.")
    if issuer is not None and text_of(issuer) != idp.entity_id:
        raise SamlError("The response is of another identity provider.")
    destination = response.get("Destination")
    if destination != sp.acs_url and (signed or destination is not None):
        raise SamlError("The response was sent to another address.")
    if (problem := answers(response, request_id)) is not None:
        raise problem


def _read_assertion(
    assertion: Element, sp: ServiceProvider, idp: IdentityProvider, request_id: str | None, now: float
) -> Assertion:
    if assertion.get("Version") != "2.0" or text_of(only(assertion, ASSERTION + "Issuer")) != idp.entity_id:
        raise SamlError("The assertion is of another identity provider.")
    check_conditions(assertion, sp, now)
    subject = only(assertion, ASSERTION + "Subject")
    not_on_or_after = check_confirmation(subject, sp, request_id, now)
    session_index, session_not_on_or_after = check_session(assertion, now)
    name = only(subject, ASSERTION + "NameID")
    name_id, name_id_format = text_of(name), name.get("Format")
    if not name_id:
        raise SamlError("The assertion does not name its subject.")
    attributes = attributes_of(assertion)
    return Assertion(
        issuer=idp.entity_id,
        assertion_id=assertion.get("ID") or "",
        in_response_to=request_id,
        name_id=name_id,
        name_id_format=name_id_format,
        email=email_of(name_id, name_id_format, attributes),
        attributes=attributes,
        not_on_or_after=not_on_or_after,
        session_index=session_index,
        session_not_on_or_after=session_not_on_or_after,
    )
