"""Documents that are made to hurt whoever reads them: refused by `peek` and `verify` alike, and fast."""

import base64
import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.accounts.saml import Keypair, SamlError, ServiceProvider, parsing, peek, verify

from . import forge
from .conftest import Verify
from .forge import NS, Claims, assertion_of, build, encode, etree, sign, true_response


@pytest.fixture(autouse=True)
def _fast() -> Iterator[None]:
    start = time.process_time()
    yield
    assert time.process_time() - start < 10


def refused(sp: ServiceProvider, keys: Keypair, field: str, message: str) -> None:
    with pytest.raises(SamlError, match=message):
        peek(field)
    with pytest.raises(SamlError, match=message):
        verify(sp, forge.provider(keys), field, expected_request_id=forge.REQUEST_ID, now=forge.NOW)


def text_of_a_true_response(keys: Keypair) -> str:
    text: bytes = etree.tostring(true_response(keys))
    return text.decode()


LAUGHS = "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' if n else '<!ENTITY l0 "ha ha ha ha ha ha ha ha">' for n in range(12)
)


@pytest.mark.parametrize(
    "dtd",
    [
        "<!DOCTYPE a>",
        '<!DOCTYPE a SYSTEM "http://127.0.0.1:9/a.dtd">',
        f"<!DOCTYPE a [{LAUGHS}]>",
        '<!DOCTYPE a [<!ENTITY who SYSTEM "file:///etc/passwd">]>',
        '<!DOCTYPE a [<!ENTITY % p SYSTEM "http://127.0.0.1:9/p"> %p;]>',
        "<!DOCTYPE a [<!ATTLIST saml:Assertion ID ID #IMPLIED>]>",
    ],
    ids=["plain", "external", "billion-laughs", "external-entity", "parameter-entity", "attribute-list"],
)
def test_a_dtd_is_refused(sp: ServiceProvider, keys: Keypair, dtd: str) -> None:
    text = text_of_a_true_response(keys).replace("ann@example.org", "&l11;" if "l11" in dtd else "&who;")
    refused(sp, keys, encode(dtd + text), "DTD")


@pytest.mark.parametrize("encoding", ["utf-7", "utf-16", "utf-32", "cp037"])
def test_a_dtd_that_hides_in_another_encoding_is_refused(sp: ServiceProvider, keys: Keypair, encoding: str) -> None:
    name = {"cp037": "ebcdic-cp-us"}.get(encoding, encoding)
    text = f'<?xml version="1.0" encoding="{name}"?><!DOCTYPE a []>' + text_of_a_true_response(keys)
    if encoding == "utf-7":
        # As browsers once fell for it: the brackets themselves are encoded.
        body = '<?xml version="1.0" encoding="utf-7"?>' + "+ADwAIQ-DOCTYPE a+AFsAXQA+-"
        refused(sp, keys, encode(body + text_of_a_true_response(keys)), "not well-formed")
        return
    refused(sp, keys, encode(text.encode(encoding)), r"not UTF-8|DTD|not well-formed")


def test_an_entity_that_nobody_declared_is_refused(sp: ServiceProvider, keys: Keypair) -> None:
    text = text_of_a_true_response(keys).replace("ann@example.org", "&who;")
    refused(sp, keys, encode(text), "not well-formed")


@pytest.mark.parametrize("place", ["ann@<!---->example.org", "ann@example.org<!--x-->", "ann@<?x?>example.org"])
def test_a_comment_or_an_instruction_inside_the_email_is_refused(check: Verify, keys: Keypair, place: str) -> None:
    text = text_of_a_true_response(keys)
    with pytest.raises(SamlError, match="comment"):
        check(text.replace("ann@example.org", place))


def test_a_comment_that_would_cut_the_email_short_is_refused_though_the_signature_holds(
    check: Verify, keys: Keypair
) -> None:
    evil = "admin@example.org.evil.example"
    text = etree.tostring(true_response(keys, Claims(name_id=evil, attributes=()))).decode()
    assert check(text).email == evil
    with pytest.raises(SamlError, match="comment"):
        check(text.replace(evil, "admin@example.org<!---->.evil.example"))


@pytest.mark.parametrize("form", ["admin@example.org<![CDATA[.evil.example]]>", "&#97;dmin@example.org.evil.example"])
def test_another_spelling_of_the_same_text_is_read_whole(check: Verify, keys: Keypair, form: str) -> None:
    evil = "admin@example.org.evil.example"
    text = etree.tostring(true_response(keys, Claims(name_id=evil, attributes=()))).decode()
    assert check(text.replace(evil, form)).email == evil


@pytest.mark.parametrize("name", ["Issuer", "Audience", "NameID"])
def test_text_with_an_element_inside_is_no_text(name: str) -> None:
    element = etree.fromstring(f"<{name}>a<b/>c</{name}>")
    with pytest.raises(SamlError, match="other elements in its text"):
        parsing.text_of(element)


def test_an_element_inside_the_email_is_refused(check: Verify, keys: Keypair) -> None:
    root = build(Claims())
    name = root.find(".//saml:NameID", NS)
    name.text = "admin@example.org"
    etree.SubElement(name, "{urn:x}x").tail = ".evil.example"
    sign(assertion_of(root), keys)
    with pytest.raises(SamlError):
        check(root)


@pytest.mark.parametrize("around", ["<!--x-->{}", "{}<!--x-->", "<?x?>{}", "{}<?x y?>"])
def test_comments_and_instructions_around_the_response_are_refused(
    sp: ServiceProvider, keys: Keypair, around: str
) -> None:
    refused(sp, keys, encode(around.format(text_of_a_true_response(keys))), "around its root")


