"""Sign-in with an identity provider that we did not write (samlify), from its metadata to its assertion."""

import time

import httpx
import pytest

from penstock.accounts.saml import SamlError, begin, peek, speaks_for, verify

from . import wrapping
from .conftest import Peer
from .forge import assertion_of, decode, encode


@pytest.mark.parametrize("sign", ["assertion", "response", "both"])
def test_a_sign_in_that_we_began_ends_with_the_persons_email(peer: Peer, sign: str) -> None:
    response, request_id = peer.sign_in(f"email=Ann@Example.ORG&sign={sign}")
    assert peek(response) == (peer.idp.entity_id, request_id)
    assertion = verify(peer.sp, peer.idp, response, expected_request_id=request_id)
    assert assertion.email == "ann@example.org"
    assert assertion.name_id == "Ann@Example.ORG"
    assert assertion.issuer == peer.idp.entity_id
    assert assertion.in_response_to == request_id
    assert assertion.attributes == {"mail": ["Ann@Example.ORG"], "groups": ["staff"]}
    assert assertion.session_index is not None
    assert speaks_for(["example.org"], assertion.email)
    assert not speaks_for(["example.com"], assertion.email)


def test_a_sign_in_that_began_at_the_provider_is_accepted_when_none_was_expected(peer: Peer) -> None:
    response = peer.initiate("email=ann@example.org")
    assert peek(response) == (peer.idp.entity_id, None)
    assertion = verify(peer.sp, peer.idp, response, expected_request_id=None)
    assert (assertion.email, assertion.in_response_to) == ("ann@example.org", None)


def test_a_sign_in_that_began_at_the_provider_does_not_answer_our_request(peer: Peer) -> None:
    with pytest.raises(SamlError, match="does not name the request"):
        verify(peer.sp, peer.idp, peer.initiate(), expected_request_id="_ours")


def test_an_answer_to_a_request_is_not_accepted_as_unsolicited(peer: Peer) -> None:
    response, _ = peer.sign_in()
    with pytest.raises(SamlError, match="another request"):
        verify(peer.sp, peer.idp, response, expected_request_id=None)


def test_the_replay_time_is_the_end_of_the_assertion_plus_the_clock_skew(peer: Peer) -> None:
    response, request_id = peer.sign_in()
    end = verify(peer.sp, peer.idp, response, expected_request_id=request_id).not_on_or_after
    assert 300 < end - time.time() <= 300 + 91
    verify(peer.sp, peer.idp, response, expected_request_id=request_id, now=end - 2)
    with pytest.raises(SamlError, match="expired"):
        verify(peer.sp, peer.idp, response, expected_request_id=request_id, now=end)


def test_the_provider_refuses_a_request_whose_signature_is_missing_or_does_not_match(peer: Peer) -> None:
    url, _ = begin(peer.sp, peer.idp, relay_state="here")
    assert httpx.get(url).status_code == 200
    assert httpx.get(url.replace("RelayState=here", "RelayState=there")).status_code == 403
    assert httpx.get(url.partition("&SigAlg=")[0]).status_code == 403


def test_either_key_of_a_rotation_signs(peer: Peer) -> None:
    assert len(peer.rotating.certificates) == 2
    for key in ("first", "second"):
        response, request_id = peer.sign_in(f"key={key}")
        assert verify(peer.sp, peer.rotating, response, expected_request_id=request_id).email == "ann@example.org"


def test_a_key_that_was_not_registered_does_not_sign(peer: Peer) -> None:
    response, request_id = peer.sign_in("key=second")
    with pytest.raises(SamlError, match="signature does not match"):
        verify(peer.sp, peer.idp, response, expected_request_id=request_id)


def test_a_true_response_signed_with_sha1_is_refused(peer: Peer) -> None:
    response, request_id = peer.sign_in("algorithm=http://www.w3.org/2000/09/xmldsig%23rsa-sha1")
    with pytest.raises(SamlError, match="algorithm is not accepted"):
        verify(peer.sp, peer.idp, response, expected_request_id=request_id)


def test_a_true_response_for_another_service_is_refused(peer: Peer) -> None:
    response, request_id = peer.sign_in("audience=https://other.example")
    with pytest.raises(SamlError, match="for another service"):
        verify(peer.sp, peer.idp, response, expected_request_id=request_id)


@pytest.mark.parametrize("sign", ["assertion", "response", "both"])
def test_a_true_response_with_another_email_put_in_is_refused(peer: Peer, sign: str) -> None:
    response, request_id = peer.sign_in(f"sign={sign}")
    tampered = decode(response)
    assertion_of(tampered).find(".//{*}AttributeValue").text = "admin@example.org"
    with pytest.raises(SamlError, match="signature does not match"):
        verify(peer.sp, peer.idp, encode(tampered), expected_request_id=request_id)


@pytest.mark.parametrize("choices", ["encrypt=gcm", "encrypt=gcm&sign=both", "encrypt=cbc&sign=response"])
def test_an_assertion_encrypted_to_our_certificate_is_opened(peer: Peer, choices: str) -> None:
    response, request_id = peer.sign_in(choices)
    assert decode(response).find("{*}EncryptedAssertion") is not None
    assert verify(peer.sp, peer.idp, response, expected_request_id=request_id).email == "ann@example.org"


def test_a_ciphertext_that_anybody_could_have_varied_is_not_opened(peer: Peer) -> None:
    response, request_id = peer.sign_in("encrypt=cbc&sign=assertion")
    with pytest.raises(SamlError, match="encryption of the assertion is not accepted"):
        verify(peer.sp, peer.idp, response, expected_request_id=request_id)


@pytest.mark.parametrize("same_id", [False, True])
@pytest.mark.parametrize("name", [*wrapping.OF_A_RESPONSE, *wrapping.OF_AN_ASSERTION])
def test_no_wrapping_of_a_true_response_is_accepted(peer: Peer, name: str, same_id: bool) -> None:
    attack = (wrapping.OF_A_RESPONSE | wrapping.OF_AN_ASSERTION)[name]
    sign = "response" if name in wrapping.OF_A_RESPONSE else "assertion"
    response, request_id = peer.sign_in(f"sign={sign}")
    verify(peer.sp, peer.idp, response, expected_request_id=request_id)
    wrapped = encode(attack(decode(response), None if same_id else "_evil"))
    with pytest.raises(SamlError):
        verify(peer.sp, peer.idp, wrapped, expected_request_id=request_id)
