"""For whom, for how long and in answer to what: each claim wrong once, in responses whose signature is right."""

import pytest

from penstock.accounts.saml import Keypair, SamlError

from . import forge
from .conftest import Verify
from .forge import NS, Claims, at, build, etree, sign, true_response


def test_a_response_with_everything_right_is_accepted(check: Verify, keys: Keypair) -> None:
    assertion = check(true_response(keys, Claims(session_until=at(3600))))
    assert assertion.assertion_id == "_assertion"
    assert assertion.session_index == "_session"
    assert assertion.session_not_on_or_after == forge.NOW + 3600
    assert assertion.not_on_or_after == forge.NOW + 300 + 90
    assert assertion.name_id_format == forge.EMAIL


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (Claims(audiences=[["https://other.example"]]), "for another service"),
        (Claims(audiences=[[forge.SP_ENTITY_ID + "/"]]), "for another service"),
        (Claims(audiences=[[forge.SP_ENTITY_ID], ["https://other.example"]]), "for another service"),
        (Claims(audiences=[]), "does not say for which service"),
        (Claims(not_on_or_after=at(-91)), "expired"),
        (Claims(confirmed_until=at(-91)), "expired"),
        (Claims(not_before=at(91)), "not valid yet"),
        (Claims(confirmed_from=at(91)), "not valid yet"),
        (Claims(confirmed_until=None), "until when"),
        (Claims(confirmed_until="2030-01-01T00:00:00+14:00"), "not a time in UTC"),
        (Claims(session_until=at(-91)), "session at the identity provider has ended"),
        (Claims(recipient="https://other.example/acs"), "another recipient"),
        (Claims(recipient=forge.ACS_URL + "/more"), "another recipient"),
        (Claims(recipient="https://evil.example/?" + forge.ACS_URL), "another recipient"),
        (Claims(recipient=None), "another recipient"),
        (Claims(destination="https://other.example/acs"), "sent to another address"),
        (Claims(destination=forge.ACS_URL + ".evil.example"), "sent to another address"),
        (Claims(destination=""), "sent to another address"),
        (Claims(in_response_to="_other"), "another request"),
        (Claims(response_in_response_to="_other"), "another request"),
        (Claims(in_response_to=None), "does not name the request"),
        (Claims(response_in_response_to=None), "does not name the request"),
        (Claims(method="urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"), "by bearer"),
        (Claims(authenticated=False), "one AuthnStatement"),
        (Claims(response_issuer="https://other.example"), "of another identity provider"),
        (
            Claims(
                more_conditions=[
                    f'<saml:Condition xmlns:saml="{NS["saml"]}" xmlns:i="{NS["xsi"]}" i:type="saml:OneTimeUseType"/>'
                ]
            ),
            "condition that this service does not understand",
        ),
    ],
)
def test_a_signed_response_with_one_claim_wrong_is_refused(
    check: Verify, keys: Keypair, claims: Claims, message: str
) -> None:
    with pytest.raises(SamlError, match=message):
        check(true_response(keys, claims))


@pytest.mark.parametrize(
    "claims",
    [
        Claims(audiences=[["https://other.example", forge.SP_ENTITY_ID]]),
        Claims(not_on_or_after=at(-89), confirmed_until=at(-89)),
        Claims(not_before=at(89)),
        Claims(not_before=None, not_on_or_after=None),
        Claims(destination=None),
        Claims(response_issuer=None),
        Claims(confirmed_until=at(300).replace("Z", ".1234567Z")),
        Claims(attributes=()),
        Claims(more_conditions=['<saml:OneTimeUse xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"/>']),
    ],
)
def test_what_real_providers_vary_is_accepted(check: Verify, keys: Keypair, claims: Claims) -> None:
    assert check(true_response(keys, claims)).email == "ann@example.org"


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        (Claims(destination=None), "sent to another address"),
        (Claims(response_issuer=None), "does not name its issuer"),
    ],
)
def test_a_signed_response_must_name_its_destination_and_its_issuer(
    check: Verify, keys: Keypair, claims: Claims, message: str
) -> None:
    root = build(claims)
    sign(root, keys)
    with pytest.raises(SamlError, match=message):
        check(root)


def test_of_two_confirmations_one_must_be_right_and_the_later_end_is_remembered(check: Verify, keys: Keypair) -> None:
    root = build(Claims())
    right = root.find(".//saml:SubjectConfirmation", forge.NS)
    wrong = etree.fromstring(etree.tostring(right))
    wrong[0].set("Recipient", "https://other.example/acs")
    wrong[0].set("NotOnOrAfter", at(900))
    right.addprevious(wrong)
    sign(forge.assertion_of(root), keys)
    assert check(root).not_on_or_after == forge.NOW + 900 + 90


def test_two_authentication_statements_are_refused(check: Verify, keys: Keypair) -> None:
    root = build(Claims())
    statement = root.find(".//saml:AuthnStatement", forge.NS)
    statement.addnext(etree.fromstring(etree.tostring(statement)))
    sign(forge.assertion_of(root), keys)
    with pytest.raises(SamlError, match="one AuthnStatement"):
        check(root)


def test_an_unsolicited_response_is_accepted_only_without_any_request_in_it(check: Verify, keys: Keypair) -> None:
    unsolicited = Claims(in_response_to=None, response_in_response_to=None)
    assert check(true_response(keys, unsolicited), expected_request_id=None).in_response_to is None
    for half in (Claims(in_response_to=None), Claims(response_in_response_to=None), Claims()):
        with pytest.raises(SamlError, match="another request"):
            check(true_response(keys, half), expected_request_id=None)


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        (("urn:oasis:names:tc:SAML:2.0:status:Responder",), "Responder"),
        (
            ("urn:oasis:names:tc:SAML:2.0:status:Responder", "urn:oasis:names:tc:SAML:2.0:status:AuthnFailed"),
            "Responder, AuthnFailed",
        ),
        (("urn:example:call-this-number:555",), "unknown status"),
    ],
)
def test_a_status_other_than_success_is_told_without_repeating_free_text(
    check: Verify, keys: Keypair, status: tuple[str, ...], shown: str
) -> None:
    with pytest.raises(SamlError, match=f"refused the sign-in: {shown}\\.$"):
        check(true_response(keys, Claims(status=status)))


def test_a_success_inside_a_failure_is_a_failure(check: Verify, keys: Keypair) -> None:
    nested = ("urn:oasis:names:tc:SAML:2.0:status:Requester", "urn:oasis:names:tc:SAML:2.0:status:Success")
    with pytest.raises(SamlError, match="refused the sign-in: Requester"):
        check(true_response(keys, Claims(status=nested)))