@pytest.mark.parametrize("depth", [65, 250, 10_000, 37_000])
def test_deep_nesting_is_refused(sp: ServiceProvider, keys: Keypair, depth: int) -> None:
    refused(sp, keys, encode("<a>" * depth + "</a>" * depth), r"nested deeper|not well-formed")


def test_a_response_that_is_too_large_is_refused(sp: ServiceProvider, keys: Keypair) -> None:
    refused(sp, keys, encode(b" " * (256 * 1024 + 1)), "larger than 256 KiB")
    refused(sp, keys, "A" * 10_000_000, "larger than 256 KiB")


def in_extensions(keys: Keypair, xml: str, **choices: Any) -> str:
    """A response that is well up to its signature, with room for anything: only verifying it would show."""
    root = build(Claims())
    sign(root, keys, **choices)
    text: str = etree.tostring(root).decode()
    return text.replace("<samlp:Status>", f"<samlp:Extensions>{xml}</samlp:Extensions><samlp:Status>", 1)


def test_many_attributes_of_one_element_are_refused_before_they_are_sorted(sp: ServiceProvider, keys: Keypair) -> None:
    many = " ".join(f'a{n}=""' for n in range(20_000))
    refused(sp, keys, encode(in_extensions(keys, f'<x:x xmlns:x="urn:x" {many}/>')), "more than 64 attributes")
    many = " ".join(f'xmlns:n{n}="urn:{n}" n{n}:a=""' for n in range(6000))
    refused(sp, keys, encode(in_extensions(keys, f'<x:x xmlns:x="urn:x" {many}/>')), "more than 64 attributes")


def test_many_namespaces_and_elements_cost_little(check: Verify, keys: Keypair) -> None:
    many = " ".join(f'xmlns:n{n}="urn:{n}"' for n in range(4000))
    inside = "".join(f"<n{n % 4000}:e/>" for n in range(8000))
    with pytest.raises(SamlError, match="signature does not match"):
        check(in_extensions(keys, f'<x:x xmlns:x="urn:x" {many}>{inside}</x:x>'))


def test_many_namespaces_that_a_signature_includes_are_refused(check: Verify, keys: Keypair) -> None:
    prefixes = " ".join(f"n{n}" for n in range(4000))
    with pytest.raises(SamlError, match="more than 32 namespaces"):
        check(in_extensions(keys, '<x:x xmlns:x="urn:x"/>', prefixes=prefixes))


def test_the_encoding_that_a_document_declares_is_not_believed(check: Verify, keys: Keypair) -> None:
    text = etree.tostring(true_response(keys, Claims(attributes=[("name", "Zoë")])), encoding="unicode")
    document = f'<?xml version="1.0" encoding="ISO-8859-1"?>{text}'.encode()
    assert check(document).attributes == {"name": ["Zoë"]}


@pytest.mark.parametrize("field", ["", "!!!!", "PHg+-_", "PHg+ PHg+", "PHg", "PHg+\x00", "ünicode", "%3Cx%3E"])
def test_what_is_not_base64_is_refused(sp: ServiceProvider, keys: Keypair, field: str) -> None:
    refused(sp, keys, field, r"not base64|not well-formed")


def test_base64_in_lines_is_accepted(sp: ServiceProvider, keys: Keypair) -> None:
    lines = base64.encodebytes(etree.tostring(true_response(keys))).decode().replace("\n", "\r\n")
    assert peek(lines) == (forge.ENTITY_ID, forge.REQUEST_ID)
    verify(sp, forge.provider(keys), lines, expected_request_id=forge.REQUEST_ID, now=forge.NOW)


@pytest.mark.parametrize(
    "text",
    [
        "<a/>",
        '<Response ID="a" Version="2.0"/>',
        f'<samlp:Response xmlns:samlp="{NS["samlp"]}" Version="1.1"/>',
        f'<samlp:LogoutResponse xmlns:samlp="{NS["samlp"]}" Version="2.0"/>',
        f'<saml:Assertion xmlns:saml="{NS["saml"]}" Version="2.0"/>',
    ],
)
def test_another_document_than_a_response_is_refused(sp: ServiceProvider, keys: Keypair, text: str) -> None:
    refused(sp, keys, encode(text), "not a SAML 2.0 response")


def test_a_response_against_the_schema_is_refused(check: Verify, keys: Keypair) -> None:
    root = true_response(keys)
    etree.SubElement(root, "{urn:x}surprise")
    with pytest.raises(SamlError, match="does not follow the SAML schema"):
        check(root)


def test_an_attribute_with_the_right_name_in_a_foreign_namespace_is_not_read(check: Verify, keys: Keypair) -> None:
    root = build(Claims(recipient=None))
    root.find(".//saml:SubjectConfirmationData", NS).set("{urn:x}Recipient", forge.ACS_URL)
    sign(assertion_of(root), keys)
    with pytest.raises(SamlError, match="another recipient"):
        check(root)


@pytest.mark.parametrize("claims", [Claims(), Claims(response_issuer=None)])
def test_peek_tells_what_a_response_claims_signed_or_not(claims: Claims) -> None:
    assert peek(encode(build(claims))) == (forge.ENTITY_ID, forge.REQUEST_ID)


def test_peek_refuses_a_response_without_an_issuer() -> None:
    root = build(Claims(response_issuer=None))
    root.remove(assertion_of(root))
    with pytest.raises(SamlError, match="does not name its issuer"):
        peek(encode(root))
