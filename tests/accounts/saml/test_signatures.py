"""What a signature may say, and by whom it may be made."""

import base64
import hashlib
from typing import Any

import pytest
from onelogin.saml2.utils import OneLogin_Saml2_Utils

from penstock.accounts.saml import Keypair, SamlError

from . import forge
from .conftest import Verify
from .forge import NS, Claims, assertion_of, build, etree, sign, xmlsec

T = xmlsec.Transform


def signed_so(keys: Any, **choices: Any) -> forge.Tree:
    root = build(Claims())
    sign(assertion_of(root), keys, **choices)
    return forge.reparsed(root)


def part(root: forge.Tree, name: str) -> forge.Tree:
    return root.find(f".//ds:{name}", NS)


@pytest.mark.parametrize("method", [T.RSA_SHA256, T.RSA_SHA384, T.RSA_SHA512])
@pytest.mark.parametrize("digest", [T.SHA256, T.SHA384, T.SHA512])
def test_rsa_with_sha2_is_accepted(check: Verify, keys: Keypair, method: Any, digest: Any) -> None:
    assert check(signed_so(keys, method=method, digest=digest)).email == "ann@example.org"


@pytest.mark.parametrize("method", [T.ECDSA_SHA256, T.ECDSA_SHA384, T.ECDSA_SHA512])
def test_ecdsa_with_sha2_is_accepted(check: Verify, method: Any) -> None:
    pair = forge.make_keys("ec")
    assert check(signed_so(pair, method=method), idp=forge.provider(pair)).email == "ann@example.org"


def test_a_signature_of_the_response_alone_covers_its_assertion(check: Verify, keys: Keypair) -> None:
    root = build(Claims())
    sign(root, keys)
    assert check(root).email == "ann@example.org"


def test_namespaces_that_a_signature_includes_from_around_the_assertion_count(check: Verify, keys: Keypair) -> None:
    assert check(signed_so(keys, prefixes="xs")).email == "ann@example.org"


def test_white_space_around_the_signature_of_a_pretty_provider_is_signed_with_the_rest(
    check: Verify, keys: Keypair
) -> None:
    root = build(Claims())
    etree.indent(root)
    sign(assertion_of(root), keys, tail="\n    ")
    assert check(root).email == "ann@example.org"
    root = forge.reparsed(root)
    part(root, "Signature").tail = "\n"
    with pytest.raises(SamlError, match="signature does not match"):
        check(root)


def test_no_signature_at_all_is_refused(check: Verify) -> None:
    with pytest.raises(SamlError, match="Neither the response nor its assertion is signed"):
        check(build(Claims()))


@pytest.mark.parametrize("where", ["assertion", "response"])
def test_a_stripped_signature_is_refused(check: Verify, keys: Keypair, where: str) -> None:
    root = build(Claims())
    element = assertion_of(root) if where == "assertion" else root
    element.remove(sign(element, keys))
    with pytest.raises(SamlError, match="Neither the response nor its assertion is signed"):
        check(root)


def test_a_response_whose_own_signature_is_wrong_is_refused_though_the_assertion_is_signed(
    check: Verify, keys: Keypair, foreign_keys: Keypair
) -> None:
    root = forge.true_response(keys)
    sign(root, foreign_keys)
    with pytest.raises(SamlError, match="signature does not match"):
        check(root)


def test_an_assertion_whose_own_signature_is_wrong_is_refused_though_the_response_is_signed(
    check: Verify, keys: Keypair, foreign_keys: Keypair
) -> None:
    root = forge.true_response(foreign_keys)
    sign(root, keys)
    with pytest.raises(SamlError, match="signature does not match"):
        check(root)


def test_sha1_in_the_signature_is_refused(check: Verify, keys: Keypair) -> None:
    with pytest.raises(SamlError, match="algorithm is not accepted"):
        check(signed_so(keys, method=T.RSA_SHA1))


def test_sha1_in_the_digest_is_refused(check: Verify, keys: Keypair) -> None:
    with pytest.raises(SamlError, match="digest is not accepted"):
        check(signed_so(keys, digest=T.SHA1))


def test_a_signature_by_a_foreign_key_is_refused(check: Verify, foreign_keys: Keypair) -> None:
    with pytest.raises(SamlError, match="signature does not match"):
        check(signed_so(foreign_keys))


def test_a_certificate_that_comes_with_the_message_is_not_believed(check: Verify, foreign_keys: Keypair) -> None:
    with pytest.raises(SamlError, match="signature does not match"):
        check(signed_so(foreign_keys, certificate=foreign_keys.certificate))


