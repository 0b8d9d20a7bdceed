"""Which email an assertion speaks of, and for which emails a provider may speak."""

import pytest

from penstock.accounts.saml import Keypair, SamlError, speaks_for

from . import forge
from .conftest import Verify
from .forge import NS, Claims, assertion_of, build, etree, sign, true_response

OID = "urn:oid:0.9.2342.19200300.100.1.3"
CLAIM = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress"


@pytest.mark.parametrize("name", ["email", "mail", "emailAddress", OID, CLAIM])
def test_the_email_is_taken_from_the_usual_attributes_when_the_name_is_none(
    check: Verify, keys: Keypair, name: str
) -> None:
    claims = Claims(name_id="u-123", name_format=forge.PERSISTENT, attributes=[(name, "Ann@Example.org")])
    assertion = check(true_response(keys, claims))
    assert (assertion.email, assertion.name_id) == ("ann@example.org", "u-123")


def test_a_name_that_is_an_email_comes_before_the_attributes(check: Verify, keys: Keypair) -> None:
    claims = Claims(name_id="ann@example.org", attributes=[("mail", "ann.other@example.org")])
    assert check(true_response(keys, claims)).email == "ann@example.org"


def test_a_name_of_a_format_that_is_no_email_comes_after_the_attributes(check: Verify, keys: Keypair) -> None:
    claims = Claims(name_id="u1@scope.example", name_format=forge.PERSISTENT)
    assert check(true_response(keys, claims)).email == "ann@example.org"


@pytest.mark.parametrize(
    "attributes",
    [
        [("mail", "ann@example.org"), ("mail", "bob@example.org")],
        [("mail", "ann@example.org"), ("email", "bob@example.org")],
    ],
)
def test_two_different_emails_are_refused(check: Verify, keys: Keypair, attributes: list[tuple[str, str]]) -> None:
    claims = Claims(name_id="u1", name_format=forge.PERSISTENT, attributes=attributes)
    with pytest.raises(SamlError, match="several different"):
        check(true_response(keys, claims))


def test_the_same_email_twice_is_one(check: Verify, keys: Keypair) -> None:
    claims = Claims(name_id="u1", attributes=[("mail", "ann@example.org"), ("email", "ANN@example.org")])
    assert check(true_response(keys, claims)).email == "ann@example.org"


def test_no_email_is_refused(check: Verify, keys: Keypair) -> None:
    with pytest.raises(SamlError, match="names no email"):
        check(true_response(keys, Claims(name_id="ann", attributes=[("displayName", "Ann")])))


def test_no_name_is_refused(check: Verify, keys: Keypair) -> None:
    with pytest.raises(SamlError, match="does not name its subject"):
        check(true_response(keys, Claims(name_id=" ")))


def test_a_name_that_stands_twice_has_all_its_values(check: Verify, keys: Keypair) -> None:
    claims = Claims(attributes=[("Role", "a"), ("Role", "b"), ("mail", "ann@example.org")])
    assert check(true_response(keys, claims)).attributes["Role"] == ["a", "b"]


def test_a_value_made_of_elements_is_left_out_but_never_in_an_email(check: Verify, keys: Keypair) -> None:
    for name, accepted in (("urn:oid:1.3.6.1.4.1.5923.1.1.1.10", True), ("mail", False)):
        root = build(Claims(attributes=[(name, "x")]))
        value = root.find(".//saml:AttributeValue", NS)
        del value.attrib[f"{{{NS['xsi']}}}type"]
        value.text = None
        etree.SubElement(value, f"{{{NS['saml']}}}NameID").text = "admin@example.org"
        sign(assertion_of(root), keys)
        if accepted:
            assert check(root).attributes == {name: []}
        else:
            with pytest.raises(SamlError, match="other elements in its text"):
                check(root)


@pytest.mark.parametrize(
    "text",
    [
        "ann",
        "ann@",
        "@example.org",
        "ann@example",
        "a@b@example.org",
        '"a@b"@example.org',
        "ann@example.org@evil.example",
        "ann @example.org",
        "ann@example.org\u200b",
        "ann@exam\u200bple.org",
        "an\u200bn@example.org",
        "\u212aim@example.org",
        "ann@example.org.",
        "ann@.example.org",
        "ann@example..org",
        "ann@-example.org",
        "ann@example.org/x",
        "ann@[127.0.0.1]",
        "ann@\u212aing.example",
        "ann@example\u3002org",
        "ann@\uff45xample.org",
        "<ann@example.org>",
        "ann@example.org,admin@example.org",
        "a" * 65 + "@example.org",
        "ann@" + "a." * 125 + "example",
    ],
)
def test_what_is_no_plain_address_is_no_email(check: Verify, keys: Keypair, text: str) -> None:
    assert not speaks_for(["example.org", "king.example", "evil.example"], text)
    with pytest.raises(SamlError, match="names no email"):
        check(true_response(keys, Claims(name_id=text, attributes=())))


@pytest.mark.parametrize(
    ("domains", "email"),
    [
        (["example.org"], "ann@example.org"),
        (["Example.ORG"], "ANN@eXample.org"),
        (["other.example", "example.org"], "ann@example.org"),
        (["bücher.example"], "ann@bücher.example"),
        (["bücher.example"], "ann@xn--bcher-kva.example"),
        (["xn--bcher-kva.example"], "ann@bücher.example"),
    ],
)
def test_a_provider_speaks_for_its_own_domains(domains: list[str], email: str) -> None:
    assert speaks_for(domains, email)


@pytest.mark.parametrize(
    ("domains", "email"),
    [
        (["example.org"], "ann@example.com"),
        (["example.org"], "ann@sub.example.org"),
        (["sub.example.org"], "ann@example.org"),
        (["example.org"], "ann@evilexample.org"),
        (["example.org"], "ann@example.org.evil.example"),
        (["example.org."], "ann@example.org"),
        (["org"], "ann@example.org"),
        (["*"], "ann@example.org"),
        (["*.example.org"], "ann@sub.example.org"),
        ([""], "ann@example.org"),
        ([], "ann@example.org"),
        (["strasse.example"], "ann@straße.example"),
        (["example.org"], "ann@\u0435\u0445ample.org"),
    ],
)
def test_a_provider_does_not_speak_for_anothers_domain(domains: list[str], email: str) -> None:
    assert not speaks_for(domains, email)
