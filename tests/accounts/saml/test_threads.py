"""Callers run these functions in threads: many at a time, good and bad mixed, none may see another's document."""

from concurrent.futures import ThreadPoolExecutor

from penstock.accounts.saml import Keypair, SamlError, ServiceProvider, verify

from . import forge
from .forge import Claims, encode, true_response


def test_responses_verified_at_the_same_time_do_not_mix(sp: ServiceProvider, keys: Keypair) -> None:
    idp = forge.provider(keys)
    expected: list[str | None] = []
    fields = []
    for number in range(200):
        email = f"person{number}@example.org"
        root = true_response(keys, Claims(name_id=email, attributes=()))
        if number % 3 == 0:
            root.find(".//saml:NameID", forge.NS).text = "admin@example.org"
        expected.append(None if number % 3 == 0 else email)
        fields.append(encode(root))

    def email_of(field: str) -> str | None:
        try:
            return verify(sp, idp, field, expected_request_id=forge.REQUEST_ID, now=forge.NOW).email
        except SamlError:
            return None

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(email_of, fields)) == expected
