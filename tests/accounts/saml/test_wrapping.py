"""Signature wrapping, refused twice over: by the structure of the response, and by what is read at all."""

from typing import Any

import pytest

from penstock.accounts.saml import Keypair, SamlError, response

from . import forge, wrapping
from .conftest import Verify
from .forge import Claims, assertion_of, build, etree, sign

ATTACKS = wrapping.OF_A_RESPONSE | wrapping.OF_AN_ASSERTION
every_attack = pytest.mark.parametrize("name", ATTACKS)
every_id = pytest.mark.parametrize("new_id", [None, "_evil"], ids=["same-id", "new-id"])
every_signature = pytest.mark.parametrize("signed", ["assertion", "response", "both"])


def wrapped(keys: Keypair, name: str, signed: str, new_id: str | None) -> forge.Tree:
    root = build(Claims())
    if signed != "response" or name in wrapping.OF_AN_ASSERTION:
        sign(assertion_of(root), keys)
    if signed != "assertion" or name in wrapping.OF_A_RESPONSE:
        sign(root, keys)
    return ATTACKS[name](forge.reparsed(root), new_id)


@every_attack
@every_id
@every_signature
def test_a_wrapped_response_is_refused(
    check: Verify, keys: Keypair, name: str, signed: str, new_id: str | None
) -> None:
    with pytest.raises(SamlError):
        check(wrapped(keys, name, signed, new_id))


@pytest.fixture
def structure_unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    def anything_goes(root: Any) -> None: ...

    monkeypatch.setattr(response, "_check_structure", anything_goes)


@pytest.mark.usefixtures("structure_unchecked")
@every_attack
@every_id
@every_signature
def test_even_without_the_look_at_the_structure_nobody_but_the_signed_person_comes_in(
    check: Verify, keys: Keypair, name: str, signed: str, new_id: str | None
) -> None:
    try:
        email = check(wrapped(keys, name, signed, new_id)).email
    except SamlError:
        return
    assert email == "ann@example.org"


@pytest.mark.parametrize("evil_first", [True, False])
def test_two_assertions_are_refused(check: Verify, keys: Keypair, evil_first: bool) -> None:
    root = forge.true_response(keys)
    other = build(Claims(name_id="admin@example.org"))
    assertion_of(other).set("ID", "_other")
    position = list(root).index(assertion_of(root)) + (0 if evil_first else 1)
    root.insert(position, assertion_of(other))
    with pytest.raises(SamlError, match="exactly one assertion; it has 2"):
        check(root)


def test_two_assertions_are_refused_though_both_are_signed(check: Verify, keys: Keypair) -> None:
    root, other = forge.true_response(keys), build(Claims(name_id="admin@example.org"))
    assertion_of(other).set("ID", "_other")
    sign(assertion_of(other), keys)
    root.append(assertion_of(other))
    with pytest.raises(SamlError, match="exactly one assertion; it has 2"):
        check(root)


def test_an_assertion_in_a_foreign_namespace_counts_as_a_second_one(check: Verify, keys: Keypair) -> None:
    root = forge.true_response(keys)
    text = etree.tostring(root).replace(
        b"<samlp:Status>", b'<samlp:Extensions><x:Assertion xmlns:x="urn:x"/></samlp:Extensions><samlp:Status>'
    )
    with pytest.raises(SamlError, match="exactly one assertion; it has 2"):
        check(text)


def test_the_same_id_twice_is_refused(check: Verify, keys: Keypair) -> None:
    root = build(Claims())
    root.set("ID", "_assertion")
    sign(assertion_of(root), keys)
    with pytest.raises(SamlError, match="same id twice"):
        check(root)


@pytest.mark.parametrize("attribute", ['xml:id="_assertion"', 'xml:id="_new"', 'x:ID="_assertion" xmlns:x="urn:x"'])
def test_an_id_in_another_namespace_is_refused(check: Verify, keys: Keypair, attribute: str) -> None:
    text = etree.tostring(forge.true_response(keys)).decode()
    with pytest.raises(SamlError, match="id in a foreign namespace"):
        check(text.replace("<samlp:Status>", f"<samlp:Status {attribute}>"))


def test_the_same_id_in_another_case_of_the_attribute_is_refused(check: Verify, keys: Keypair) -> None:
    root = forge.true_response(keys)
    assertion_of(root).find("ds:Signature", forge.NS).set("Id", "_assertion")
    with pytest.raises(SamlError, match="same id twice"):
        check(root)


def test_an_id_that_is_an_expression_is_refused(check: Verify, keys: Keypair) -> None:
    root = build(Claims())
    assertion_of(root).set("ID", "xpointer(/)")
    with pytest.raises(SamlError, match="not a plain XML name"):
        check(root)


def test_a_response_inside_the_response_is_refused(check: Verify, keys: Keypair) -> None:
    text = etree.tostring(forge.true_response(keys)).decode()
    inner = '<samlp:Extensions><x:Response xmlns:x="urn:x"/></samlp:Extensions>'
    with pytest.raises(SamlError, match="another response inside"):
        check(text.replace("<samlp:Status>", f"{inner}<samlp:Status>"))


def test_a_signature_elsewhere_than_in_the_response_or_the_assertion_is_refused(check: Verify, keys: Keypair) -> None:
    root = forge.true_response(keys)
    signature = assertion_of(root).find("ds:Signature", forge.NS)
    extensions = etree.Element(f"{{{forge.NS['samlp']}}}Extensions")
    extensions.append(signature)
    root.find("saml:Issuer", forge.NS).addnext(extensions)
    with pytest.raises(SamlError, match="signature where none belongs"):
        check(root)