def test_a_certificate_that_comes_with_the_message_is_not_even_read(
    check: Verify, keys: Keypair, foreign_keys: Keypair
) -> None:
    assert check(signed_so(keys, certificate=foreign_keys.certificate)).email == "ann@example.org"


def test_xmlsec_never_gets_to_see_the_keys_of_a_message(
    check: Verify, keys: Keypair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It could fetch a key from an address in there."""
    seen: list[forge.Tree] = []
    validate = OneLogin_Saml2_Utils.validate_sign

    def spy(root: forge.Tree, **choices: Any) -> bool:
        seen.extend(root.iter("{*}KeyInfo"))
        return bool(validate(root, **choices))

    monkeypatch.setattr(OneLogin_Saml2_Utils, "validate_sign", spy)
    assert check(signed_so(keys, certificate=keys.certificate)).email == "ann@example.org"
    assert seen == []


def test_what_is_read_has_the_signed_digest_even_if_xmlsec_had_looked_at_another_element(
    check: Verify, keys: Keypair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OneLogin_Saml2_Utils, "validate_sign", lambda root, **choices: True)
    root = signed_so(keys)
    assert check(root).email == "ann@example.org"
    root.find(".//saml:NameID", NS).text = "admin@example.org"
    with pytest.raises(SamlError, match="signature does not match"):
        check(root)


def test_an_hmac_with_the_public_certificate_as_its_secret_is_refused(check: Verify, keys: Keypair) -> None:
    secret = xmlsec.Key.from_binary_data(xmlsec.KeyData.HMAC, keys.certificate.encode())
    with pytest.raises(SamlError, match="algorithm is not accepted"):
        check(signed_so(secret, method=T.HMAC_SHA256))


@pytest.mark.parametrize("c14n", [T.C14N, T.C14N11, T.EXCL_C14N_COMMENTS])
def test_another_canonicalization_of_the_signature_is_refused(check: Verify, keys: Keypair, c14n: Any) -> None:
    with pytest.raises(SamlError, match="canonicalization is not accepted"):
        check(signed_so(keys, c14n=c14n))


@pytest.mark.parametrize(
    "transforms",
    [
        (T.ENVELOPED,),
        (T.EXCL_C14N,),
        (T.ENVELOPED, T.C14N),
        (T.ENVELOPED, T.EXCL_C14N_COMMENTS),
        (T.ENVELOPED, T.EXCL_C14N, T.EXCL_C14N),
    ],
)
def test_other_transforms_than_saml_prescribes_are_refused(check: Verify, keys: Keypair, transforms: Any) -> None:
    with pytest.raises(SamlError, match=r"transform|canonicalization|not formed"):
        check(signed_so(keys, transforms=transforms))


def test_the_transforms_in_another_order_are_refused(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    transforms = part(root, "Transforms")
    transforms.append(transforms[0])
    with pytest.raises(SamlError, match="transform"):
        check(root)


@pytest.mark.parametrize(
    "algorithm",
    [
        "http://www.w3.org/TR/1999/REC-xslt-19991116",
        "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "http://www.w3.org/2002/06/xmldsig-filter2",
        "http://www.w3.org/2000/09/xmldsig#base64",
    ],
)
@pytest.mark.parametrize("position", [0, 1])
def test_a_transform_that_is_a_program_is_refused_before_it_runs(
    check: Verify, keys: Keypair, algorithm: str, position: int
) -> None:
    root = signed_so(keys)
    transform = part(root, "Transforms")[position]
    transform.set("Algorithm", algorithm)
    etree.SubElement(transform, "{http://www.w3.org/1999/XSL/Transform}stylesheet", version="1.0")
    with pytest.raises(SamlError, match=r"transform|canonicalization"):
        check(root)


@pytest.mark.parametrize("uri", ["", "#_response", "#xpointer(/)", "#xpointer(id('_assertion'))"])
def test_a_true_signature_over_something_else_than_its_own_element_is_refused(
    check: Verify, keys: Keypair, uri: str
) -> None:
    with pytest.raises(SamlError, match="does not refer to the element"):
        check(signed_so(keys, uris=[uri]))


def test_a_reference_without_a_uri_is_refused(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    del part(root, "Reference").attrib["URI"]
    with pytest.raises(SamlError, match="does not refer to the element"):
        check(root)


def test_a_reference_to_an_address_is_refused_and_nothing_is_fetched(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    part(root, "Reference").set("URI", "http://127.0.0.1:9/assertion.xml")
    with pytest.raises(SamlError, match="does not refer to the element"):
        check(root)


def test_two_references_are_refused(check: Verify, keys: Keypair) -> None:
    with pytest.raises(SamlError, match="not formed as SAML prescribes"):
        check(signed_so(keys, uris=["#_assertion", "#_assertion"]))


def test_a_signature_without_a_reference_is_refused(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    part(root, "SignedInfo").remove(part(root, "Reference"))
    with pytest.raises(SamlError):
        check(root)


def test_an_object_in_the_signature_is_refused(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    etree.SubElement(part(root, "Signature"), f"{{{NS['ds']}}}Object")
    with pytest.raises(SamlError, match="more than its info"):
        check(root)


def test_two_signatures_in_one_element_are_refused(check: Verify, keys: Keypair, foreign_keys: Keypair) -> None:
    root = signed_so(foreign_keys)
    sign(assertion_of(root), keys)
    with pytest.raises(SamlError):
        check(root)


def test_two_signed_infos_are_refused(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    info = part(root, "SignedInfo")
    info.addprevious(etree.fromstring(etree.tostring(info)))
    with pytest.raises(SamlError):
        check(root)


def test_two_digest_values_in_one_reference_are_refused(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    value = part(root, "DigestValue")
    assertion_of(root).find(".//saml:NameID", NS).text = "admin@example.org"
    copy = etree.fromstring(etree.tostring(value))
    copy.text = base64.b64encode(hashlib.sha256(b"anything").digest()).decode()
    value.addprevious(copy)
    with pytest.raises(SamlError):
        check(root)


def test_a_comment_in_the_digest_value_is_refused(check: Verify, keys: Keypair) -> None:
    text = etree.tostring(signed_so(keys)).decode()
    evil = base64.b64encode(hashlib.sha256(b"evil").digest()).decode()
    with pytest.raises(SamlError, match="comment"):
        check(text.replace("<ds:DigestValue>", f"<ds:DigestValue><!--{evil}-->"))


def test_a_namespace_without_canonical_form_gives_no_digest_of_nothing(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    part(root, "DigestValue").text = base64.b64encode(hashlib.sha256(b"").digest()).decode()
    text = etree.tostring(root).decode()
    with pytest.raises(SamlError):
        check(text.replace("<saml:Assertion ", '<saml:Assertion xmlns:a="1" a:b="" '))
    with pytest.raises(SamlError, match="signature does not match"):
        check(text.replace("<saml:Assertion ", '<saml:Assertion xmlns:a="1" '))


def test_an_algorithm_cut_short_to_a_bit_is_not_accepted(check: Verify, keys: Keypair) -> None:
    root = signed_so(keys)
    etree.SubElement(part(root, "SignatureMethod"), "{http://www.w3.org/2000/09/xmldsig#}HMACOutputLength").text = "1"
    with pytest.raises(SamlError, match="algorithm is not accepted"):
        check(root)


@pytest.mark.parametrize("name", ["NameID", "AttributeValue", "Audience"])
def test_a_changed_text_is_refused(check: Verify, keys: Keypair, name: str) -> None:
    root = signed_so(keys)
    root.find(f".//saml:{name}", NS).text = "admin@example.org"
    with pytest.raises(SamlError, match="signature does not match"):
        check(root)


@pytest.mark.parametrize("name", ["Recipient", "NotOnOrAfter", "InResponseTo"])
def test_a_changed_confirmation_is_refused(check: Verify, keys: Keypair, name: str) -> None:
    root = forge.true_response(keys, Claims(recipient="https://other.example/acs", confirmed_until=forge.at(-999)))
    good = {"Recipient": forge.ACS_URL, "NotOnOrAfter": forge.at(300), "InResponseTo": "_request2"}
    root.find(".//saml:SubjectConfirmationData", NS).set(name, good[name])
    with pytest.raises(SamlError, match="signature does not match"):
        check(root)


def test_a_response_of_another_registered_provider_is_refused(check: Verify, foreign_keys: Keypair) -> None:
    other = "https://other-idp.example/metadata"
    theirs = forge.true_response(foreign_keys, Claims(issuer=other, response_issuer=other))
    assert check(theirs, idp=forge.provider(foreign_keys, entity_id=other)).issuer == other
    with pytest.raises(SamlError, match="of another identity provider"):
        check(theirs)


def test_an_assertion_of_another_provider_in_a_response_of_ours_is_refused(check: Verify, keys: Keypair) -> None:
    with pytest.raises(SamlError, match="The assertion is of another identity provider"):
        check(forge.true_response(keys, Claims(issuer="https://other-idp.example/metadata")))


def test_another_provider_that_takes_the_name_of_ours_is_refused(check: Verify, foreign_keys: Keypair) -> None:
    with pytest.raises(SamlError, match="signature does not match"):
        check(forge.true_response(foreign_keys))
