"""Opening an assertion that was encrypted to our certificate. Whether to believe it is left to `signature`."""

from copy import deepcopy

import xmlsec
from lxml import etree  # type: ignore[import-untyped]
from onelogin.saml2.utils import OneLogin_Saml2_Utils

from .errors import SamlError
from .metadata import ServiceProvider
from .parsing import (
    ASSERTION,
    ENCRYPTION,
    SIGNATURE,
    Element,
    children,
    only,
    optional,
    parse,
    serialized,
)

_XMLENC11 = "http://www.w3.org/2009/xmlenc11#"
_KEY_TRANSPORTS = {ENCRYPTION[1:-1] + "rsa-oaep-mgf1p", _XMLENC11 + "rsa-oaep"}
_AUTHENTICATED = {f"{_XMLENC11}aes{bits}-gcm" for bits in (128, 192, 256)}
_UNAUTHENTICATED = {f"{ENCRYPTION[1:-1]}aes{bits}-cbc" for bits in (128, 192, 256)}
_FAILED = "The encrypted assertion cannot be opened with this service's key."


def opened(response: Element, sp: ServiceProvider, *, signed: bool, max_size: int) -> Element:
    """The response with its EncryptedAssertion replaced by the assertion inside, parsed anew.

    `signed`: the ciphertext is covered by a signature that was verified. Only then may it be AES-CBC, with which an
    attacker who can vary the ciphertext reads the assertion byte by byte from our errors (a padding oracle).
    RSA 1.5 key transport falls to the same kind of attack and is refused always.
    """
    response = deepcopy(response)
    envelope = only(response, ASSERTION + "EncryptedAssertion")
    data = only(envelope, ENCRYPTION + "EncryptedData")
    keys = list(envelope.iter(ENCRYPTION + "EncryptedKey"))
    if len(keys) != 1:
        raise SamlError("The encrypted assertion must have exactly one encrypted key.")
    _check(keys[0], _KEY_TRANSPORTS)
    _check(data, _AUTHENTICATED | _UNAUTHENTICATED if signed else _AUTHENTICATED)
    _attach(data, keys[0])
    try:
        OneLogin_Saml2_Utils.decrypt_element(data, sp.keypair.private_key, inplace=True)
    except (xmlsec.Error, etree.LxmlError) as error:
        raise SamlError(_FAILED) from error
    inside = list(envelope)
    if len(inside) != 1 or inside[0].tag != ASSERTION + "Assertion":
        raise SamlError(_FAILED)
    response.replace(envelope, inside[0])
    # What came out was parsed by xmlsec with options that are not ours.
    return parse(serialized(response), max_size=max_size)


def _check(encrypted: Element, algorithms: set[str]) -> None:
    """The accepted algorithms only, and the ciphertext in place: a CipherReference would make us fetch an address."""
    method = only(encrypted, ENCRYPTION + "EncryptionMethod")
    if method.get("Algorithm") not in algorithms:
        raise SamlError(
            "The encryption of the assertion is not accepted: RSA-OAEP and AES-GCM are needed"
            " (AES-CBC only when the response is signed)."
        )
    cipher = only(encrypted, ENCRYPTION + "CipherData")
    if [child.tag for child in cipher] != [ENCRYPTION + "CipherValue"]:
        raise SamlError("The encrypted assertion does not contain its ciphertext.")


def _attach(data: Element, key: Element) -> None:
    """Leave one KeyInfo with nothing but the encrypted key: no name, no certificate, no address to fetch a key from."""
    inner = optional(key, SIGNATURE + "KeyInfo")
    if inner is not None:
        key.remove(inner)
    parent = key.getparent()
    if parent is not None:
        parent.remove(key)
    for info in children(data, SIGNATURE + "KeyInfo"):
        data.remove(info)
    info = etree.Element(SIGNATURE + "KeyInfo")
    info.append(key)
    only(data, ENCRYPTION + "EncryptionMethod").addnext(info)
