"""Assertions encrypted to our certificate: the same checks inside, and nothing that leaks or fetches."""

from typing import Any

import pytest

from penstock.accounts.saml import Keypair, SamlError, ServiceProvider

from . import forge, wrapping
from .conftest import Verify
from .forge import NS, Claims, assertion_of, build, etree, sign, xmlsec

T = xmlsec.Transform
XENC = "http://www.w3.org/2001/04/xmlenc#"


def encrypted(
    root: forge.Tree, sp: ServiceProvider, *, cipher: Any = T.AES256_GCM, transport: Any = T.RSA_OAEP
) -> forge.Tree:
    """The response with its assertion under our public key."""
    root = forge.reparsed(root)
    envelope = etree.Element(f"{{{NS['saml']}}}EncryptedAssertion")
    assertion = assertion_of(root)
    # With the namespaces of the elements around it, as providers do: the fragment must stand alone.
    plain = etree.tostring(assertion, with_tail=False)
    root.replace(assertion, envelope)
    template = xmlsec.template.encrypted_data_create(envelope, cipher, type=xmlsec.EncryptionType.ELEMENT, ns="xenc")
    xmlsec.template.encrypted_data_ensure_cipher_value(template)
    info = xmlsec.template.encrypted_data_ensure_key_info(template, ns="ds")
    key = xmlsec.template.add_encrypted_key(info, transport)
    xmlsec.template.encrypted_data_ensure_cipher_value(key)
    manager = xmlsec.KeysManager()
    manager.add_key(xmlsec.Key.from_memory(sp.keypair.certificate, xmlsec.KeyFormat.CERT_PEM, None))
    context = xmlsec.EncryptionContext(manager)
    context.key = xmlsec.Key.generate(xmlsec.KeyData.AES, 256, xmlsec.KeyDataType.SESSION)
    envelope.append(context.encrypt_binary(template, plain))
    return forge.reparsed(root)


def test_a_signed_assertion_is_verified_after_it_was_opened(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(forge.true_response(keys), sp)
    assert root.find("saml:Assertion", NS) is None
    assert check(root).email == "ann@example.org"


@pytest.mark.parametrize("cipher", [T.AES256_GCM, T.AES256])
def test_a_signed_response_covers_the_ciphertext(
    check: Verify, keys: Keypair, sp: ServiceProvider, cipher: Any
) -> None:
    root = encrypted(build(Claims()), sp, cipher=cipher)
    sign(root, keys)
    assert check(root).email == "ann@example.org"


def test_anybody_can_encrypt_so_an_unsigned_assertion_is_refused(check: Verify, sp: ServiceProvider) -> None:
    with pytest.raises(SamlError, match="Neither the response nor its assertion is signed"):
        check(encrypted(build(Claims()), sp))


def test_a_foreign_signature_inside_is_refused(check: Verify, foreign_keys: Keypair, sp: ServiceProvider) -> None:
    with pytest.raises(SamlError, match="signature does not match"):
        check(encrypted(forge.true_response(foreign_keys), sp))


def test_the_checks_inside_are_the_same(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    with pytest.raises(SamlError, match="for another service"):
        check(encrypted(forge.true_response(keys, Claims(audiences=[["https://other.example"]])), sp))


def test_an_assertion_for_another_key_cannot_be_opened(check: Verify, keys: Keypair, foreign_keys: Keypair) -> None:
    with pytest.raises(SamlError, match="cannot be opened"):
        check(encrypted(forge.true_response(keys), forge.service(foreign_keys)))


def test_a_changed_ciphertext_cannot_be_opened(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(forge.true_response(keys), sp)
    value = root.findall(f".//{{{XENC}}}CipherValue")[-1]
    middle = len(value.text) // 2
    value.text = value.text[:middle] + ("A" if value.text[middle] != "A" else "B") + value.text[middle + 1 :]
    with pytest.raises(SamlError, match="cannot be opened"):
        check(root)


@pytest.mark.parametrize("choice", [{"cipher": T.AES256}, {"transport": T.RSA_PKCS1}])
def test_what_an_oracle_could_open_is_refused(
    check: Verify, keys: Keypair, sp: ServiceProvider, choice: dict[str, Any]
) -> None:
    with pytest.raises(SamlError, match="encryption of the assertion is not accepted"):
        check(encrypted(forge.true_response(keys), sp, **choice))


def test_rsa_1_5_is_refused_though_the_response_is_signed(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(build(Claims()), sp, transport=T.RSA_PKCS1)
    sign(root, keys)
    with pytest.raises(SamlError, match="encryption of the assertion is not accepted"):
        check(root)


def test_a_ciphertext_at_another_address_is_not_fetched(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(forge.true_response(keys), sp)
    for data in root.findall(f".//{{{XENC}}}CipherData"):
        data.clear()
        etree.SubElement(data, f"{{{XENC}}}CipherReference", URI="http://127.0.0.1:9/")
    with pytest.raises(SamlError, match="does not contain its ciphertext"):
        check(root)


def test_a_key_beside_the_data_is_found(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(forge.true_response(keys), sp)
    envelope = root.find("saml:EncryptedAssertion", NS)
    key = root.find(f".//{{{XENC}}}EncryptedKey")
    info = key.getparent()
    envelope.append(key)
    key.set("Id", "_key")
    etree.SubElement(info, f"{{{NS['ds']}}}RetrievalMethod", Type=f"{XENC}EncryptedKey", URI="#_key")
    assert check(root).email == "ann@example.org"


def test_a_key_at_another_address_is_not_fetched(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(forge.true_response(keys), sp)
    key = root.find(f".//{{{XENC}}}EncryptedKey")
    info = key.getparent()
    info.remove(key)
    etree.SubElement(info, f"{{{NS['ds']}}}RetrievalMethod", URI="http://127.0.0.1:9/")
    with pytest.raises(SamlError, match="exactly one encrypted key"):
        check(root)


def test_two_encrypted_assertions_are_refused(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = encrypted(forge.true_response(keys), sp)
    root.append(encrypted(forge.true_response(keys), sp).find("saml:EncryptedAssertion", NS))
    with pytest.raises(SamlError, match="exactly one assertion; it has 2"):
        check(root)


@pytest.mark.parametrize("name", ["XSW4", "XSW6", "XSW8"])
def test_a_wrapping_inside_the_ciphertext_is_refused(
    check: Verify, keys: Keypair, sp: ServiceProvider, name: str
) -> None:
    wrapped = wrapping.OF_AN_ASSERTION[name](forge.true_response(keys), "_evil")
    with pytest.raises(SamlError, match=r"exactly one assertion; it has 2"):
        check(encrypted(wrapped, sp))


def test_a_comment_inside_the_ciphertext_is_refused(check: Verify, keys: Keypair, sp: ServiceProvider) -> None:
    root = forge.true_response(keys, Claims(name_id="admin@example.org.evil.example"))
    name = root.find(".//saml:NameID", NS)
    name.text = "admin@example.org"
    comment = etree.Comment("x")
    comment.tail = ".evil.example"
    name.append(comment)
    with pytest.raises(SamlError, match="comment"):
        check(encrypted(root, sp))
