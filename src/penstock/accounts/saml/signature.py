"""Whether an element was signed by a provider, and the element as it was signed.

python3-saml (on xmlsec) does the cryptography; around it stand an allow-list of what a signature may say, and a
digest of our own. Everything later reads the element returned here, which is parsed anew from the very bytes whose
digest was signed: whatever a wrapping attack moves about in the document, it cannot come out of this module.
"""

import base64
import binascii
import hashlib
from copy import deepcopy

from msgspec import Struct
from onelogin.saml2.utils import OneLogin_Saml2_Utils

from .errors import SamlError
from .parsing import ASSERTION, PROTOCOL, SIGNATURE, Element, attributes, canonical, children, only, parse, text_of

_EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
_ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
_INCLUSIVE_NAMESPACES = f"{{{_EXCLUSIVE}}}InclusiveNamespaces"
_SIGNATURE_METHODS = {
    f"http://www.w3.org/2001/04/xmldsig-more#{kind}-{digest}"
    for kind in ("rsa", "ecdsa")
    for digest in ("sha256", "sha384", "sha512")
}
_DIGESTS = {
    "http://www.w3.org/2001/04/xmlenc#sha256": "sha256",
    "http://www.w3.org/2001/04/xmldsig-more#sha384": "sha384",
    "http://www.w3.org/2001/04/xmlenc#sha512": "sha512",
}
_PLACES = {
    PROTOCOL + "Response": OneLogin_Saml2_Utils.RESPONSE_SIGNATURE_XPATH,
    ASSERTION + "Assertion": OneLogin_Saml2_Utils.ASSERTION_SIGNATURE_XPATH,
}
MAX_PREFIXES = 32
"""Each is looked up at every element; providers include one or two."""
_MISMATCH = "The signature does not match the document and the identity provider's registered certificate."


class _Reference(Struct, frozen=True):
    """What a signature says about the element that it signs."""

    digest: str
    digest_value: bytes
    prefixes: list[str]


def as_signed(response: Element, tag: str, certificates: tuple[str, ...], *, max_size: int) -> Element | None:
    """The response itself or its assertion, read from its signed bytes; None when it bears no signature of its own."""
    # A copy, because KeyInfo is taken out: xmlsec then has no key but ours, and no address to fetch one from.
    root = deepcopy(response)
    element = root if root.tag == tag else only(root, tag)
    if not children(element, SIGNATURE + "Signature"):
        return None
    signature = only(element, SIGNATURE + "Signature")
    reference = _read_reference(element, signature)
    for key_info in children(signature, SIGNATURE + "KeyInfo"):
        signature.remove(key_info)
    # False on any failure: this function of python3-saml swallows what xmlsec raises.
    if not OneLogin_Saml2_Utils.validate_sign(root, xpath=_PLACES[tag], multicerts=list(certificates)):
        raise SamlError(_MISMATCH)
    _cut(element, signature)
    signed = canonical(element, reference.prefixes)
    if hashlib.new(reference.digest, signed).digest() != reference.digest_value:
        raise SamlError(_MISMATCH)
    return parse(signed, max_size=max_size)


def _read_reference(element: Element, signature: Element) -> _Reference:
    """Refuse every signature but the one form that SAML prescribes.

    What is not listed here has been an attack: XSLT and XPath transforms run code or choose other nodes, an empty or
    foreign URI signs something else, Object hides the original, HMAC takes the public certificate for a secret.
    """
    info, _value, *rest = _parts(signature, "SignedInfo", "SignatureValue", more=True)
    if [part.tag for part in rest] not in ([], [SIGNATURE + "KeyInfo"]):
        raise SamlError("The signature holds more than its info, its value and its key.")
    c14n, method, reference = _parts(info, "CanonicalizationMethod", "SignatureMethod", "Reference")
    _prefixes(c14n)
    if _algorithm(method) not in _SIGNATURE_METHODS or len(method):
        raise SamlError("The signature's algorithm is not accepted: RSA or ECDSA with SHA-256 or better is needed.")
    element_id = element.get("ID")
    if not element_id or reference.get("URI") != f"#{element_id}" or not attributes(reference) <= {"URI", "Id", "Type"}:
        raise SamlError("The signature does not refer to the element that it stands in.")
    transforms, digest, value = _parts(reference, "Transforms", "DigestMethod", "DigestValue")
    enveloped, exclusive = _parts(transforms, "Transform", "Transform")
    if _algorithm(enveloped) != _ENVELOPED or len(enveloped):
        raise SamlError("The signature has a transform that is not accepted.")
    name = _DIGESTS.get(_algorithm(digest))
    if name is None or len(digest):
        raise SamlError("The signature's digest is not accepted: SHA-256 or better is needed.")
    try:
        digest_value = base64.b64decode("".join(text_of(value).split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise SamlError("The signature's digest is not base64.") from error
    return _Reference(name, digest_value, _prefixes(exclusive))


def _parts(element: Element, *names: str, more: bool = False) -> list[Element]:
    found = list(element)
    tags = [part.tag for part in found[: len(names)]]
    if tags != [SIGNATURE + name for name in names] or (len(found) > len(names) and not more):
        raise SamlError("The signature is not formed as SAML prescribes.")
    return found


def _algorithm(element: Element) -> str:
    if attributes(element) != {"Algorithm"}:
        raise SamlError("The signature is not formed as SAML prescribes.")
    return element.get("Algorithm") or ""


def _prefixes(method: Element) -> list[str]:
    """The inclusive namespaces of an exclusive canonicalization, the only kind accepted."""
    if _algorithm(method) != _EXCLUSIVE:
        raise SamlError("The signature's canonicalization is not accepted: exclusive XML canonicalization is needed.")
    if not len(method):
        return []
    if [child.tag for child in method] != [_INCLUSIVE_NAMESPACES]:
        raise SamlError("The signature has a transform that is not accepted.")
    prefixes = (next(iter(method)).get("PrefixList") or "").split()
    if len(prefixes) > MAX_PREFIXES:
        raise SamlError(f"The signature includes more than {MAX_PREFIXES} namespaces.")
    return prefixes


def _cut(element: Element, signature: Element) -> None:
    """Take the signature out as the enveloped-signature transform does: the text behind it stays."""
    tail = signature.tail or ""
    position = list(element).index(signature)
    if position:
        before = list(element)[position - 1]
        before.tail = (before.tail or "") + tail
    else:
        element.text = (element.text or "") + tail
    signature.tail = None
    element.remove(signature)
